"""The lines of a file that are most like a text: exact cosines, in memory that does not grow with the file."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.errors import DataError
from dragoman.pipeline.vectors import Vector, Vectors

BLOCK = 8192  # lines whose vectors are in memory at once
PARTS = ("vectors", "texts", "ends")

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Near:
    """A line that was found."""

    line: int  # from 1
    cosine: float
    text: str


@dataclass(frozen=True)
class Lines:
    """The lines of a file with their vectors, in a folder: those of length 1 behind one another, all texts, and where
    each text ends."""

    folder: Path
    count: int
    width: int

    @staticmethod
    def spool(
        folder: Path, vectors: Iterable[Vector], width: int, told: Callable[[Vector, int], None] = lambda one, n: None
    ) -> "Lines":
        """`vectors` have length 1, those of empty lines zero."""
        count = end = 0
        with ExitStack() as stack:
            of_vectors, of_texts, of_ends = (stack.enter_context((folder / name).open("wb")) for name in PARTS)
            for count, one in enumerate(vectors, start=1):
                text = one.source.encode()
                end += len(text)
                of_vectors.write(one.values.tobytes())
                of_texts.write(text)
                of_ends.write(np.int64(end).tobytes())
                told(one, count)
        return Lines(folder, count, width)

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """Vectors, and how many lines stand before them."""
        with (self.folder / "vectors").open("rb") as file:
            for before in range(0, self.count, BLOCK):
                rows = min(BLOCK, self.count - before)
                yield before, np.fromfile(file, np.float32, rows * self.width).reshape(rows, self.width)

    def text(self, line: int) -> str:
        """Of a line, from 0."""
        with (self.folder / "ends").open("rb") as file:
            file.seek(8 * max(0, line - 1))
            start, end = (0, *np.fromfile(file, np.int64, 1)) if line == 0 else np.fromfile(file, np.int64, 2)
        with (self.folder / "texts").open("rb") as file:
            file.seek(start)
            return file.read(end - start).decode()

    def nearest(self, queries: Vectors, count: int) -> list[list[Near]]:
        """For each query, vectors of length 1, the lines of greatest cosine, best first; of equals the first in the
        file. Empty lines are like nothing."""
        cosines = np.empty((len(queries), 0), np.float32)
        lines = np.empty((len(queries), 0), np.int64)
        for before, vectors in self.blocks():
            found = queries @ vectors.T
            found[:, ~vectors.any(1)] = -np.inf
            best = greatest(found, count)
            cosines = np.concatenate([cosines, np.take_along_axis(found, best, 1)], 1)
            lines = np.concatenate([lines, best + before], 1)
            order = greatest(cosines, count)
            cosines, lines = np.take_along_axis(cosines, order, 1), np.take_along_axis(lines, order, 1)
        return [
            [Near(line + 1, cosine, self.text(line)) for cosine, line in zip(*one, strict=True) if cosine != -np.inf]
            for one in zip(cosines.tolist(), lines.tolist(), strict=True)
        ]


def greatest(values: Vectors, count: int) -> Numbers:
    """Where the greatest of each row stand, greatest first; of equals the first."""
    count = min(count, values.shape[1])
    found, places = torch.from_numpy(values).topk(count, 1)
    order = np.lexsort((places.numpy(), -found.numpy()))
    best: Numbers = np.take_along_axis(places.numpy(), order, 1)
    tied = (values >= found.numpy()[:, -1:]).sum(1) > count  # topk takes any of those that are equal to the last
    if tied.any():
        best[tied] = np.argsort(-values[tied], 1, kind="stable")[:, :count]
    return best


def refuse_nothing(lines: Lines, file: str) -> None:
    if not lines.count:
        raise DataError(f"{file} is empty: there is no line to be found in it.")
