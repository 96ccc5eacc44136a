"""Toys that must be learned within a minute on one thread."""

import random
from pathlib import Path

import pytest

import dragoman
from dragoman.training.events import Finished

SETTINGS = {
    "training.threads": 1,
    "training.steps": 600,
    "training.batching.sentences": 100,
    "training.optimiser.rate": 0.01,
    "training.schedule.warmup": 50,
    "training.save_every": 600,
    "training.validate_every": 600,
    "model.decoder.dropout": 0.0,
    "objective.smoothing": 0.0,
}


def write(path: Path, words: list[str], backwards: bool) -> Path:
    path.write_text("".join(f"{word}\t{' '.join(word[::-1] if backwards else word)}\n" for word in words))
    return path


@pytest.mark.parametrize("backwards", [False, True], ids=["copy", "reverse"])
def test_letters(tmp_path: Path, backwards: bool) -> None:
    letters = random.Random(11)
    words = sorted({"".join(letters.choices("abcdefgh", k=letters.randint(2, 6))) for _ in range(2500)})
    letters.shuffle(words)
    seen, unseen = words[:-200], words[-200:]
    pairs = write(tmp_path / "train.tsv", seen, backwards)
    events = list(dragoman.train("g2p", scale="tiny", pairs=pairs, out=tmp_path / "run", settings=SETTINGS))
    assert events[-1] == Finished(600, "steps")
    answers = dragoman.load(tmp_path / "run", device="cpu").predict(unseen, beam=1)
    right = [
        answer.text == " ".join(word[::-1] if backwards else word) for word, answer in zip(unseen, answers, strict=True)
    ]
    assert sum(right) >= 0.95 * len(unseen)
