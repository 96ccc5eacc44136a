"""What a model of tracks says: how each goes on, in the user's units."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.contracts import Batch, State
from dragoman.data.chunk import Numbers
from dragoman.data.readers.lines import Problems, place_of
from dragoman.data.readers.track import Feature, Track, Values, reason_against, reason_against_others
from dragoman.data.readers.tracks import differing
from dragoman.data.track_store import batch_of
from dragoman.data.tracking import Tracking, Windows
from dragoman.errors import ConfigError, DataError
from dragoman.heads import MixtureHead
from dragoman.models import ForecasterModel
from dragoman.search.rollout import Rollout, drawn_numbers, rollout, sampled

WINDOW = 1024  # tracks that are read ahead, so that a batch holds equals
BATCH = 256  # tracks of a batch, times futures
MOST = 1_000  # futures of a track


@dataclass(frozen=True)
class Future:
    """One way in which a track may go on."""

    points: Values  # (T, predicted features), in the user's units
    log_density: float = 0.0  # of a mixture, over all steps, in standard deviations of the training data


@dataclass(frozen=True)
class Forecast:
    """How a track goes on: all futures that were asked for, the best first, then those that were drawn."""

    name: str
    features: tuple[Feature, ...]
    past: Values  # (S, predicted features)
    futures: tuple[Future, ...]

    @property
    def points(self) -> Values:
        """Of the best future."""
        return self.futures[0].points

    def columns(self) -> dict[str, list[float]]:
        """The best future as columns by name."""
        return {feature.name: self.points[:, n].tolist() for n, feature in enumerate(self.features)}

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        from dragoman.drawing.tracks import Drawn, track_svg

        return track_svg(Drawn(self.name, self.features, self.past, tuple(one.points for one in self.futures)))


@dataclass(frozen=True)
class Forecasting:
    """A model of tracks, with all that it needs to answer."""

    model: ForecasterModel
    tracking: Tracking
    how: Rollout
    device: torch.device

    @property
    def distributed(self) -> bool:
        """Whether it knows how futures are distributed, so that they can be drawn."""
        return isinstance(self.model.head, MixtureHead)

    def predict(self, inputs: Any, n_best: int = 1, steps: int | None = None) -> Forecast | list[Forecast]:
        """How one track goes on, or each of several: a Track, columns by name, or rows of the features in their
        order; a path is a file of tracks."""
        if isinstance(inputs, str | Path):
            problems = Problems()
            found = list(self.stream(self.read([str(inputs)], problems), n_best, steps))
            if problems.count:
                raise DataError(f"{inputs} has tracks that cannot be read:\n{problems.summary()}")
            return found
        if isinstance(inputs, list | tuple) and inputs and isinstance(inputs[0], Track | Mapping):
            return list(self.stream(map(self.track_of, inputs), n_best, steps))
        return next(self.stream(iter([self.track_of(inputs)]), n_best, steps))

    def track_of(self, given: Any) -> Track:
        """A track from Python objects."""
        names = self.tracking.names
        if isinstance(given, Mapping):
            for name in names:
                if name not in given:
                    raise DataError(f"A track of this model has the features {', '.join(names)}; '{name}' is missing.")
            values = in_columns({name: given[name] for name in names})
        else:
            values = numbers_of(given.values if isinstance(given, Track) else given, "A track")
        if values.ndim != 2 or values.shape[1] != len(names):
            raise DataError(
                f"A track of this model is rows of {len(names)} numbers ({', '.join(names)}), not an array of the "
                f"shape {values.shape}."
            )
        if np.isinf(values).any():
            raise DataError("A track holds infinite numbers.")
        if not isinstance(given, Track):
            return Track("1", self.tracking.known, values, 1)
        self.refuse_features(given)
        return given

    def refuse_features(self, track: Track) -> None:
        """Its numbers are those of the model, in the same units."""
        names, known = [feature.name for feature in track.features], self.tracking.known
        if names != [*self.tracking.names] or differing(known, track.features):
            own, read = (", ".join(map(str, features)) for features in (track.features, known))
            raise DataError(f"Track '{track.name[:40]}' has the features {own}, and this model reads {read}.")

    def read(self, files: Sequence[str], problems: Problems) -> Iterator[Track]:
        """The tracks of files that have a past to go on from; what is wrong with others goes to `problems`."""
        for track in self.tracking.read(files, problems, absent=True):
            if reason := self.reason_against(track, None):
                file, line = place(problems, track.line)
                problems.add(file, line, reason)
            else:
                yield track

    def ends(self, track: Track) -> tuple[int, int]:
        """Where the past that is read begins and ends: what is to be predicted is empty from there on."""
        if track.past is not None:
            return 0, track.past
        there = np.flatnonzero(~np.isnan(track.values[:, : len(self.tracking.predicts)]).all(-1))
        end = int(there[-1]) + 1 if len(there) else 0
        return max(0, end - self.tracking.past), end

    def reason_against(self, track: Track, steps: int | None) -> str:
        """Why a track cannot be gone on with, or nothing."""
        tracking, (begin, end) = self.tracking, self.ends(track)
        past = track.values[begin:end]
        if not len(past):
            return "no past"
        steps_of_others = len(track) if track.past is None else track.past
        if reason := reason_against_others(track.others, steps_of_others, track.past is not None):
            return reason
        if track.past is None and len(past) < tracking.past:
            return f"{len(past)} steps of a past, and the model reads {tracking.past} (data.past)"
        if tracking.reading.get("missing", "refuse") == "refuse":
            if reason := reason_against(past, track.features, "refuse"):
                return reason
        elif np.isnan(past[:, : len(tracking.predicts)]).all(0).any():
            return "nothing is known of a feature that is predicted"
        if tracking.context and self.known_ahead(track) < (steps or 1):
            names = ", ".join(tracking.context)
            return f"{names} must be known for future steps: give rows behind the past in which they stand"
        return ""

    def known_ahead(self, track: Track) -> int:
        """Future steps for which the context is known."""
        first = len(self.tracking.names) - len(self.tracking.context)
        context = track.values[self.ends(track)[1] :, first:]
        return int((~np.isnan(context).any(-1)).cumprod().sum()) if len(context) else 0

    def asked(self, track: Track, steps: int | None) -> Windows:
        """The end of a track's past, and what is known of its future."""
        if reason := self.reason_against(track, steps):
            raise DataError(f"Track '{track.name[:40]}': {reason}.")
        tracking, (begin, end) = self.tracking, self.ends(track)
        wanted = steps or (self.known_ahead(track) if tracking.context else tracking.future)
        future = np.full((wanted, len(tracking.names)), np.nan)
        if tracking.context:
            first = len(tracking.names) - len(tracking.context)
            future[:, first:] = track.values[end : end + wanted, first:]
        others = tracking.beside(track)[begin:end]
        return Windows((track.name,), np.array([track.line]), track.values[None, begin:end], future[None], others[None])

    def stream(self, tracks: Iterable[Track], n_best: int = 1, steps: int | None = None) -> Iterator[Forecast]:
        """Forecasts in the order of the tracks."""
        self.refuse_unknown(n_best)
        lines, before = iter(tracks), 0
        while read := list(islice(lines, WINDOW)):
            yield from self.answered([self.asked(track, steps) for track in read], before, n_best)
            before += len(read)

    def refuse_unknown(self, n_best: int) -> None:
        """A model that says one future has no others to draw."""
        if not 1 <= n_best <= MOST:
            raise ConfigError(f"n_best must be between 1 and {MOST:,}, not {n_best}.")
        if n_best > 1 and not self.distributed:
            raise ConfigError(
                "This model says one future, the mean of all (model.head.kind = 'points'), so that there are no others "
                "to draw. Leave --n-best out, or train with model.head.kind = 'mixture' (recipe trajectories, scale "
                "mixture)."
            )

    def answered(self, windows: Sequence[Windows], before: int, n_best: int) -> list[Forecast]:
        """One forecast a window, in their order; those of one shape are answered together."""
        found: dict[int, Forecast] = {}
        shapes: dict[tuple[int, ...], list[int]] = {}
        for number, one in enumerate(windows):
            shapes.setdefault((one.past.shape[1], one.future.shape[1], one.others.shape[2]), []).append(number)
        for rows in shapes.values():
            together = joined([windows[row] for row in rows])
            points, logs = self.said(together, [before + row for row in rows], n_best)
            for place_, row in enumerate(rows):
                ways = tuple(Future(points[n, place_], float(logs[n, place_])) for n in range(n_best))
                past = together.past[place_, :, : len(self.tracking.predicts)]
                found[row] = Forecast(together.names[place_], self.tracking.features, past, ways)
        return [found[row] for row in range(len(windows))]

    @torch.inference_mode()
    def said(self, windows: Windows, numbers: Sequence[int], n_best: int = 1) -> tuple[Values, Values]:
        """Points (futures, n, T, features) in the user's units, and log-densities (futures, n); `numbers` are those of
        the tracks, on which alone it depends what is drawn."""
        size = max(1, BATCH // n_best)
        parts = []
        for first in range(0, len(windows), size):
            some = windows.select(np.arange(first, min(first + size, len(windows))))
            told, logs = self.futures(self.batch_of(some), list(numbers[first : first + size]), n_best)
            origin = self.tracking.origin(some.past)
            parts.append((np.stack([self.tracking.points(one, origin) for one in told]), logs))
        return np.concatenate([one for one, _ in parts], 1), np.concatenate([logs for _, logs in parts], 1)

    def batch_of(self, windows: Windows) -> Batch:
        source, target = self.tracking.encoded(windows)
        sides = []
        for side in (source, target):
            lengths: Numbers = np.full(len(windows), side.shape[1], np.int64)
            sides.append((side.reshape(-1, side.shape[-1]), lengths))
        return batch_of(tuple(range(len(windows))), sides[0], sides[1], self.tracking).to(self.device)

    def futures(self, batch: Batch, numbers: list[int], n_best: int) -> tuple[Values, Values]:
        """Points as the model says them (futures, n, T, features), the best first, and their log-densities."""
        first, state = self.begun(batch)
        steps = batch.truth().outputs.values.shape[1]
        head = self.model.head
        points, logs = rollout(self.model.decode, head, first, state, steps, self.how.choice)
        found, densities = [points], [logs]
        if n_best > 1 and isinstance(head, MixtureHead):
            draws = drawn_numbers(self.how.seed, numbers, n_best - 1, steps, first.shape[1]).to(self.device)
            drawn, total = sampled(self.model.decode, head, first, state, steps, draws, self.how.temperature)
            found += drawn.view(len(numbers), n_best - 1, *drawn.shape[1:]).unbind(1)
            densities += total.view(len(numbers), -1).unbind(1)
        return torch.stack(found).cpu().double().numpy(), torch.stack(densities).cpu().double().numpy()

    def begun(self, batch: Batch) -> tuple[Tensor, State]:
        """What is fed first, and the state before it."""
        return batch.truth().inputs.values[:, 0], self.model.start(self.model.encode(batch))


def numbers_of(given: Any, what: str) -> Values:
    """An array of what Python has."""
    try:
        return np.asarray(given, np.float64)
    except (ValueError, TypeError) as error:  # rows of different lengths, or texts
        raise DataError(f"{what} is not numbers, as many in each row: {str(error)[:80]}.") from error


def in_columns(given: Mapping[str, Any]) -> Values:
    """Columns of numbers (steps,) side by side."""
    columns = {name: numbers_of(column, f"Feature '{name}' of a track") for name, column in given.items()}
    shapes = {name: column.shape for name, column in columns.items()}
    if len({*shapes.values()}) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        told = ", ".join(f"'{name}' {shape}" for name, shape in shapes.items())
        raise DataError(f"The columns of a track are rows of numbers, all of one length, not {told}.")
    return np.stack(list(columns.values()), 1)


def joined(windows: Sequence[Windows]) -> Windows:
    """Windows of one shape, one behind the other."""
    if len(windows) == 1:
        return windows[0]
    names = tuple(name for one in windows for name in one.names)
    lines, past, future, others = (
        np.concatenate([getattr(one, part) for one in windows]) for part in ("lines", "past", "future", "others")
    )
    return Windows(names, lines, past, future, others)


def place(problems: Problems, line: int) -> tuple[str, int]:
    """The file and line of a track that was read."""
    file, _, number = place_of(problems.files, line).rpartition(":")
    return file, int(number)
