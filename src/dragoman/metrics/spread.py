"""The same training with several seeds: mean and standard deviation."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """Values of one measure, a seed each."""

    values: tuple[float, ...]

    @staticmethod
    def of(values: Sequence[float]) -> "Spread":
        return Spread(tuple(values))

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """√(Σ (x − mean)² / (n − 1)), as of a sample; one value has none."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    @property
    def error(self) -> float | None:
        """Of the mean: deviation / √n."""
        return None if self.deviation is None else self.deviation / len(self.values) ** 0.5

    def __str__(self) -> str:
        return f"{self.mean:.2f}" if self.deviation is None else f"{self.mean:.2f} ± {self.deviation:.2f}"

    def as_json(self) -> dict[str, object]:
        return {"mean": self.mean, "deviation": self.deviation, "values": list(self.values)}
