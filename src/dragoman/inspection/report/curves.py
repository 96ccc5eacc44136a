"""The log of a training as curves of bounded length."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

POINTS = 400  # of a curve: more than a drawing shows
MEANS = 100  # of a curve that would be a thicket
LONGEST_LINE = 100_000  # characters of a record; longer ones are damage
LARGEST = 1e300  # of a value; infinities and what is no number fail the comparison

Point = tuple[float, float]


@dataclass(frozen=True)
class Curves:
    """Values over steps; what was logged for training, and what validation found."""

    training: dict[str, tuple[Point, ...]]
    validation: dict[str, tuple[Point, ...]]
    means: dict[str, tuple[Point, ...]]  # of the training's curves that were thinned
    best_step: int | None

    @property
    def last_step(self) -> int:
        ends = [points[-1][0] for points in (*self.training.values(), *self.validation.values()) if points]
        return int(max(ends, default=0))


def read_curves(path: Path) -> Curves:
    """Damaged lines and values that are no finite numbers are left out."""
    training: dict[str, list[Point]] = {}
    validation: dict[str, list[Point]] = {}
    best = None
    for record in read_records(path):
        step, found = float(record["step"]), record.get("valid")
        if isinstance(found, dict):
            add(validation, step, found)
            best = int(step) if record.get("best") else best
        else:
            add(training, step, {name: value for name, value in record.items() if name != "step"})
    return Curves(
        {name: thin(points) for name, points in training.items()},
        {name: thin(points) for name, points in validation.items()},
        {name: means(points) for name, points in training.items() if len(points) > POINTS},
        best,
    )


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        while line := file.readline(LONGEST_LINE):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict) and is_number(record.get("step")):
                yield record


def add(curves: dict[str, list[Point]], step: float, values: dict[str, Any]) -> None:
    for name, value in values.items():
        if is_number(value):
            curves.setdefault(name, []).append((step, float(value)))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -LARGEST < value < LARGEST


def thin(points: Sequence[Point], most: int = POINTS) -> tuple[Point, ...]:
    """The least and the greatest of each bin, and both ends: no spike is lost."""
    if len(points) <= most:
        return tuple(points)
    bins = most // 2 - 1
    kept = {0, len(points) - 1}
    for number in range(bins):
        inside = range(number * len(points) // bins, (number + 1) * len(points) // bins)
        kept |= {min(inside, key=lambda n: points[n][1]), max(inside, key=lambda n: points[n][1])}
    return tuple(points[number] for number in sorted(kept))


def means(points: Sequence[Point], most: int = MEANS) -> tuple[Point, ...]:
    """The mean step and value of each bin."""
    bins = [points[number * len(points) // most : (number + 1) * len(points) // most] for number in range(most)]
    return tuple((sum(step for step, _ in one) / len(one), sum(value for _, value in one) / len(one)) for one in bins)
