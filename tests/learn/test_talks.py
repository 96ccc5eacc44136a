"""What is told early in a conversation is known later."""

from pathlib import Path

import pytest

import dragoman
from dragoman.training.events import Finished
from talks import talk, write_talks

SETTINGS = {
    "training.threads": 1,
    "training.steps": 1000,
    "training.batching.sentences": 64,
    "training.optimiser.rate": 0.005,
    "training.schedule.warmup": 50,
    "training.save_every": 5000,
    "training.validate_every": 5000,
    "evaluation.report": 0,
    "source.kind": "words",
    "source.size": 60,
    "model.source.width": 32,
    "model.target.width": 32,
    "model.encoder.words.width": 32,
    "model.encoder.turns.width": 48,
    "model.decoder.width": 64,
    "model.decoder.readout_width": 32,
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


def learned(folder: Path, **settings: int) -> float:
    file = write_talks(folder / "train.jsonl", range(1500))
    own = SETTINGS | {name.replace("__", "."): value for name, value in settings.items()}
    *_, last = dragoman.train("hred", scale="tiny", pairs=file, out=folder / "run", settings=own)
    assert isinstance(last, Finished)
    return right(folder / "run")


@pytest.mark.slow
def test_what_was_told_is_known_later(tmp_path: Path) -> None:
    """A model that sees the last turn alone can but guess: 5 of 24 are right by chance."""
    assert learned(tmp_path) >= 0.9


@pytest.mark.slow
def test_who_reads_the_last_turn_alone_can_but_guess(tmp_path: Path) -> None:
    """So that the toy asks for what was told: 0.35 is five standard deviations above chance in 200 questions."""
    assert learned(tmp_path, conversation__turns=1, training__steps=300) <= 0.35
