"""A sample of tracks that a model has gone on with, beside how they went on."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dragoman.baselines.standing import Standing
from dragoman.baselines.tracks import onward
from dragoman.baselines.training_data import Beside
from dragoman.data.permutation import permutation
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.standard_input import spooled
from dragoman.data.tracking import Windows
from dragoman.drawing.tracks import Drawn as Picture
from dragoman.errors import DataError
from dragoman.evaluation.beside import tracks_beside
from dragoman.evaluation.tracks import Count, by_step, pasts
from dragoman.inspection.report.drawn import Drawn
from dragoman.metrics import Measured
from dragoman.metrics.displacement import best_of, distances, measure_tracks
from dragoman.metrics.measured import Floats
from dragoman.pipeline import Pipeline
from dragoman.pipeline.tracks import joined
from dragoman.watching import Watch

DRAWS = 20  # futures of a model that knows how they are distributed
SHOWN = 6  # pictures of each kind


@dataclass(frozen=True)
class TestedTracks:
    """A model of tracks, measured on a sample."""

    drawn: Drawn
    unit: str
    metrics: tuple[Measured, ...]
    still: tuple[Measured, ...]  # of going on at the last velocity
    steps: tuple[float, ...]  # mean distance at each step
    still_steps: tuple[float, ...]
    pictures: dict[str, tuple[tuple[Picture, float], ...]]  # typical ones and the worst, with their mean distance
    futures: int
    headed: None = None  # nothing is looked at that could be drawn
    standing: Standing | None = None


def examine_tracks(
    pipeline: Pipeline,
    data: Futures,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedTracks:
    """Go on with a sample of pasts and measure as `evaluate` does."""
    drawn, blocks = sample(pipeline, data, record, on, lines)
    forecasting = pipeline.forecasting
    futures = DRAWS if forecasting.distributed else 1
    size, resamples = len(forecasting.tracking.predicts), pipeline.settings.evaluation.resamples
    apart: list[Floats] = []
    best: list[Floats] = []
    going: list[Floats] = []
    pictures: list[Picture] = []
    for windows in blocks:
        points, _ = forecasting.said(windows, range(len(apart), len(apart) + len(windows)), futures)
        truth = windows.future[..., :size]
        each = distances(points - truth)
        apart += list(each[0])
        best += [best_of(list(each[:, row])) for row in range(len(windows))]
        going += list(distances(onward(windows.past[..., :size], truth.shape[1]) - truth))
        features = forecasting.tracking.features
        pictures += [
            Picture(name, features, windows.past[row, :, :size], tuple(points[:, row]), truth[row])
            for row, name in enumerate(windows.names)
        ]
        told("answered", len(apart), drawn.count)
    names, unit = [one.name for one in pictures], forecasting.tracking.unit
    return TestedTracks(
        drawn=drawn,
        unit=unit,
        metrics=measure_tracks(apart, names, unit, best if futures > 1 else (), futures, resamples),
        still=measure_tracks(going, names, unit, resamples=resamples)[:2],
        steps=by_step(apart),
        still_steps=by_step(going),
        pictures=chosen(pictures, apart),
        futures=futures,
        standing=None if beside is None else tracks_beside(beside, pipeline, blocks, apart, resamples),
    )


def chosen(pictures: list[Picture], apart: list[Floats]) -> dict[str, tuple[tuple[Picture, float], ...]]:
    """Some from the middle of all, spread over them, and the worst."""
    means = np.array([float(np.nanmean(one)) for one in apart])
    order = np.argsort(means)
    typical = order[np.linspace(0.1 * len(order), 0.9 * (len(order) - 1), min(SHOWN, len(order))).astype(int)]
    worst = order[::-1][:SHOWN]
    return {
        kind: tuple((pictures[row], float(means[row])) for row in dict.fromkeys(rows.tolist()))
        for kind, rows in (("typical", typical), ("worst", worst))
    }


def sample(
    pipeline: Pipeline, data: Futures, record: dict[str, Any], on: tuple[str, ...], lines: int
) -> tuple[Drawn, list[Windows]]:
    """So many pasts with their futures, of the files given or of the run's validation data."""
    problems, forecasting = Problems(), pipeline.forecasting
    with spooled(on or data.files("valid")) as (corpora,):
        files = files_of(corpora)
        tracks = forecasting.tracking.read(files, problems)
        split = tracks if on else (track for track in tracks if data.in_split(track, "valid"))
        blocks = list(pasts(forecasting, split, data.stride, Count()))
        now = "" if on else fingerprint(tuple(files))
    total = sum(map(len, blocks))
    if not total:
        raise DataError(f"There is no past with a future in {', '.join(on or data.files('valid'))}.")
    kept = [block.select(rows) for block, rows in zip(blocks, shares(blocks, total, lines), strict=True) if len(rows)]
    changed = not on and now != record.get("valid", {}).get("sha256", now)
    names = tuple(map(str, on or data.files("valid")))
    drawn = Drawn(names, sum(map(len, kept)), total, problems.count, "given" if on else "valid", changed)
    return drawn, [joined([block]) for block in kept]


def shares(blocks: list[Windows], total: int, lines: int) -> list[Any]:
    """Which of each block: a random part of all."""
    wanted = np.sort(permutation(total, "report", "tracks")[:lines])
    starts = np.cumsum([0, *map(len, blocks)])
    return [wanted[(wanted >= first) & (wanted < end)] - first for first, end in pairwise(starts)]
