"""Frames with labels → examples on disk, and batches of them: no START and no END, every frame is a step."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.columns import DEALT, Columns
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, flattened
from dragoman.data.gallery import Hanging, hanging
from dragoman.data.labelled import side_by_side
from dragoman.data.labelling import Labelling
from dragoman.data.pictures import BadPictureError, Fit, Size, shape_of
from dragoman.data.readers.clips import leave_out_clip, pixels_of_clip
from dragoman.data.readers.frames import Longer
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.data.scales import Scale
from dragoman.data.store import GALLERY, Store, deal_out, reopened

CHUNK = 16_000_000  # numbers of a chunk, which is in memory as a whole
BLOCK = 1_000_000  # numbers that are encoded in one call
EXAMPLES = 100_000  # of a chunk at most


@dataclass(frozen=True)
class NumberFrames:
    """Numbers, scaled."""

    scale: Scale
    type: str = "float32"

    @property
    def width(self) -> int:
        return self.scale.size

    @property
    def hash(self) -> str:
        return self.scale.hash

    def __call__(self, one: Series) -> NDArray[np.float32]:
        """As a model reads them."""
        assert not isinstance(one.frames, tuple)  # noqa: S101 (these are no pictures)
        return self.scale.scaled(one.frames)

    def stored(self, one: Series) -> NDArray[np.float32]:
        return self(one)


@dataclass(frozen=True)
class PictureFrames:
    """Pictures: on disk their numbers in a gallery."""

    size: Size
    fit: Fit
    type: str = "uint32"
    width: int = 0

    @property
    def hash(self) -> str:
        return f"{self.size} {self.fit}"

    def __call__(self, one: Series) -> NDArray[np.uint8]:
        """Pixels, from files or from memory; what has been laid before is left as it is."""
        frames = one.frames
        if (
            isinstance(frames, np.ndarray)
            and frames.dtype == np.uint8
            and frames.shape[1:] == (*shape_of(self.size), 3)
        ):
            return frames
        return pixels_of_clip(one, self.size, self.fit)

    def stored(self, one: Series) -> NDArray[Any]:
        assert not isinstance(one.frames, tuple)  # noqa: S101 (they hang in a gallery)
        return one.frames

    def hung(self, parts: list[Series], gallery: Hanging, problems: Problems) -> list[Series]:
        """The parts of a clip by the numbers of their pictures; none if a picture cannot be read."""
        try:
            pixels = [self(part) for part in parts]
        except BadPictureError as error:
            leave_out_clip(problems, parts[0].line, error)
            return []
        numbers = [np.array([gallery.add(picture) for picture in each], np.int64) for each in pixels]
        return [replace(part, frames=frames) for part, frames in zip(parts, numbers, strict=True)]


Lay = NumberFrames | PictureFrames
Parts = Callable[[list[Series]], list[Series]]


@dataclass
class FrameEncoding:
    """Encodes block after block and keeps count. The target of an example is its label, the bits of its number, or for
    each frame its tag, from 1."""

    lay: Lay
    labelling: Labelling
    longest: int
    longer: Longer
    read: int = 0
    kept: int = 0
    dropped: int = 0
    truncated: int = 0
    frames: int = 0
    targets: int = 0
    longest_seen: int = 0

    def blocks(self, series: SeriesStream, ready: Parts = lambda parts: parts) -> Iterator[Chunk]:
        """What `ready` makes of a sequence is done after it is cut, since no other pictures have to be read."""
        block, numbers = list[Series](), 0
        for one in series:
            self.read += 1
            parts = ready(list(self.within(one)))
            self.truncated += bool(parts) and len(one) > self.longest
            for part in parts:
                block.append(part)
                numbers += len(part) * max(1, self.lay.width)
            if numbers > BLOCK:
                yield self.encode(block)
                block, numbers = [], 0
        if block:
            yield self.encode(block)

    def within(self, one: Series) -> Iterator[Series]:
        """As long as may be: whole, cut, in parts, or not at all."""
        if len(one) <= self.longest:
            yield one
            return
        if self.longer == "drop":
            self.dropped += 1
            return
        tags = self.labelling.what == "tags"
        for start in range(0, len(one) if tags and self.longer == "split" else 1, self.longest):
            here = slice(start, start + self.longest)
            yield replace(one, frames=one.frames[here], labels=one.labels[here] if tags else one.labels)

    def encode(self, block: Sequence[Series]) -> Chunk:
        source = np.concatenate([self.lay.stored(one) for one in block])
        lengths = np.array([len(one) for one in block], np.int64)
        target, target_lengths = flattened([self.target(one) for one in block])
        self.kept += len(block)
        self.frames += len(source)
        self.targets += len(target)
        self.longest_seen = max(self.longest_seen, int(lengths.max()))
        lines = np.array([one.line for one in block], np.int64)
        return Chunk(source, offsets(lengths), target, offsets(target_lengths), lines)

    def target(self, one: Series) -> list[int]:
        labelling = self.labelling
        if labelling.what == "numbers":
            return [int(np.float32(labelling.scaled(float(one.labels[0]))).view(np.uint32))]
        return [labelling.numbers[label] + (labelling.what == "tags") for label in one.labels]

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.kept,
            dropped_long=self.dropped,
            truncated=self.truncated,
            source_tokens=self.frames,
            target_tokens=self.targets,
            unknown_source=0,
            unknown_target=0,
            longest_source=self.longest_seen,
            longest_target=self.longest_seen if self.labelling.what == "tags" else 1,
            lines=problems.lines,
            bad=problems.count,
        )


def build_frames(
    folder: Path,
    series: SeriesStream,
    encoding: FrameEncoding,
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None],
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Encode sequences of any number in bounded memory; `judge` may refuse before the store takes its place."""
    columns = Columns(encoding.lay.type, "uint32", source_width=encoding.lay.width)
    with draft_of(folder) as draft:
        with ExitStack() as stack, columns.writing(draft / "spool") as writer:
            if isinstance(encoding.lay, PictureFrames):
                gallery = stack.enter_context(hanging(draft / GALLERY, encoding.lay.size))
                blocks = encoding.blocks(series, partial(encoding.lay.hung, gallery=gallery, problems=problems))
            else:
                blocks = encoding.blocks(series)
            for block in blocks:
                writer.append(block)
                progress(encoding.read)
        counts = encoding.counts(problems)
        judge(counts)
        each = max(1.0, counts.source_tokens / counts.pairs * max(1, encoding.lay.width))
        chunk, hand = (max(1, min(most, math.ceil(CHUNK / each))) for most in (EXAMPLES, DEALT))
        deal_out(draft, columns, counts, signature, problems, encoding.labelling.what, chunk, hand)
    return reopened(folder, signature)


def collate_frames(rows: Sequence[NDArray[Any]]) -> Batch:
    """A batch to be labelled: the examples are numbered as they come."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return Batch(tuple(range(len(rows))), side_by_side(np.concatenate(rows), lengths)[0])
