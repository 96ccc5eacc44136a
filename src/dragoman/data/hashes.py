"""Hashes of pairs, spilled to disk, so that what occurs twice is found in bounded memory."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dragoman.data.chunk import Numbers
from dragoman.data.readers.pair import Pair

BUCKETS = 32  # pairs of one source are in one bucket; one bucket at a time is in memory
HELD = 200_000  # rows in memory before they are spilled

Rows = NDArray[np.int64]  # (pairs, 3): hash of the source, hash of the target, line


class Hashes:
    """64 bits a side and the line of every pair; equal rows of two sides mean equal pairs.

    Python's own hash of a text is keyed anew in each process and costs 0.1 µs; it never leaves the process.
    """

    def __init__(self) -> None:
        self.held: list[Rows] = []
        self.files: list[IO[bytes]] = []
        self.stack = ExitStack()

    def __enter__(self) -> "Hashes":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.held = []
        self.stack.close()

    def add(self, block: Sequence[Pair]) -> Rows:
        rows = np.empty((len(block), 3), np.int64)
        rows[:, 0] = np.fromiter((hash(pair.source) for pair in block), np.int64, len(block))
        rows[:, 1] = np.fromiter((hash(pair.target) for pair in block), np.int64, len(block))
        rows[:, 2] = np.fromiter((pair.line for pair in block), np.int64, len(block))
        self.held.append(rows)
        if sum(map(len, self.held)) >= HELD:
            self.spill()
        return rows

    def spill(self) -> None:
        """Temporary files without a name, which die with the process."""
        if not self.files:
            self.files = [self.stack.enter_context(unnamed()) for _ in range(BUCKETS)]
        rows = self.in_memory()
        for number, file in enumerate(self.files):
            file.write(rows[bucket_of(rows) == number].tobytes())
        self.held = []

    def in_memory(self) -> Rows:
        return np.concatenate(self.held) if self.held else np.empty((0, 3), np.int64)

    def buckets(self) -> Iterator[Rows]:
        """All rows, a bucket at a time; the same source is in the same bucket of any Hashes."""
        held = self.in_memory()
        for number in range(BUCKETS):
            rows = held[bucket_of(held) == number]
            if self.files:
                self.files[number].seek(0)
                spilled = np.frombuffer(self.files[number].read(), np.int64).reshape(-1, 3)
                rows = np.concatenate([spilled, rows])
            yield rows


def unnamed() -> IO[bytes]:
    return tempfile.TemporaryFile()


def bucket_of(rows: Rows) -> Numbers:
    return rows[:, 0] & (BUCKETS - 1)


def ordered(rows: Rows) -> Rows:
    """By source, then target, then line."""
    return np.asarray(rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))])


def repeats(rows: Rows) -> Numbers:
    """The lines of pairs that stood on an earlier line."""
    sorted_rows = ordered(rows)
    same = (sorted_rows[1:, :2] == sorted_rows[:-1, :2]).all(axis=1)
    return np.asarray(sorted_rows[1:, 2][same])


def several_targets(rows: Rows) -> Numbers:
    """The lines of pairs whose source has other targets too."""
    if not len(rows):
        return rows[:, 2]
    sorted_rows = ordered(rows)
    other = np.concatenate([[True], sorted_rows[1:, 0] != sorted_rows[:-1, 0]])
    source = np.cumsum(other) - 1
    different = np.concatenate([[True], (sorted_rows[1:, :2] != sorted_rows[:-1, :2]).any(axis=1)])
    return np.asarray(sorted_rows[:, 2][np.bincount(source, different)[source] > 1])


def shared_pairs(rows: Rows, others: Rows) -> Numbers:
    """The lines of rows whose pair is among the others."""
    both = np.concatenate([others, rows])
    mine = np.arange(len(both)) >= len(others)
    order = np.lexsort((mine, both[:, 1], both[:, 0]))
    pairs, mine = both[order], mine[order]
    new = np.concatenate([[True], (pairs[1:, :2] != pairs[:-1, :2]).any(axis=1)])[: len(pairs)]
    group = np.cumsum(new) - 1
    known = ~mine[new]  # the others come first, where there are any
    return np.asarray(pairs[:, 2][mine & known[group]])


def shared_sources(rows: Rows, others: Rows) -> Numbers:
    """The lines of rows whose source is among those of the others."""
    return np.asarray(rows[:, 2][np.isin(rows[:, 0], others[:, 0])])
