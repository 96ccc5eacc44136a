"""Toys that must be learned within a minute on one thread."""

import random
from collections.abc import Callable
from datetime import date, timedelta
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


def words() -> list[str]:
    letters = random.Random(11)
    return ["".join(letters.choices("abcdefgh", k=letters.randint(2, 6))) for _ in range(2500)]


def days() -> list[str]:
    """Dates as people write them: 3 March 1998."""
    numbers = random.Random(12)
    found = [date(1950, 1, 1) + timedelta(days=numbers.randrange(36_000)) for _ in range(2500)]
    return [f"{day.day} {day:%B} {day.year}" for day in found]


def as_machines_write(day: str) -> str:
    number, month, year = day.split()
    months = [date(2000, number, 1).strftime("%B") for number in range(1, 13)]
    return f"{year}-{months.index(month) + 1:02}-{int(number):02}"


TOYS: dict[str, tuple[Callable[[], list[str]], Callable[[str], str]]] = {
    "copy": (words, str),
    "reverse": (words, lambda word: word[::-1]),
    "sort": (words, lambda word: "".join(sorted(word))),
    "dates": (days, as_machines_write),
}


@pytest.mark.parametrize(
    "toy", ["reverse", *(pytest.param(toy, marks=pytest.mark.slow) for toy in TOYS if toy != "reverse")]
)
def test_a_toy_is_learned(tmp_path: Path, toy: str) -> None:
    sources, answer_to = TOYS[toy]
    inputs = sorted(set(sources()))
    random.Random(13).shuffle(inputs)
    seen, unseen = inputs[:-200], inputs[-200:]
    pairs = tmp_path / "train.tsv"
    pairs.write_text("".join(f"{text}\t{' '.join(answer_to(text))}\n" for text in seen), "utf-8")
    events = list(dragoman.train("g2p", scale="tiny", pairs=pairs, out=tmp_path / "run", settings=SETTINGS))
    assert events[-1] == Finished(600, "steps")
    answers = dragoman.load(tmp_path / "run", device="cpu").predict(unseen, beam=1)
    right = [answer.text == " ".join(answer_to(text)) for text, answer in zip(unseen, answers, strict=True)]
    assert sum(right) >= 0.95 * len(unseen)


@pytest.mark.parametrize("regime", ["teacher", pytest.param("two_pass", marks=pytest.mark.slow)])
def test_a_transformer_learns_to_reverse(tmp_path: Path, regime: str) -> None:
    """Where the place of each symbol is all that counts."""
    inputs = sorted(set(words()))
    random.Random(13).shuffle(inputs)
    pairs = tmp_path / "train.tsv"
    pairs.write_text("".join(f"{text}\t{' '.join(text[::-1])}\n" for text in inputs[:-200]), "utf-8")
    own = {name: value for name, value in SETTINGS.items() if name != "model.decoder.dropout"} | {
        "source.kind": "characters",
        "target.kind": "words",
        "model.tie": "target",
        "model.source.width": 32,
        "model.target.width": 32,
        "model.encoder.dropout": 0.0,
        "model.decoder.dropout": 0.0,
        "regime.kind": regime,
    }
    list(dragoman.train("vaswani2017", scale="tiny", pairs=pairs, out=tmp_path / "run", settings=own))
    answers = dragoman.load(tmp_path / "run", device="cpu").predict(inputs[-200:], beam=1)
    right = [answer.text == " ".join(reversed(text)) for text, answer in zip(inputs[-200:], answers, strict=True)]
    assert sum(right) >= 0.95 * 200
