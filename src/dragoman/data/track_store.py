"""Pasts and futures → examples of numbers on disk, and batches of them."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Batch, Padded, Target
from dragoman.data.chunk import Chunk, Ids, Numbers, offsets
from dragoman.data.collate import rows_of
from dragoman.data.columns import Columns
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts
from dragoman.data.readers.futures import Futures, Turns
from dragoman.data.readers.lines import PLACES, Problems, place_of
from dragoman.data.readers.pairs import SplitName
from dragoman.data.store import Store, deal_out, reopened
from dragoman.data.tracking import Floats, Tracking, Windows, usable
from dragoman.seeds import key


@dataclass
class Cutting:
    """Cuts the tracks of a split into pasts and futures, and keeps count of those that give none."""

    data: Futures
    tracking: Tracking
    tracks: int = 0
    windows: int = 0
    left_out: dict[str, int] = field(default_factory=dict)  # tracks or windows, by the reason
    places: dict[str, list[str]] = field(default_factory=dict)  # the first few of each reason
    problems: Problems = field(default_factory=Problems)

    def stream(self, name: SplitName) -> Iterator[Windows]:
        """All examples of a split, in blocks."""
        for track in self.tracking.read(self.data.files(name), self.problems):
            if not self.data.in_split(track, name):
                continue
            self.tracks += 1
            before = self.windows
            for some in self.tracking.cut(track, self.data.stride):
                good = usable(some, len(self.tracking.predicts))
                self.note("windows without a known past or future of what is predicted", track.line, int((~good).sum()))
                if good.any():
                    self.windows += int(good.sum())
                    yield some.select(np.flatnonzero(good))
            if self.windows == before:
                self.note(self.short(track.past), track.line, 1)

    def short(self, given: int | None) -> str:
        if given is not None:
            return "tracks with an empty past or an empty future"
        steps = self.data.past + self.data.future
        return f"tracks shorter than data.past + data.future = {steps} steps"

    def note(self, reason: str, line: int, count: int) -> None:
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count
            places = self.places.setdefault(reason, [])
            if len(places) < PLACES:
                places.append(place_of(self.problems.files, line))


@dataclass
class TrackEncoding:
    """Encodes block after block and keeps count."""

    tracking: Tracking
    pairs: int = 0
    source_steps: int = 0
    target_steps: int = 0
    longest_source: int = 0
    longest_target: int = 0

    def encode(self, windows: Windows) -> Chunk:
        source, target = self.tracking.encoded(windows)
        size, (past, future) = len(windows), (source.shape[1], target.shape[1])
        self.pairs += size
        self.source_steps, self.target_steps = self.source_steps + size * past, self.target_steps + size * future
        self.longest_source, self.longest_target = max(self.longest_source, past), max(self.longest_target, future)
        flat = [side.reshape(-1, side.shape[-1]) for side in (source, target)]
        lengths = [np.full(size, steps, np.int64) for steps in (past, future)]
        return Chunk(flat[0], offsets(lengths[0]), flat[1], offsets(lengths[1]), windows.lines.astype(np.int64))

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.pairs,
            dropped_long=0,
            truncated=0,
            source_tokens=self.source_steps,
            target_tokens=self.target_steps,
            unknown_source=0,
            unknown_target=0,
            longest_source=self.longest_source,
            longest_target=self.longest_target,
            lines=problems.lines,
            bad=problems.count,
        )


def build_tracks(
    folder: Path,
    windows: Iterator[Windows],
    tracking: Tracking,
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None],
    chunk: int = 100_000,
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Encode examples of any number in bounded memory; `judge` may refuse before the store takes its place."""
    columns = Columns("float32", "float32", *tracking.widths)
    encoding = TrackEncoding(tracking)
    with draft_of(folder) as draft:
        with columns.writing(draft / "spool") as writer:
            for block in windows:
                writer.append(encoding.encode(block))
                progress(encoding.pairs)
        counts = encoding.counts(problems)
        judge(counts)
        deal_out(draft, columns, counts, signature, problems, "tracks", chunk)
    return reopened(folder, signature)


@dataclass(frozen=True)
class Turning:
    """How stored numbers become batches: which column is what, and by which angle points are turned in an epoch."""

    tracking: Tracking
    turns: Turns = "none"
    noise: float = 0.0  # in the unit of the data
    seed: int = 0
    epoch: int = 0

    def in_epoch(self, epoch: int) -> "Turning":
        return replace(self, epoch=epoch)

    def turned(self, side: Floats, lines: Numbers, lengths: Numbers, pairs: NDArray[Any]) -> Floats:
        """Steps of all examples, with these pairs of columns turned by the angle of each example."""
        if self.turns == "none":
            return side
        drawn = np.array([key(self.seed, "turn", self.epoch, line) for line in lines.tolist()])
        angles, mirrored = drawn * (2 * math.pi / 2**63), np.ones(len(drawn))
        if self.turns == "right":
            angles, mirrored = (drawn % 4) * (math.pi / 2), np.where(drawn // 4 % 2, -1.0, 1.0)
        parts = (np.cos(angles), np.sin(angles), mirrored)
        cosine, sine, sign = (np.repeat(one, lengths).astype(np.float32)[:, None] for one in parts)
        x, y = side[:, pairs[:, 0]] * sign, side[:, pairs[:, 1]]
        found = side.copy()
        found[:, pairs[:, 0]], found[:, pairs[:, 1]] = cosine * x - sine * y, sine * x + cosine * y
        return found

    def noisy(self, side: Floats, lines: Numbers, lengths: Numbers) -> Floats:
        """Pasts with noise in all their points but the last, as they are told; what is missing stays missing."""
        if not self.noise:
            return side
        size = len(self.tracking.predicts)
        parts = []
        for line, length in zip(lines.tolist(), lengths.tolist(), strict=True):
            generator = np.random.Generator(np.random.Philox(key=key(self.seed, "noise", self.epoch, line)))
            drawn = generator.normal(0.0, self.noise, (length, size))
            drawn[-1] = 0.0
            parts.append(np.diff(drawn, axis=0, prepend=0.0) if self.tracking.frame == "steps" else drawn)
        found = side.copy()
        found[:, :size] += np.concatenate(parts) / np.array(self.tracking.scale.deviations[:size])
        return found

    @property
    def source_pairs(self) -> NDArray[Any]:
        """Where the two predicted features stand in a step of the past: once, and twice for each neighbour."""
        first, beside = self.tracking.source_width, self.tracking.neighbours * self.tracking.neighbours_width
        starts = [0, *range(first, first + beside, 2)]
        return np.array([[start, start + 1] for start in starts])

    @property
    def target_pairs(self) -> NDArray[Any]:
        """The same in a step of the future, and in its way from the past."""
        starts = [0, *([self.tracking.path_column] if self.tracking.has_gaps else [])]
        return np.array([[start, start + 1] for start in starts])


def collate_tracks(chunk: Chunk, indices: Numbers, how: Turning) -> Batch:
    """The batch of these examples of a chunk."""
    source, past = rows_of(chunk.source, chunk.source_offsets, indices)
    target, future = rows_of(chunk.target, chunk.target_offsets, indices)
    lines = chunk.lines[indices]
    source = how.turned(how.noisy(source, lines, past), lines, past, how.source_pairs)
    target = how.turned(target, lines, future, how.target_pairs)
    return batch_of(tuple(lines.tolist()), (source, past), (target, future), how.tracking)


def batch_of(
    examples: tuple[int, ...], source: tuple[Ids, Numbers], target: tuple[Ids, Numbers], tracking: Tracking
) -> Batch:
    """What is fed first is the last step of the past, as far as it is predicted; then each true step."""
    values, mask = padded(*source)
    outputs, real = padded(*target)
    size, width = len(tracking.predicts), tracking.source_width
    last = values[np.arange(len(examples)), source[1] - 1, :size]
    inputs = np.concatenate([last[:, None], outputs[:, :-1, :size]], 1)
    sources = {"source": part(values[..., :width], mask)}
    if tracking.neighbours:
        sources["neighbours"] = part(values[..., width:], mask)
    if tracking.context:
        sources["context"] = part(outputs[..., size : tracking.path_column], real)
    missing = mask.size + real.size - int(np.count_nonzero(mask)) - int(np.count_nonzero(real))
    expected = part(outputs[..., :size], real)
    fed = Padded(torch.from_numpy(inputs), expected.mask)
    gaps = tracking.has_gaps and bool(np.isnan(outputs[..., :size]).any())
    path = part(outputs[..., tracking.path_column :], real) if gaps else None
    return Batch(examples, sources, Target(fed, expected, torch.from_numpy(np.flatnonzero(real)), path), missing)


def padded(flat: Ids, lengths: Numbers) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Rows with zeros behind their last step, and which steps are real."""
    mask = np.arange(int(lengths.max(initial=1))) < lengths[:, None]
    values = np.zeros((*mask.shape, flat.shape[-1]), np.float32)
    values[mask] = flat
    return values, mask


def part(values: NDArray[np.float32], mask: NDArray[np.bool_]) -> Padded:
    return Padded(torch.from_numpy(np.ascontiguousarray(values)), torch.from_numpy(mask))
