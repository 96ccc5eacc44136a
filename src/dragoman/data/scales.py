"""How numbers are brought to one size for learning, and back: mean and standard deviation of each feature."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.track import Feature
from dragoman.errors import StorageError
from dragoman.storage import read_record, write_record

Values = NDArray[np.float64]
MOST = 65_536  # features


@dataclass(frozen=True)
class Scale:
    """z = (x − mean) / deviation, a feature: learned once from the training data and kept beside the weights, which
    know it by its hash. What is missing (NaN) stays missing."""

    features: tuple[Feature, ...]
    means: tuple[float, ...]
    deviations: tuple[float, ...]

    @property
    def size(self) -> int:
        return len(self.features)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def scaled(self, values: Values) -> NDArray[np.float32]:
        """(…, features) in the user's units → standard deviations from the mean."""
        scaled: NDArray[np.float64] = (values - np.array(self.means)) / np.array(self.deviations)
        return scaled.astype(np.float32)

    def unscaled(self, values: NDArray[Any]) -> Values:
        """And back."""
        plain: Values = np.asarray(values, np.float64) * np.array(self.deviations) + np.array(self.means)
        return plain

    def of(self, names: Sequence[str]) -> "Scale":
        """That of some of the features, in this order."""
        places = [self.names.index(name) for name in names]
        parts = (tuple(part[place] for place in places) for part in (self.features, self.means, self.deviations))
        return Scale(*parts)  # type: ignore[arg-type]

    def write(self, path: Path) -> None:
        write_record(path, self.as_record())

    def as_record(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def load(path: Path) -> "Scale":
        return Scale.from_record(read_record(path), path)

    @staticmethod
    def from_record(record: dict[str, Any], path: Path) -> "Scale":
        try:
            features = tuple(Feature(**one) for one in record["features"])
            means, deviations = (tuple(map(float, record[name])) for name in ("means", "deviations"))
            well = len(features) == len(means) == len(deviations) <= MOST
            well = well and len({one.name for one in features}) == len(features)
            well = well and all(isinstance(text, str) for one in features for text in (one.name, one.unit))
            well = well and all(map(math.isfinite, means)) and all(0 < one < math.inf for one in deviations)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{path} is damaged: it does not say how features are scaled. Copy it again.") from error
        if not well:
            raise StorageError(f"{path} is damaged: its features do not fit together. Copy it again.")
        return Scale(features, means, deviations)


@dataclass
class Moments:
    """Means and squares of what was seen so far, block by block, in sums that do not cancel (Chan et al. 1979)."""

    counts: Values
    means: Values
    squares: Values

    @staticmethod
    def of(size: int) -> "Moments":
        return Moments(np.zeros(size), np.zeros(size), np.zeros(size))

    def add(self, values: Values) -> None:
        """A block (steps, features); what is missing counts for nothing."""
        there = ~np.isnan(values)
        counts = there.sum(0)
        filled = np.where(there, values, 0.0)
        means = filled.sum(0) / np.maximum(counts, 1)
        squares = (np.where(there, values - means, 0.0) ** 2).sum(0)
        total = self.counts + counts
        gap, share = means - self.means, counts / np.maximum(total, 1)
        self.squares += squares + gap**2 * self.counts * share
        self.means += gap * share
        self.counts = total

    def scale(self, features: Sequence[Feature], together: Sequence[Sequence[int]] = ()) -> Scale:
        """Features that never change, or were never seen, are left as large as they are. Those that belong `together`
        have the mean 0 and one deviation, so that turning them in their space changes nothing."""
        means, deviations = self.means.copy(), np.sqrt(self.squares / np.maximum(self.counts, 1))
        for places in map(list, together):
            squares = self.squares[places] + self.counts[places] * self.means[places] ** 2
            deviations[places] = np.sqrt(squares.sum() / max(1.0, self.counts[places].sum()))
            means[places] = 0.0
        deviations = np.where(deviations > 1e-12 * (1 + np.abs(means)), deviations, 1.0)
        return Scale(tuple(features), tuple(means.tolist()), tuple(deviations.tolist()))


def learn_scale(features: Sequence[Feature], blocks: Iterable[Values], together: Sequence[Sequence[int]] = ()) -> Scale:
    """In one pass over blocks (steps, features) of any number."""
    moments = Moments.of(len(features))
    for block in blocks:
        moments.add(block)
    return moments.scale(features, together)
