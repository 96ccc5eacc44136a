"""Trainings of small models that read frames, and the sequences of numbers that they learn to label."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from dragoman.experiment import Experiment
from dragoman.recipes import compose
from labels import SMALL
from tiny import Corpus

KINDS = ("labels", "tags", "numbers")
RECIPES = {"labels": "classify-frames", "tags": "tag-frames", "numbers": "classify-frames"}
SETTINGS: dict[str, dict[str, Any]] = {
    "labels": {},
    "tags": {"training.batching.sentences": 8},
    "numbers": {"model.head.kind": "number", "objective.kind": "squared_error", "training.monitor": "pearson"},
}
Frames = list[list[float]]


def ramp(draw: random.Random) -> tuple[Frames, str]:
    """Played backwards, the one is the other: no frame tells them apart."""
    label = draw.choice(["down", "up"])
    steps = draw.randint(3, 9)
    slope = (1 if label == "up" else -1) * draw.uniform(0.5, 2)
    start = draw.uniform(-3, 3)
    return [[50 + start + slope * n + draw.gauss(0, 0.2), draw.gauss(0, 9)] for n in range(steps)], label


def walk(draw: random.Random) -> tuple[Frames, list[str]]:
    """Each frame is above the one before it, or below: it takes both to tell."""
    values = [draw.uniform(-3, 3)]
    for _ in range(draw.randint(2, 8)):
        values.append(values[-1] + draw.choice([-1, 1]) * draw.uniform(1, 3))
    labels = ["first", *("up" if now > before else "down" for before, now in pairwise(values))]
    return [[value, draw.gauss(0, 9)] for value in values], labels


def csv_of(sequences: list[tuple[Frames, str]]) -> str:
    rows = [f"{n},{x},{y},{label}" for n, (frames, label) in enumerate(sequences) for x, y in frames]
    return "\n".join(["id,height [m],noise,label", *rows, ""])


def written(folder: Path, kind: str, size: int = 240) -> Corpus:
    """Labels in a table, tags in JSON lines, numbers in arrays."""
    draw = random.Random(5)
    ending = {"labels": "csv", "tags": "jsonl", "numbers": "npz"}[kind]
    for name, count in (("train", size), ("valid", 60), ("test", 40)):
        path = folder / f"{name}.{ending}"
        if kind == "labels":
            path.write_text(csv_of([ramp(draw) for _ in range(count)]))
        elif kind == "tags":
            made = [walk(draw) for _ in range(count)]
            path.write_text("".join(json.dumps({"frames": one, "labels": labels}) + "\n" for one, labels in made))
        else:
            ramps = [ramp(draw)[0] for _ in range(count)]
            score = [100 * (one[-1][0] - one[0][0]) for one in ramps]
            lengths = np.array([len(one) for one in ramps])
            flat = np.concatenate([np.array(one) for one in ramps])
            np.savez(path, values=flat, lengths=lengths, score=np.array(score), features=np.array(["height", "noise"]))
    return Corpus(folder / f"train.{ending}", folder / f"valid.{ending}")


def small(corpus: Corpus, kind: str, valid: bool = True, **settings: Any) -> Experiment:
    """training__steps=10 is the setting training.steps."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    files = (str(corpus.valid),) if valid else ()
    given = SMALL | SETTINGS[kind] | own
    return compose(RECIPES[kind], "tiny", (str(corpus.train),), files, settings=given).settings
