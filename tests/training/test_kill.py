"""Killed at random moments, a run ends with the bits of the run that was never killed."""

import os
import random
import signal
import time
from pathlib import Path

import pytest

from command_line import CommandLine
from tiny import Corpus, bits, metrics, words

STEPS_A_KILL = 120
SETTINGS = {
    "training__save_every": 20,
    "training__validate_every": 50,
    "training__log_every": 10,
    "training__keep": 2,
    "training__schedule__kind": "cosine",
}


def wait_for_a_new_save(folder: Path, seconds: float = 30) -> None:
    """So that half of the kills come after some progress."""
    before = set(folder.glob("step-*"))
    deadline = time.monotonic() + seconds
    while set(folder.glob("step-*")) <= before:
        assert time.monotonic() < deadline, f"nothing was saved within {seconds} seconds"
        time.sleep(0.005)


@pytest.mark.parametrize("kills", [4, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_random_moments(corpus: Corpus, tmp_path: Path, dragoman: CommandLine, kills: int) -> None:
    """The even kills fall anywhere, into the start and the preparation too; the odd ones behind a new checkpoint."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    steps = STEPS_A_KILL * kills
    settings = {**SETTINGS, "training__steps": steps}
    assert dragoman(*words(corpus, whole, **settings)).code == 0
    moments = random.Random(7)
    for number in range(kills):
        process = dragoman.start(*words(corpus, broken, **settings))
        if number % 2:
            wait_for_a_new_save(broken / "checkpoints")
        time.sleep(moments.uniform(0, 0.4 if number % 2 else 0.8))
        os.kill(process, signal.SIGKILL)
        assert dragoman.wait().code == -signal.SIGKILL, f"the run had ended before kill {number + 1}"
    assert dragoman(*words(corpus, broken, **settings)).code == 0
    assert bits(broken, steps) == bits(whole, steps)
    assert metrics(broken) == metrics(whole)
    assert (broken / "model/model.safetensors").read_bytes() == (whole / "model/model.safetensors").read_bytes()
    left = {path.name for path in (broken / "checkpoints").iterdir()}
    assert left == {path.name for path in (whole / "checkpoints").iterdir()}
