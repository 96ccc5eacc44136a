"""What the demo of frames learns from is what it says, and it plays from end to end."""

import json
from pathlib import Path

import numpy as np
import pytest

from command_line import CommandLine
from dragoman.data import gestures, movements
from dragoman.data.gestures import GESTURES, REST, gesture, stream


def test_gestures_are_keyed_by_split_and_number() -> None:
    values, label = gesture("train", 3)
    again, _ = gesture("train", 3)
    other, _ = gesture("test", 3)
    assert np.array_equal(values, again)
    assert label in GESTURES
    assert values.shape[1] == 6
    assert not np.array_equal(values[:20], other[:20])
    assert {gesture("train", number)[1] for number in range(60)} == {*GESTURES}


def test_a_stream_begins_and_ends_at_rest() -> None:
    values, labels = stream("train", 1)
    assert (len(values), labels[0], labels[-1]) == (len(labels), REST, REST)
    assert len({*labels}) >= 2


@pytest.mark.slow
def test_the_demo_plays(tmp_path: Path, dragoman: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name in ((gestures, "SIZES"), (gestures, "STREAMS"), (movements, "SIZES")):
        monkeypatch.setattr(place, name, {"train": 30, "valid": 10, "test": 10})
    done = dragoman("demo", "frames", "--out", tmp_path / "demo", "--minutes", "0.1", "--json")
    assert done.code == 0, done.err
    facts = json.loads(done.out.splitlines()[-1])
    assert {*facts["parts"]} == {"gestures", "streams", "clips"}
    assert all((tmp_path / "demo" / name / "run/report.html").is_file() for name in facts["parts"])
