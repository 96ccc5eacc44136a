"""What is told early in a conversation is known later."""

from pathlib import Path

import pytest

import dragoman
from dragoman.training.events import Finished
from talks import talk, write_talks

SETTINGS = {
    "training.threads": 1,
    "training.steps": 2000,
    "training.batching.sentences": 64,
    "training.optimiser.rate": 0.005,
    "training.schedule.warmup": 50,
    "training.save_every": 5000,
    "training.validate_every": 5000,
    "evaluation.report": 0,
    "source.kind": "words",
    "source.size": 60,
    "model.source.dropout": 0.0,
    "model.target.dropout": 0.0,
    "model.decoder.dropout": 0.0,
    "objective.smoothing": 0.0,
    "search.kind": "greedy",
}


def right(run: Path) -> float:
    """The share of questions that are answered as what was told says."""
    asked = [
        (turns[:place], turns[place]) for number in range(5000, 5100) for turns in [talk(number)] for place in (5, 7)
    ]
    answers = dragoman.load(run).predict([history for history, _ in asked], alignments=False)
    return sum(answer.text == truth for answer, (_, truth) in zip(answers, asked, strict=True)) / len(asked)


@pytest.mark.slow
def test_what_was_told_is_known_later(tmp_path: Path) -> None:
    """A model that sees the last turn alone can but guess: 5 of 24 are right by chance."""
    file = write_talks(tmp_path / "train.jsonl", range(1500))
    *_, last = dragoman.train("hred", scale="tiny", pairs=file, out=tmp_path / "run", settings=SETTINGS)
    assert isinstance(last, Finished)
    assert right(tmp_path / "run") >= 0.6
