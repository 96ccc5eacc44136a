"""How good futures of tracks are: on validation data while a model is trained, on test data with intervals."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.contracts import Loss
from dragoman.data.order import Batching, Position, walk
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.track import Track
from dragoman.data.store import Store
from dragoman.data.track_store import Turning, collate_tracks
from dragoman.data.tracking import Windows, usable
from dragoman.errors import DataError
from dragoman.evaluation.beside import tracks_beside
from dragoman.metrics import Measured
from dragoman.metrics.displacement import best_of, distances, measure_tracks
from dragoman.metrics.measured import Floats
from dragoman.objectives import AnyObjective, build_objective
from dragoman.pipeline import Pipeline
from dragoman.pipeline.tracks import Forecasting, joined
from dragoman.regimes import teacher
from dragoman.search.rollout import rollout
from dragoman.watching import Watch, unwatched

BLOCK = 1024  # windows that are answered at once


def validate_tracks(
    pipeline: Pipeline, store: Store, batching: Batching, objective: AnyObjective, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """The loss where true points are fed, ADE and FDE where the model is fed its own; None if it was told to stop."""
    forecasting, compare = pipeline.forecasting, build_objective(objective)
    how, loss, count, seen = Turning(forecasting.tracking), 0.0, 0, 0
    apart: list[Floats] = []
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate_tracks(chunk, indices, how).to(pipeline.device)
        outputs = batch.truth().outputs
        with torch.inference_mode():
            told: dict[str, Loss] = compare(teacher(forecasting.model, batch), forecasting.model.head, batch)
            first, state = forecasting.begun(batch)
            steps = outputs.values.shape[1]
            said, _ = rollout(
                forecasting.model.decode, forecasting.model.head, first, state, steps, forecasting.how.choice
            )
        loss += sum(float(one.total) for one in told.values())
        count += sum(one.count for one in told.values())
        true, path = outputs.values.cpu().numpy(), batch.truth().path
        gone = None if path is None else path.values.cpu().numpy()
        missed = forecasting.tracking.errors(said.cpu().numpy(), true, gone)
        lengths = outputs.mask.sum(1).tolist()
        apart += [one[:length] for one, length in zip(distances(missed), lengths, strict=True)]
        seen += batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    known = [one[~np.isnan(one)] for one in apart]
    everything = np.concatenate(known)
    final = np.array([one[-1] for one in known if len(one)])
    return {"loss": loss / max(1, count), "ade": float(everything.mean()), "fde": float(final.mean())}


@dataclass(frozen=True)
class EvaluatedTracks:
    """A model of tracks, measured on data."""

    items: int
    tracks: int
    short: int  # tracks without a past and a future that are long enough
    problems: Problems  # what could not be read
    seconds: float
    unit: str
    metrics: tuple[Measured, ...]
    horizons: tuple[float, ...]  # mean distance at each step
    standing: Standing | None = None


def evaluate_tracks(
    pipeline: Pipeline,
    files: Sequence[str],
    n_best: int = 1,
    stride: int = 1,
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> EvaluatedTracks:
    """Answer every past once, or with several futures, and compare with what came."""
    forecasting, problems = pipeline.forecasting, Problems()
    forecasting.refuse_unknown(n_best)
    started_at, resamples = time.monotonic(), pipeline.settings.evaluation.resamples
    apart: list[Floats] = []
    best: list[Floats] = []
    names: list[str] = []
    seen: list[Windows] = []
    count = Count()
    with spooled(files) as (corpora,):
        plain = files_of(corpora)
        tracks = forecasting.tracking.read(plain, problems)
        for windows in pasts(forecasting, tracks, stride, count):
            points, _ = forecasting.said(windows, range(len(apart), len(apart) + len(windows)), n_best)
            size = len(forecasting.tracking.predicts)
            truth = windows.future[..., :size]
            each = distances(points - truth)
            apart += list(each[0])
            best += [best_of(list(each[:, row])) for row in range(len(windows))] if n_best > 1 else []
            names += windows.names
            seen.append(windows)
            watch("futures compared", len(apart), len(apart))
    if not apart:
        raise DataError(
            f"There is no past with a future in {' and '.join(map(str, files))}: {count.tracks:,} tracks were read, of "
            f"which {count.short:,} are shorter than data.past + data.future = "
            f"{forecasting.tracking.past + forecasting.tracking.future} steps.\n{problems.summary()}"
        )
    unit = forecasting.tracking.unit
    metrics = measure_tracks(apart, names, unit, best if n_best > 1 else (), n_best, resamples)
    seconds = time.monotonic() - started_at
    standing = None if beside is None else tracks_beside(beside, pipeline, seen, apart, resamples)
    return EvaluatedTracks(
        len(apart), count.tracks, count.short, problems, seconds, unit, metrics, by_step(apart), standing
    )


@dataclass
class Count:
    tracks: int = 0
    short: int = 0


def pasts(forecasting: Forecasting, tracks: Iterator[Track], stride: int, count: Count) -> Iterator[Windows]:
    """Pasts with their futures, those of one shape together."""
    waiting: dict[tuple[int, ...], list[Windows]] = {}
    for track in tracks:
        count.tracks += 1
        found = 0
        for some in forecasting.tracking.cut(track, stride):
            good = np.flatnonzero(usable(some, len(forecasting.tracking.predicts)))
            found += len(good)
            shape = (some.past.shape[1], some.future.shape[1], some.others.shape[2])
            if len(good):
                waiting.setdefault(shape, []).append(some.select(good))
            if sum(map(len, waiting.get(shape, ()))) >= BLOCK:
                yield joined(waiting.pop(shape))
        count.short += not found
    yield from map(joined, waiting.values())


def by_step(apart: Sequence[Floats]) -> tuple[float, ...]:
    """Mean distance at each step of a future."""
    longest = max(map(len, apart))
    found = np.full((len(apart), longest), np.nan)
    for row, one in enumerate(apart):
        found[row, : len(one)] = one
    counts = np.maximum(1, (~np.isnan(found)).sum(0))
    return tuple((np.nansum(found, 0) / counts).tolist())
