"""How far predicted futures are from the true ones: displacement errors of points (Pellegrini et al. 2009; Alahi et al.
2016), in the unit of the data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.measured import SEED, Counts, Floats, Measured, measure_counts

HORIZONS = 4  # steps at which the root mean squared error is told, spread over the future

TRACK_METRICS = {
    "ade": "mean distance of all points from the true ones",
    "fde": "mean distance of the last points from the true ones",
    "rmse": "root of the mean squared distance of all points",
}


def distances(missed: NDArray[Any]) -> Floats:
    """(futures, T, features) → (futures, T): NaN where nothing is known of a point."""
    known = ~np.isnan(missed)
    square = np.where(known, missed, 0.0).astype(np.float64) ** 2
    return np.where(known.any(-1), np.sqrt(square.sum(-1)), np.nan)


def average_of(apart: Sequence[Floats]) -> Counts:
    """Every known point of every future counts the same."""
    return of_means([(float(np.nansum(one)), float(np.count_nonzero(~np.isnan(one)))) for one in apart])


def final_of(apart: Sequence[Floats]) -> Counts:
    """The last known point of each future."""
    return of_means([(last_of(one), 1.0) for one in apart])


def squared_of(apart: Sequence[Floats]) -> Counts:
    sums = [(float(np.nansum(one**2)), float(np.count_nonzero(~np.isnan(one)))) for one in apart]
    return of_means(sums, root=True)


def squared_at(apart: Sequence[Floats], step: int) -> Counts:
    """The same of one step, from 1; futures that are shorter, or do not know it, have no part in it."""
    known = [one[step - 1] for one in apart if len(one) >= step and not np.isnan(one[step - 1])]
    return of_means([(value**2, 1.0) for value in known] or [(0.0, 1.0)], root=True)


def last_of(one: Floats) -> float:
    known = one[~np.isnan(one)]
    return float(known[-1]) if len(known) else 0.0


def of_means(items: Sequence[tuple[float, float]], root: bool = False) -> Counts:
    def score(sums: Floats) -> Floats:
        mean = sums[:, 0] / np.maximum(sums[:, 1], 1e-12)
        return np.sqrt(mean) if root else mean

    return Counts(np.array(items, np.float64), score, signature)


def signature(resamples: int, seed: int) -> str:
    return f"futures|bs:{resamples}|seed:{seed}"


def horizons_of(steps: int) -> list[int]:
    """Some steps of a future, the last among them."""
    return sorted({max(1, round(steps * part / HORIZONS)) for part in range(1, HORIZONS + 1)})


def measure_tracks(
    apart: Sequence[Floats], unit: str, best: Sequence[Floats] = (), futures: int = 1, resamples: int = 1000
) -> tuple[Measured, ...]:
    """ADE, FDE and RMSE with intervals, RMSE at some horizons; and ADE and FDE of that of several futures
    which is nearest to the true one (Gupta et al. 2018)."""
    steps = max(map(len, apart))
    counted = {"ade": average_of(apart), "fde": final_of(apart), "rmse": squared_of(apart)}
    counted |= {f"rmse@{step}": squared_at(apart, step) for step in horizons_of(steps)}
    if best:
        counted |= {f"ade_best_of_{futures}": average_of(best), f"fde_best_of_{futures}": final_of(best)}
    behind = f" [{unit}]" if unit else ""
    return tuple(measure_counts(f"{name}{behind}", one, resamples, SEED) for name, one in counted.items())


def best_of(apart: Sequence[Floats]) -> Floats:
    """Of several futures of one track, that with the least mean distance."""
    means = [float(np.nanmean(one)) if not np.isnan(one).all() else np.inf for one in apart]
    return apart[int(np.argmin(means))]


def title_of(name: str) -> str:
    """What a metric of tracks is."""
    plain, _, step = name.partition(" ")[0].partition("@")
    if step:
        return f"the same of step {step}"
    first, _, best = plain.partition("_best_of_")
    return f"{TRACK_METRICS[first]}{f', of the nearest of {best} futures' if best else ''}"
