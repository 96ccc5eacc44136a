"""What a baseline predicts."""

from collections.abc import Sequence
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


@dataclass(frozen=True)
class Found:
    """All baselines of a test."""

    predicted: tuple[Predicted, ...]
    examples: int = 0  # of the training data
    note: str = ""  # why there are none, or fewer


def sampled(count: int, most: int) -> list[int]:
    """All places up to a bound, or as many of them, drawn by a key, in order."""
    if count <= most:
        return list(range(count))
    drawn: list[int] = np.sort(permutation(count, "baselines")[:most]).tolist()
    return drawn
