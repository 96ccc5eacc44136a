"""Trainings of small models that learn to read, and the documents that they learn from."""

import random
from pathlib import Path
from typing import Any

from dragoman.experiment import Experiment
from dragoman.recipes import compose
from tiny import Corpus

SMALL = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.schedule.kind": "constant",
    "training.steps": 20,
    "training.save_every": 5,
    "training.validate_every": 10,
    "training.log_every": 2,
    "training.keep": 3,
    "evaluation.report": 0,
    "training.batching.sentences": 16,
    "source.size": 60,
    "model.source.width": 16,
    "model.encoder.feed_forward": 32,
    "model.encoder.positions.kind": "learned",
    "model.encoder.positions.length": 24,
    "model.head.length": 16,
    "model.head.passes": 2,
    "limits.source": 21,
}
THEMES = ["ant", "bee", "cow", "doe", "elk", "fox", "gnu", "hen"]


def document(draw: random.Random, theme: str, sentences: int = 12) -> str:
    """Sentences of one word each, said some times, three on a line."""
    texts = [" ".join([theme] * draw.randint(2, 5)).capitalize() + "." for _ in range(sentences)]
    return "".join(f"{' '.join(texts[n : n + 3])}\n" for n in range(0, sentences, 3))


def written(folder: Path) -> Corpus:
    draw = random.Random(4)
    train, valid = folder / "train.txt", folder / "valid.txt"
    train.write_text("\n".join(document(draw, theme) for theme in THEMES))
    valid.write_text("\n".join(document(draw, theme, 6) for theme in THEMES))
    return Corpus(train, valid)


def small(corpus: Corpus, **settings: Any) -> Experiment:
    """training__steps=10 is the setting training.steps."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    files = ((str(corpus.train),), (str(corpus.valid),))
    return compose("bert2018", "tiny", *files, settings=SMALL | own).settings


def command(corpus: Corpus, out: Path, *more: str, **settings: Any) -> list[str]:
    """The same as a command."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    words = [f"{name}={value}" for name, value in (SMALL | own).items()]
    files = [str(corpus.train), "--valid", str(corpus.valid), "--scale", "tiny", "--out", str(out)]
    return ["train", "bert2018", *files, *words, *more]
