"""Trainings of small language models, and the texts they learn."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.experiment import Experiment
from dragoman.recipes import compose

SMALL = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.steps": 20,
    "training.save_every": 5,
    "training.validate_every": 10,
    "training.log_every": 2,
    "training.keep": 3,
    "evaluation.report": 0,
    "model.decoder.dropout": 0.2,
}
# 20,000 symbols make an epoch of many updates; with windows of 5 and 4 streams it is longer than any test here.
CARRIED = {"training.optimiser.rate": 0.5, "target.kind": "characters"}


@dataclass(frozen=True)
class Books:
    """Files of text."""

    train: Path
    valid: Path


def written(folder: Path, documents: int = 60) -> Books:
    """Rhymes that repeat themselves, with blank lines between them, and a few more to validate on."""
    draw = random.Random(5)
    lines = ["to be or not to be", "that is the question", "all the world is a stage", "and all the men are players"]
    texts = ["\n".join(draw.choices(lines, k=draw.randint(1, 4))) for _ in range(documents + 6)]
    (folder / "book.txt").write_text("\n\n".join(texts[:documents]) + "\n")
    (folder / "other.txt").write_text("\n\n".join(texts[documents:]) + "\n")
    return Books(folder / "book.txt", folder / "other.txt")


def small(books: Books, recipe: str = "gpt", valid: bool = True, **settings: Any) -> Experiment:
    """training__steps=10 is the setting training.steps."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    base = SMALL | (CARRIED if recipe == "zaremba2014" else {})
    files = (str(books.valid),) if valid else ()
    return compose(recipe, "tiny", (str(books.train),), files, settings=base | own).settings


def command(books: Books, out: Path, recipe: str = "gpt", **settings: Any) -> list[str]:
    """The same as a command."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    base = SMALL | (CARRIED if recipe == "zaremba2014" else {})
    words = [f"{name}={value}" for name, value in (base | own).items()]
    return [
        "train",
        recipe,
        str(books.train),
        "--valid",
        str(books.valid),
        "--scale",
        "tiny",
        "--out",
        str(out),
        *words,
    ]
