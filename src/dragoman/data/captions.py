"""Pictures with captions → a gallery and examples on disk, and batches of them."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Batch, Padded
from dragoman.data.chunk import Chunk, Numbers, offsets
from dragoman.data.collate import padded, rows_of, target_of
from dragoman.data.columns import Columns
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, flattened
from dragoman.data.gallery import Gallery, Hanging, hanging
from dragoman.data.pictures import BadPictureError, Fit, Size
from dragoman.data.readers.captions import Captioned
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.lines import Problems
from dragoman.data.store import GALLERY, Store, deal_out, reopened, width_of
from dragoman.data.tokenizers import UNKNOWN, Tokenizer

BLOCK = 2_000  # captions encoded in one call


def with_tag(tag: str, text: str) -> str:
    """A tag is what an answer begins with."""
    return f"<{tag}> {text}" if tag else text


@dataclass(frozen=True)
class Example:
    """One caption of a picture of the gallery."""

    picture: int
    text: str
    line: int


@dataclass
class PictureHanger:
    """Hangs each picture once, whatever the number of its captions; those that cannot be read are left out."""

    gallery: Hanging
    fit: Fit
    problems: Problems
    known: dict[bytes, int | str] = field(default_factory=dict)  # the number of a picture, or why it has none

    def examples(self, captioned: Iterator[Captioned]) -> Iterator[Example]:
        for one in captioned:
            number = self.number(one)
            if isinstance(number, str):
                leave_out(self.problems, one.line, f"the picture is {number}")
                continue
            yield from (Example(number, with_tag(tag, text), one.line) for tag, text in one.captions)

    def number(self, one: Captioned) -> int | str:
        key = hashlib.blake2b(one.place.key(one.picture).encode(errors="surrogateescape"), digest_size=12).digest()
        if key not in self.known:
            try:
                self.known[key] = self.gallery.add(one.place.pixels(one.picture, self.gallery.shape, self.fit))
            except BadPictureError as error:
                self.known[key] = str(error)
        return self.known[key]


@dataclass
class CaptionEncoding:
    """Encodes block after block and keeps count: the source is the number of a picture, the target its caption."""

    tokenizer: Tokenizer
    longest: int
    drop: bool
    read: int = 0
    kept: int = 0
    dropped: int = 0
    truncated: int = 0
    tokens: int = 0
    unknown: int = 0
    longest_seen: int = 0

    def blocks(self, examples: Iterator[Example]) -> Iterator[Chunk]:
        while block := list(islice(examples, BLOCK)):
            self.read += len(block)
            yield self.encode(block)

    def encode(self, block: Sequence[Example]) -> Chunk:
        rows = self.tokenizer.encode([one.text for one in block])
        long = sum(len(row) > self.longest for row in rows)
        self.dropped, self.truncated = self.dropped + long * self.drop, self.truncated + long * (not self.drop)
        pairs = [
            (one, row[: self.longest])
            for one, row in zip(block, rows, strict=True)
            if len(row) <= self.longest or not self.drop
        ]
        target, lengths = flattened([row for _, row in pairs])
        self.kept, self.tokens = self.kept + len(pairs), self.tokens + len(target)
        self.unknown += int(np.count_nonzero(target == UNKNOWN))
        self.longest_seen = max(self.longest_seen, int(lengths.max(initial=0)))
        pictures = np.array([one.picture for one, _ in pairs], np.int64)
        lines = np.array([one.line for one, _ in pairs], np.int64)
        return Chunk(pictures, np.arange(len(pairs) + 1, dtype=np.int64), target, offsets(lengths), lines)

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.kept,
            dropped_long=self.dropped,
            truncated=self.truncated,
            source_tokens=self.kept,
            target_tokens=self.tokens,
            unknown_source=0,
            unknown_target=self.unknown,
            longest_source=1,
            longest_target=self.longest_seen,
            lines=problems.lines,
            bad=problems.count,
        )


def build_captions(
    folder: Path,
    captioned: Iterator[Captioned],
    encoding: CaptionEncoding,
    size: Size,
    fit: Fit,
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None],
    chunk: int = 100_000,
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Decode every picture once and encode its captions, in bounded memory; `judge` may refuse before the store takes
    its place. What is remembered of a picture is its number: some hundred bytes."""
    columns = Columns("uint32", width_of(encoding.tokenizer))
    with draft_of(folder) as draft:
        with hanging(draft / GALLERY, size) as gallery, columns.writing(draft / "spool") as writer:
            for block in encoding.blocks(PictureHanger(gallery, fit, problems).examples(captioned)):
                writer.append(block)
                progress(encoding.read)
        counts = encoding.counts(problems)
        judge(counts)
        deal_out(draft, columns, counts, signature, problems, "captions", chunk)
    return reopened(folder, signature)


def collate_captions(chunk: Chunk, indices: Numbers, gallery: Gallery | None) -> Batch:
    """The batch of these examples: pictures, and START before each caption."""
    assert gallery is not None  # noqa: S101 (such a store has one)
    pictures = gallery.read(chunk.source[chunk.source_offsets[indices]])
    outputs, real = padded(*rows_of(chunk.target, chunk.target_offsets, indices))
    missing = real.size - int(np.count_nonzero(real))
    lines = tuple(chunk.lines[indices].tolist())
    return Batch(lines, {"source": as_source(pictures)}, target_of(outputs, real), missing)


def collate_pictures(pictures: NDArray[np.uint8], targets: Sequence[Sequence[int]] | None = None) -> Batch:
    """A batch to be described, or to be scored: the examples are numbered as they come."""
    sources, numbers = {"source": as_source(pictures)}, tuple(range(len(pictures)))
    return Batch(numbers, sources, None if targets is None else target_of(*padded(*flattened(targets))))


def as_source(pictures: NDArray[np.uint8]) -> Padded:
    """One picture a row."""
    return Padded(torch.from_numpy(pictures)[:, None], torch.ones(len(pictures), 1, dtype=torch.bool))
