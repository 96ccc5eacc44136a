"""How far predicted futures are from the true ones: displacement errors of points (Pellegrini et al. 2009; Alahi et al.
2016), in the unit of the data."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.metrics.measured import SEED, Counts, Floats, Measured, grouped, measure_counts

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
    return of_means([weighed(last_of(one)) for one in apart])


def squared_of(apart: Sequence[Floats]) -> Counts:
    sums = [(float(np.nansum(one**2)), float(np.count_nonzero(~np.isnan(one)))) for one in apart]
    return of_means(sums, root=True)


def squared_at(apart: Sequence[Floats], step: int) -> Counts:
    """The same of one step, from 1; futures that are shorter, or do not know it, have no part in it."""
    return of_means([weighed(one**2) for one in at_step(apart, step)], root=True)


def distance_at(apart: Sequence[Floats], step: int) -> Counts:
    """The mean distance at one step."""
    return of_means([weighed(one) for one in at_step(apart, step)])


def at_step(apart: Sequence[Floats], step: int) -> list[float]:
    """NaN of futures that are shorter, or do not know it."""
    return [float(one[step - 1]) if len(one) >= step else np.nan for one in apart]


def last_of(one: Floats) -> float:
    known = one[~np.isnan(one)]
    return float(known[-1]) if len(known) else np.nan


def weighed(value: float) -> tuple[float, float]:
    """What is not known counts for nothing."""
    return (0.0, 0.0) if np.isnan(value) else (value, 1.0)


def of_means(items: Sequence[tuple[float, float]], root: bool = False) -> Counts:
    def score(sums: Floats) -> Floats:
        mean = sums[:, 0] / np.maximum(sums[:, 1], 1e-12)
        return np.sqrt(mean) if root else mean

    return Counts(np.array(items, np.float64), score, signature)


def signature(resamples: int, seed: int, drawn: str = "futures") -> str:
    return f"{drawn}|bs:{resamples}|seed:{seed}"


def horizons_of(steps: int) -> list[int]:
    """Some steps of a future, the last among them."""
    return sorted({max(1, round(steps * part / HORIZONS)) for part in range(1, HORIZONS + 1)})


def measure_tracks(
    apart: Sequence[Floats],
    names: Sequence[str],
    unit: str,
    best: Sequence[Floats] = (),
    futures: int = 1,
    resamples: int = 1000,
) -> tuple[Measured, ...]:
    """ADE, FDE and RMSE with intervals, RMSE at some horizons; and ADE and FDE of that of several futures
    which is nearest to the true one (Gupta et al. 2018). `names` are those of the tracks."""
    steps = max(map(len, apart))
    counted = {"ade": average_of(apart), "fde": final_of(apart), "rmse": squared_of(apart)}
    counted |= {f"rmse@{step}": squared_at(apart, step) for step in horizons_of(steps)}
    if best:
        counted |= {f"ade_best_of_{futures}": average_of(best), f"fde_best_of_{futures}": final_of(best)}
    behind = f" [{unit}]" if unit else ""
    drawn = {name: by_track(one, names) for name, one in counted.items()}
    return tuple(measure_counts(f"{name}{behind}", one, resamples, SEED) for name, one in drawn.items())


def by_track(counts: Counts, names: Sequence[str]) -> Counts:
    """Whole tracks are drawn, whose futures overlap and are alike; of one track alone, its futures, since nothing else
    is there to be drawn."""
    if len(set(names)) > 1:
        counts = replace(grouped(counts, names), signature=partial(signature, drawn="tracks"))
    known = counts.items[:, 1] > 0  # draws of others would be of nothing
    return replace(counts, items=counts.items[known]) if known.any() else counts


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
