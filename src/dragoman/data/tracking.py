"""What a model of tracks is told: which features, from where they are measured, and how large they are."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from dragoman.data.readers.futures import Frame, Futures
from dragoman.data.readers.lines import WITHIN, Problems
from dragoman.data.readers.track import Feature, Track, Values, Wanted
from dragoman.data.readers.tracks import read_tracks, refuse_units_other_than
from dragoman.data.scales import Moments, Scale
from dragoman.errors import StorageError
from dragoman.storage import read_record, write_record

BLOCK = 2_000  # windows of a track at a time
READING = ("format", "id_field", "missing")

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Windows:
    """Examples of one length side by side, in the user's units: features stand in the order of `Tracking.names`."""

    names: tuple[str, ...]  # of their tracks
    lines: NDArray[np.int64]  # on which each begins; where a line is a whole track, WITHIN times its first step more
    past: Values  # (n, S, features)
    future: Values  # (n, T, features)
    others: Values  # (n, S, neighbours, predicted features)

    def __len__(self) -> int:
        return len(self.names)

    def select(self, rows: NDArray[Any]) -> "Windows":
        names = tuple(self.names[row] for row in rows)
        return Windows(names, self.lines[rows], self.past[rows], self.future[rows], self.others[rows])


@dataclass(frozen=True)
class Tracking:
    """Learned once from the training data and kept beside the weights, which know it by its hash."""

    scale: Scale  # of predicted features (as they are told), of those that are read, of the context, of neighbours
    predicts: tuple[str, ...]
    reads: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    neighbours: int = 0
    past: int = 8
    future: int = 12
    frame: Frame = "last"
    reading: Mapping[str, Any] = field(default_factory=dict)  # settings of the data that say how files are read
    position: bool = False  # whether the points of the past are read as they stand in the file, too

    @property
    def names(self) -> tuple[str, ...]:
        """All features of a file that are read, in this order."""
        return (*self.predicts, *self.reads, *self.context)

    @property
    def features(self) -> tuple[Feature, ...]:
        """What is predicted."""
        return self.scale.features[: len(self.predicts)]

    @property
    def known(self) -> tuple[Feature, ...]:
        """All features of a file that are read, with their units."""
        return self.scale.features[: len(self.names)]

    @property
    def unit(self) -> str:
        """Of all that is predicted, if it is one."""
        units = {feature.unit for feature in self.features}
        return units.pop() if len(units) == 1 else ""

    @property
    def source_width(self) -> int:
        """Numbers a step of the past, without neighbours."""
        return len(self.names) + (len(self.predicts) if self.position else 0)

    @property
    def neighbours_width(self) -> int:
        """Numbers a neighbour and step: where it is, seen from here, and its step from the point before."""
        return 2 * len(self.predicts)

    @property
    def widths(self) -> tuple[int, int]:
        """Numbers a step of an encoded past, and of an encoded future."""
        source = self.source_width + self.neighbours * self.neighbours_width
        return source, self.path_column + (len(self.predicts) if self.has_gaps else 0)

    @property
    def has_gaps(self) -> bool:
        """Whether steps may be missing, so that a point behind them is known by its whole way from the past alone."""
        return self.frame == "steps" and self.reading.get("missing") == "allow"

    @property
    def path_column(self) -> int:
        """Where these ways begin in an encoded future."""
        return len(self.predicts) + len(self.context)

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.as_record(), sort_keys=True).encode()).hexdigest()

    def as_record(self) -> dict[str, Any]:
        """Without position where it is not read, as records of older models are."""
        return {name: value for name, value in asdict(self).items() if name != "position" or value}

    def wanted(self, absent: bool = False) -> Wanted:
        """How files are read."""
        how = {name: value for name, value in self.reading.items() if name in READING}
        missing = "allow" if absent else how.get("missing", "refuse")
        return Wanted(**{**how, "features": self.names, "missing": missing, "absent": absent})

    def read(self, files: Sequence[str], problems: Problems, absent: bool = False) -> Iterator[Track]:
        """The tracks of files, in the units that were learned."""
        wanted = self.wanted(absent)
        refuse_units_other_than(self.known, files, wanted)
        yield from read_tracks(files, wanted, problems)

    def cut(self, track: Track, stride: int) -> Iterator[Windows]:
        """The windows of a track, or the one past and future that it is given as; none if it is too short."""
        if track.past is not None:
            if 0 < track.past < len(track):
                past, future = track.values[: track.past], track.values[track.past :]
                others = self.beside(track)
                yield Windows((track.name,), np.array([track.line]), past[None], future[None], others[None])
            return
        steps = self.past + self.future
        starts = np.arange(0, len(track) - steps + 1, stride)
        everything = self.beside(track)
        for first in range(0, len(starts), BLOCK):
            some = starts[first : first + BLOCK]
            seen = np.moveaxis(sliding_window_view(track.values, steps, 0)[some], -1, 1)
            others = np.moveaxis(sliding_window_view(everything, self.past, 0)[some], -1, 1)
            lines = track.line + some * (1 if track.step_a_line else WITHIN)
            yield Windows((track.name,) * len(some), lines, seen[:, : self.past], seen[:, self.past :], others)

    def beside(self, track: Track) -> Values:
        """Predicted features of the tracks beside one (steps, neighbours, features), as far as they are known: those of
        its past, where it is given as one, else of all its steps."""
        steps = len(track) if track.past is None else track.past
        found = np.full((steps, len(track.others), len(self.predicts)), np.nan)
        for number, other in enumerate(track.others):
            found[steps - len(other) :, number] = other[:, : len(self.predicts)]
        return found

    def framed(self, windows: Windows) -> tuple[Values, Values]:
        """Pasts (n, S, columns) and futures (n, T, columns) as the model is told them, not yet scaled."""
        size = len(self.predicts)
        points = np.concatenate([windows.past[..., :size], windows.future[..., :size]], 1)
        steps, origin = windows.past.shape[1], self.origin(windows.past)
        if self.frame == "last":
            points = points - origin[:, None]
        elif self.frame == "steps":
            points = np.diff(points, axis=1, prepend=np.nan)
        neighbours = self.seen(windows)
        places = windows.past[..., : size if self.position else 0]
        past = np.concatenate([points[:, :steps], windows.past[..., size:], places, neighbours], -1)
        context = windows.future[..., len(self.names) - len(self.context) :]
        return past, np.concatenate([points[:, steps:], context], -1)

    def origin(self, past: Values) -> Values:
        """The last known value of each predicted feature (n, features)."""
        points = past[..., : len(self.predicts)]
        known = ~np.isnan(points)
        last = past.shape[1] - 1 - np.argmax(known[:, ::-1], 1)
        return np.take_along_axis(points, last[:, None], 1)[:, 0]

    def seen(self, windows: Windows) -> Values:
        """The nearest at the end of the past come first; where there are fewer, the others are missing."""
        rows, steps = windows.past.shape[:2]
        found = np.full((rows, steps, self.neighbours, self.neighbours_width), np.nan)
        others, size = windows.others, len(self.predicts)
        if self.neighbours and others.shape[2]:
            apart = others - windows.past[:, :, None, :size]
            distance = np.square(apart[:, -1]).sum(-1)
            order = np.argsort(np.where(np.isnan(distance), np.inf, distance), 1, kind="stable")[:, : self.neighbours]
            places = order[:, None, :, None]
            count = order.shape[1]
            moved = np.diff(others, axis=1, prepend=np.nan)
            found[:, :, :count, :size] = np.take_along_axis(apart, places, 2)
            found[:, :, :count, size:] = np.take_along_axis(moved, places, 2)
        return found.reshape(rows, steps, -1)

    def encoded(self, windows: Windows) -> tuple[Floats, Floats]:
        """The same, scaled: what is stored and learned."""
        past, future = self.framed(windows)
        source, target = self.source_scale.scaled(past), self.target_scale.scaled(future)
        return source, np.concatenate([target, self.path(windows)], -1) if self.has_gaps else target

    def path(self, windows: Windows) -> Floats:
        """What scaled steps sum up to until each known point of a future, from the last known one of the past:
        x_t − x_0 = Σ_t (deviation z_t + mean), so that Σ_t z_t = (x_t − x_0 − t mean) / deviation."""
        size, steps = len(self.predicts), np.arange(1, windows.future.shape[1] + 1)[:, None]
        mean, deviation = (np.array(part[:size]) for part in (self.scale.means, self.scale.deviations))
        far = windows.future[..., :size] - self.origin(windows.past)[:, None]
        summed: Floats = ((far - steps * mean) / deviation).astype(np.float32)
        return summed

    @cached_property
    def source_scale(self) -> Scale:
        beside = list(self.scale.names[self.source_width :]) * self.neighbours  # all neighbours are alike
        return self.scale.of((*self.scale.names[: self.source_width], *beside))

    @cached_property
    def target_scale(self) -> Scale:
        return self.scale.of((*self.predicts, *self.context))

    def points(self, told: NDArray[Any], origin: Values) -> Values:
        """What the model says (n, T, predicted) in the user's units and place."""
        plain = self.scale.of(self.predicts).unscaled(told)
        if self.frame == "absolute":
            return plain
        return origin[:, None] + (plain if self.frame == "last" else np.cumsum(plain, 1))

    def errors(self, said: NDArray[Any], true: NDArray[Any], path: NDArray[Any] | None = None) -> Values:
        """By how much points are missed in the user's units, of what the model says and what is true (n, T, predicted);
        `path` is what true steps sum up to, where some are missing."""
        missed = np.cumsum(said, 1, np.float64) - path if path is not None else np.asarray(said - true, np.float64)
        plain: Values = missed * np.array(self.scale.deviations[: len(self.predicts)])
        return np.cumsum(plain, 1) if self.frame == "steps" and path is None else plain

    def write(self, path: Path) -> None:
        write_record(path, self.as_record())

    @staticmethod
    def load(path: Path) -> "Tracking":
        record = read_record(path)
        try:
            names = {name: tuple(record[name]) for name in ("predicts", "reads", "context")}
            scale = Scale.from_record(record["scale"], path)
            found = Tracking(**{**record, **names, "scale": scale})
            numbers = (found.neighbours, found.past, found.future)
            well = all(isinstance(number, int) and 0 <= number <= 100_000 for number in numbers)
            well = well and found.frame in get_args(Frame) and isinstance(found.reading, dict)
            well = well and bool(found.predicts) and scale.names[: len(found.names)] == found.names
            extra = found.neighbours_width if found.neighbours else 0
            well = well and isinstance(found.position, bool) and scale.size == found.source_width + extra
            well = well and found.past > 0 and found.future > 0
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{path} is damaged: it does not say what tracks are. Copy it again.") from error
        if not well:
            raise StorageError(f"{path} is damaged: its features do not fit together. Copy it again.")
        return found


def usable(windows: Windows, predicted: int) -> NDArray[np.bool_]:
    """Which have a last known value of everything that is predicted, and something to learn."""
    known, ahead = ~np.isnan(windows.past[..., :predicted]), ~np.isnan(windows.future[..., :predicted])
    found: NDArray[np.bool_] = np.logical_and(known.any(1).all(-1), ahead.any((1, 2)))
    return found


def tracking_of(data: Futures, features: Sequence[Feature]) -> Tracking:
    """Before its scale is learned: features that no setting names are predicted, if none are said to be."""
    named = {feature.name: feature for feature in features}
    others = (*data.reads, *data.context)
    predicts = data.predicts or tuple(name for name in named if name not in others)
    names = (*predicts, *others)
    beside = tuple(f"{what} of a neighbour's {name}" for what in ("place", "step") for name in predicts)
    places = [Feature(f"place of {name}", named[name].unit) for name in predicts if data.position]
    everything = (*(named[name] for name in names), *places, *map(Feature, beside if data.neighbours else ()))
    plain = Scale(everything, (0.0,) * len(everything), (1.0,) * len(everything))
    reading = {name: getattr(data, name) for name in READING}
    how = (data.neighbours, data.past, data.future, data.frame, reading)
    return Tracking(plain, tuple(predicts), data.reads, data.context, *how, data.position)


def learn_tracking(plain: Tracking, windows: Iterator[Windows], together: bool) -> Tracking:
    """With mean and deviation of all that is told; what is predicted has one deviation if it can be turned."""
    size, width = len(plain.predicts), plain.neighbours_width
    moments = Moments.of(plain.scale.size)
    for some in windows:
        past, future = plain.framed(some)
        everything = np.full((past.size // past.shape[-1] + future.size // future.shape[-1], plain.scale.size), np.nan)
        rows = past.reshape(-1, past.shape[-1])
        everything[: len(rows), : plain.source_width] = rows[:, : plain.source_width]
        ahead = future.reshape(-1, future.shape[-1])
        everything[len(rows) :, :size] = ahead[:, :size]
        everything[len(rows) :, len(plain.names) - len(plain.context) : len(plain.names)] = ahead[:, size:]
        moments.add(everything)
        if plain.neighbours:
            beside = np.full((len(rows) * plain.neighbours, plain.scale.size), np.nan)
            beside[:, plain.source_width :] = rows[:, plain.source_width :].reshape(-1, width)
            moments.add(beside)
    groups = [tuple(range(size))] if together else []
    if plain.neighbours:
        first = plain.source_width
        groups += [tuple(range(first, first + size)), tuple(range(first + size, first + width))]
    return replace(plain, scale=moments.scale(plain.scale.features, groups))
