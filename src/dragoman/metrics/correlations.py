"""Numbers beside the true ones: correlations and the distance between them."""

from collections.abc import Sequence

import numpy

from dragoman.errors import DataError
from dragoman.metrics.measured import Counts, Floats

VERSION = 1  # of the arithmetic here; part of every signature
Numbers = Sequence[float]


def pearson(found: Numbers, true: Numbers) -> Counts:
    """r = Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² Σ (y − ȳ)²), times 100 (Pearson 1895); 0 where one side is constant."""
    return correlated(*columns(found, true))


def spearman(found: Numbers, true: Numbers) -> Counts:
    """Pearson's r of the ranks, times 100 (Spearman 1904); equals share their mean rank, and an interval is over items
    with the ranks that they have among all."""
    return correlated(*(ranks(side) for side in columns(found, true)))


def root_mean_squared_error(found: Numbers, true: Numbers) -> Counts:
    """√(Σ (x − y)² / n), in the unit of the data."""
    one, other = columns(found, true)
    items = numpy.stack([(one - other) ** 2, numpy.ones_like(one)], 1)
    return Counts(items, lambda sums: numpy.sqrt(sums[:, 0] / sums[:, 1]), signature)


def columns(found: Numbers, true: Numbers) -> tuple[Floats, Floats]:
    if len(found) != len(true) or not true:
        raise DataError(f"{len(found):,} numbers cannot be compared with {len(true):,}.")
    return numpy.array(found, numpy.float64), numpy.array(true, numpy.float64)


def correlated(one: Floats, other: Floats) -> Counts:
    """Sums of x, y, x², y² and xy; both are moved to a mean of 0 first, so that little is lost in differences."""
    x, y = one - one.mean(), other - other.mean()
    items = numpy.stack([numpy.ones_like(x), x, y, x * x, y * y, x * y], 1)

    def score(sums: Floats) -> Floats:
        n, sx, sy, xx, yy, xy = sums.T
        below = (n * xx - sx**2) * (n * yy - sy**2)
        least = 1e-12 * numpy.maximum(n * xx * n * yy, 1e-300)  # what rounding leaves of nothing
        found: Floats = 100 * (n * xy - sx * sy) / numpy.sqrt(numpy.where(below > least, below, numpy.inf))
        return found

    return Counts(items, score, signature)


def ranks(values: Floats) -> Floats:
    """From 1; equals have the mean of their places."""
    _, place, count = numpy.unique(values, return_inverse=True, return_counts=True)
    ends = numpy.cumsum(count)
    return numpy.asarray((ends - (count - 1) / 2)[place], numpy.float64)


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|unit:item|version:dragoman.{VERSION}"
