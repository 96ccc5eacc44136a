"""What a baseline predicts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dragoman.data.permutation import permutation


@dataclass(frozen=True)
class Predicted:
    """A baseline by its name, and its prediction for each test item, as JSON can hold it."""

    name: str
    title: str
    predictions: Sequence[Any]
    examples: int | None = None  # that it was trained on; None: all that were given to it


@dataclass(frozen=True)
class Skipped:
    """A baseline that cannot be computed, and why."""

    title: str
    why: str

    def sentence(self) -> str:
        return f"Skipped the baseline “{self.title}”: {self.why}."


Baselines = Iterator[Predicted | Skipped]


@dataclass(frozen=True)
class Found:
    """All baselines of a test."""

    predicted: tuple[Predicted, ...]
    note: str = ""  # why there are none, or fewer

    @property
    def examples(self) -> int:
        """The largest number of examples that a baseline was trained on."""
        return max((one.examples or 0 for one in self.predicted), default=0)


def sampled(count: int, most: int) -> list[int]:
    """All places up to a bound, or as many of them, drawn by a key, in order."""
    if count <= most:
        return list(range(count))
    drawn: list[int] = np.sort(permutation(count, "baselines")[:most]).tolist()
    return drawn


def sampled_by_size(sizes: Sequence[int], most: int, largest: int) -> list[int]:
    """The same, up to so many places whose sizes add up to `largest` at most, but always one."""
    drawn = permutation(len(sizes), "baselines")[:most]
    fitting = np.cumsum(np.asarray(sizes, np.int64)[drawn]) <= largest
    found: list[int] = np.sort(drawn[: max(1, int(fitting.sum()))]).tolist()
    return found
