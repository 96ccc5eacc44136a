"""Settings of forecasts, chosen from windows of the tracks: whether the position matters, and how long to train."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.futures import Futures
from dragoman.data.readers.pairs import split_of
from dragoman.data.readers.track import Values
from dragoman.data.track_store import Cutting
from dragoman.data.tracking import tracking_of
from dragoman.defaults.budget import Budget, validation_interval
from dragoman.defaults.choice import Choice
from dragoman.preparation.corpora import Preparing
from dragoman.preparation.tracks import features_of

SAMPLED = 20_000  # windows that are looked at closely; of more, every second is let go
FEWEST = 200  # windows, and TRACKS tracks, from which on a trial tells anything
TRACKS = 10
HELD_OUT = 0.3  # share of the tracks that the trial is measured on
HELPS = 0.03  # share of the error that positions must save in a trial
CENTERS = 64  # places whose neighborhoods the trial knows
STRENGTH = 10.0  # of the ridge
SEEN = 600_000  # windows that a training sees by default, all epochs together


@dataclass(frozen=True)
class TrackSurvey:
    """How many windows there are, and some of them."""

    windows: int
    tracks: tuple[str, ...]  # of the sample, one per window
    past: Values  # (n, S, predicted)
    future: Values  # (n, T, predicted)


def survey_tracks(data: Futures, given: Mapping[str, Any], preparing: Preparing) -> TrackSurvey | None:
    """Windows spread over the training data, without those that have gaps; nothing where there is none."""
    plain = tracking_of(data, features_of(data))
    size, count, stride = len(plain.predicts), 0, 1
    kept: list[tuple[str, Values, Values]] = []
    for some in Cutting(data, plain).stream("train"):
        for row in range(len(some)):
            if count % stride == 0 and len(some.future[row]) == data.future and len(some.past[row]) == data.past:
                kept.append((some.names[row], some.past[row, :, :size], some.future[row, :, :size]))
            count += 1
        while len(kept) > SAMPLED:
            kept, stride = kept[::2], 2 * stride
        preparing("windows looked at", count)
    whole = [one for one in kept if not (np.isnan(one[1]).any() or np.isnan(one[2]).any())]
    if not count:
        return None
    past, future = (np.stack([one[part] for one in whole]) if whole else np.empty((0, 1, size)) for part in (1, 2))
    return TrackSurvey(count, tuple(one[0] for one in whole), past, future)


def choose_for_tracks(survey: TrackSurvey, given: Mapping[str, Any], budget: Budget) -> list[Choice]:
    """Everything that follows from the windows and the budget."""
    has_validation = bool(given.get("data.valid")) or "data.hold_out" in given
    held_out = None if has_validation else hold_out_of(survey)
    return [
        *([] if held_out is None else [held_out]),
        position_choice(survey, given),
        *training_choices(survey.windows, given, budget),
    ]


def position_choice(survey: TrackSurvey, given: Mapping[str, Any]) -> Choice:
    """By a trial: ridge regression on the steps of the history, without and with the position at its end."""
    if given.get("data.turns", "none") != "none" or given.get("data.frame", "last") == "absolute":
        return Choice("data.position", False, "scenes are turned, or positions are read anyway")
    errors = errors_of_trial(survey)
    if errors is None:
        return Choice("data.position", False, "too few tracks to try it")
    without, with_position = errors
    saved = 1 - with_position / max(1e-12, without)
    told = f"in a trial on held-out tracks, positions change the error of a linear model by {-saved:+.0%}"
    return Choice("data.position", bool(saved >= HELPS), told)


def errors_of_trial(survey: TrackSurvey) -> tuple[float, float] | None:
    """The mean error on tracks that the ridge has not seen, without and with positions."""
    held = np.array([split_of(name, HELD_OUT, 0.0) == "valid" for name in survey.tracks], bool)
    if len(held) < FEWEST or len({*survey.tracks}) < TRACKS or held.all() or not held.any():
        return None
    last = survey.past[:, -1]
    moved = np.diff(survey.past, axis=1).reshape(len(last), -1)
    moved = moved / (np.sqrt((moved**2).mean()) or 1.0)
    wanted = (survey.future - last[:, None]).reshape(len(last), -1)
    near = neighborhoods(last, last[~held])
    rows = [np.concatenate([moved, *more, np.ones((len(last), 1))], 1) for more in ([], [near])]
    without, with_position = (missed(one, wanted, held, survey.future.shape) for one in rows)
    return without, with_position


def neighborhoods(points: Values, known: Values) -> Values:
    """The scaled position, and how near each of some known places is: exp(−½ d²)."""
    mean, deviation = known.mean(0), np.where(known.std(0) > 0, known.std(0), 1.0)
    scaled, centers = (points - mean) / deviation, (known - mean) / deviation
    centers = centers[:: max(1, len(centers) // CENTERS)][:CENTERS]
    distances = np.square(scaled[:, None] - centers).sum(-1)
    return np.concatenate([scaled, np.exp(-2 * distances)], 1)


def missed(rows: Values, wanted: Values, held: NDArray[np.bool_], shape: tuple[int, ...]) -> float:
    """The mean distance of held-out futures from those that a ridge predicts."""
    known, others = rows[~held], rows[held]
    weights = np.linalg.solve(known.T @ known + STRENGTH * np.eye(rows.shape[1]), known.T @ wanted[~held])
    apart = (others @ weights - wanted[held]).reshape(-1, *shape[1:])
    return float(np.sqrt(np.square(apart).sum(-1)).mean())


def training_choices(windows: int, given: Mapping[str, Any], budget: Budget) -> Iterator[Choice]:
    batch = int(given.get("training.batching.sentences", 128))
    updates = max(1, math.ceil(windows / batch))
    epochs = min(100, max(5, round(SEEN / windows)))
    limit = budget.epochs_of(windows, updates, 2e7)
    seen = float(epochs) if math.isinf(limit) else limit
    yield Choice("training.epochs", epochs, f"some {SEEN:,} windows are seen; 5 to 100 epochs")
    yield Choice("training.validate_every", validation_interval(updates, seen), "about 20 validations")


def hold_out_of(survey: TrackSurvey) -> Choice | None:
    """A tenth of the tracks, where no validation data is given and that leaves some on either side."""
    parted = {split_of(name, 0.1, 0.0) for name in survey.tracks}
    return Choice("data.hold_out", 0.1, "no --valid: a tenth of the tracks is held out") if len(parted) == 2 else None
