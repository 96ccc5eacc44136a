"""Reports on models that read frames: what stands in them, and strips of labels over time."""

import json
import math
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.experiment import train
from dragoman.inspection.report.charts import Scale
from dragoman.inspection.report.frame_chapters import band, marks, signals_of
from dragoman.inspection.report.labels import Strip
from frames import small, written

ACROSS = Scale(0, 4, 0, 400)
STRIP = Strip(
    "a", ("x", "x", "y", "y"), ("x", "y", "y", "y"), ("x",), ("y",), (0.5,), (("v", (1.0, math.nan, 3.0, 2.0)),)
)


@pytest.mark.parametrize(
    ("kind", "said"), [("labels", "of the frames so far"), ("tags", "what was said of each frame")]
)
def test_a_report_has_strips_and_a_confusion_matrix(
    tmp_path: Path, dragoman: CommandLine, kind: str, said: str
) -> None:
    corpus = written(tmp_path, kind, 60)
    list(train(small(corpus, kind, training__steps=4, training__validate_every=4), tmp_path / "run"))
    done = dragoman("report", tmp_path / "run", "--on", corpus.valid, "--json")
    facts = json.loads(done.out)["measured"]
    assert (facts["what"], facts["sources"], len(facts["confusion"]["labels"])) == (kind, 60, 2 + (kind == "tags"))
    page = (tmp_path / "run/report.html").read_text()
    assert said in page
    assert page.count('class="wrong-frame"') > 0
    assert page.count('class="signal') >= 16
    assert "What is taken for what" in page
    assert ("test sequences right" if kind == "labels" else "frames in 60 test sequences right") in page


def test_runs_of_one_label_are_one_band() -> None:
    pieces = [piece.text for piece in band(STRIP.said, ["x", "y"], ACROSS, 0.0, "said")]
    assert [piece for piece in pieces if "<rect" in piece] == [
        '<rect x="0" y="0" width="100" height="20" class="band c0"><title>said: x, frames 1 to 1</title></rect>',
        '<rect x="100" y="0" width="300" height="20" class="band c1"><title>said: y, frames 2 to 4</title></rect>',
    ]


def test_what_differs_is_marked_and_what_is_missing_leaves_a_gap() -> None:
    assert [piece.text for piece in marks(STRIP, ACROSS, 5.0)] == [
        '<rect x="100" y="5" width="100" height="3" class="wrong-frame"></rect>'
    ]
    [_, path] = signals_of(STRIP, ACROSS, 0.0)
    assert path.text.split('"')[1] == "M50.0 15.0M250.0 2.0L350.0 8.5"
