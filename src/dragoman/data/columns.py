"""Examples as five files of plain numbers, read and written in pieces."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedWriter
from itertools import pairwise
from pathlib import Path

import numpy as np

from dragoman.data.chunk import Chunk, Ids, Numbers, offsets
from dragoman.data.permutation import permutation
from dragoman.errors import DamagedStoreError

DEALT = 8_192  # examples in memory while they are dealt out to chunks

Place = tuple[int, int, int]  # the number of an example, of its first source token, of its first target token


@dataclass(frozen=True)
class Columns:
    """What a step is on either side: a number of this type, or so many of them; the rest of the format is fixed."""

    source: str
    target: str
    source_width: int = 0  # numbers a step; 0: one that stands for a symbol
    target_width: int = 0

    @property
    def types(self) -> dict[str, str]:
        lengths = {"source_lengths": "uint32", "target_lengths": "uint32"}
        return {"source": self.source, "target": self.target, **lengths, "lines": "int64"}

    @property
    def widths(self) -> dict[str, int]:
        """Of the columns whose steps are vectors."""
        return {name: width for name in ("source", "target") if (width := getattr(self, f"{name}_width"))}

    def sizes(self, folder: Path) -> dict[str, int]:
        """Bytes of each file as it is."""
        return {name: file_of(folder, name).stat().st_size for name in self.types}

    def expected(self, end: Place) -> dict[str, int]:
        """Bytes of each file as it should be."""
        counts = dict(zip(self.types, (end[1], end[2], end[0], end[0], end[0]), strict=True))
        return {name: count * self.bytes_of(name) for name, count in counts.items()}

    def bytes_of(self, name: str) -> int:
        """Bytes of a step."""
        return np.dtype(self.types[name]).itemsize * self.widths.get(name, 1)

    def read(self, folder: Path, start: Place, size: int, sums: Mapping[str, int] | None = None) -> Chunk:
        """`size` examples from a place on; what differs from its checksum is damage."""
        known = sums or {}

        def column(name: str, first: int, count: int) -> Ids:
            return self.column(folder, name, first, count, known.get(name))

        source = offsets(column("source_lengths", start[0], size).astype(np.int64))
        target = offsets(column("target_lengths", start[0], size).astype(np.int64))
        return Chunk(
            column("source", start[1], int(source[-1])),
            source,
            column("target", start[2], int(target[-1])),
            target,
            column("lines", start[0], size),
        )

    def column(self, folder: Path, name: str, first: int, count: int, checksum: int | None = None) -> Ids:
        kind, path, width = np.dtype(self.types[name]), file_of(folder, name), self.widths.get(name, 1)
        try:
            found = np.fromfile(path, kind, count * width, offset=first * self.bytes_of(name))
        except OSError as error:
            raise DamagedStoreError(folder, f"{path} cannot be read: {error.strerror or error}") from error
        if len(found) != count * width:
            raise DamagedStoreError(folder, f"{path} is damaged: it ends too early")
        if checksum is not None and zlib.crc32(found.data) != checksum:
            raise DamagedStoreError(folder, f"{path} is damaged: it has changed since it was written")
        return found.reshape(count, width) if name in self.widths else found

    def sums(self, folder: Path, starts: Sequence[Place]) -> list[dict[str, int]]:
        """The checksum of every column of every chunk."""
        found = []
        for start, end in pairwise(starts):
            parts = Writer(self, {}).parts(self.read(folder, start, end[0] - start[0]))
            found.append({name: zlib.crc32(numbers.data) for name, numbers in parts.items()})
        return found

    @contextmanager
    def writing(self, folder: Path) -> Iterator["Writer"]:
        """New files to fill."""
        folder.mkdir(exist_ok=True)
        with ExitStack() as stack:
            files = {name: stack.enter_context(file_of(folder, name).open("wb")) for name in self.types}
            yield Writer(self, files)


@dataclass(frozen=True)
class Writer:
    """Open files that examples are written to, at the end or at a place."""

    columns: Columns
    files: dict[str, BufferedWriter]

    def append(self, examples: Chunk) -> None:
        for name, numbers in self.parts(examples).items():
            self.files[name].write(numbers.tobytes())

    def put(self, examples: Chunk, place: Place) -> Place:
        """Write at a place; the place behind it."""
        rows = {"source": place[1], "target": place[2]}
        for name, numbers in self.parts(examples).items():
            self.files[name].seek(rows.get(name, place[0]) * self.columns.bytes_of(name))
            self.files[name].write(numbers.tobytes())
        return place[0] + examples.size, place[1] + len(examples.source), place[2] + len(examples.target)

    def parts(self, examples: Chunk) -> dict[str, Ids]:
        named = {
            "source": examples.source,
            "target": examples.target,
            "source_lengths": examples.source_lengths,
            "target_lengths": examples.target_lengths,
            "lines": examples.lines,
        }
        return {name: numbers.astype(self.columns.types[name], copy=False) for name, numbers in named.items()}


def file_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.bin"


def deal(columns: Columns, spool: Path, folder: Path, total: int, chunk: int, hand: int = 0) -> list[Place]:
    """Lay a spool out in chunks of about `chunk` examples, each with a share of every part of the corpus.

    What is in memory is never longer than a hand: each is shuffled and dealt out to the chunks like cards.
    """
    chunks = max(1, round(total / chunk))
    places = starts(columns, spool, total, chunks, hand)
    cursors = places[:-1]
    with columns.writing(folder) as writer:
        for examples, dealt in hands(columns, spool, total, chunks, hand):
            for number in range(chunks):
                rows = np.flatnonzero(dealt == number)
                cursors[number] = writer.put(examples.select(rows), cursors[number])
    return places


def starts(columns: Columns, spool: Path, total: int, chunks: int, hand: int = 0) -> list[Place]:
    """Where each chunk will begin, and where the last one ends."""
    sums = np.zeros((chunks, 3), np.int64)
    for examples, dealt in hands(columns, spool, total, chunks, hand):
        for side, weights in enumerate((np.ones_like(dealt), examples.source_lengths, examples.target_lengths)):
            sums[:, side] += np.bincount(dealt, weights, chunks).astype(np.int64)
    ends = np.concatenate([np.zeros((1, 3), np.int64), np.cumsum(sums, axis=0)])
    return [(int(example), int(source), int(target)) for example, source, target in ends]


def hands(columns: Columns, spool: Path, total: int, chunks: int, hand: int = 0) -> Iterator[tuple[Chunk, Numbers]]:
    """Block by block: examples, and the chunk that each goes to; chunks differ by one example at most."""
    place = (0, 0, 0)
    hand = hand or DEALT
    for first in range(0, total, hand):
        examples = columns.read(spool, place, min(hand, total - first))
        yield examples, (permutation(examples.size, "deal", first) + first) % chunks
        place = (place[0] + examples.size, place[1] + len(examples.source), place[2] + len(examples.target))
