"""Sparse rows of features, and their products with dense matrices."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Codes = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Sparse:
    """A matrix in compressed rows: `starts` has one number more than there are rows."""

    starts: Codes
    columns: Codes
    values: Floats
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Codes:
        """The row of every value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def matrix(self) -> Tensor:
        return compressed(self.starts, self.columns, self.values, (len(self), self.width))

    @cached_property
    def transposed(self) -> Tensor:
        order = np.argsort(self.columns, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.columns, minlength=self.width))])
        return compressed(starts, self.rows[order], self.values[order], (self.width, len(self)))

    def select(self, rows: Codes) -> "Sparse":
        counts = np.diff(self.starts)[rows]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], counts)
        return Sparse(starts, self.columns[places], self.values[places], self.width)


def compressed(starts: Codes, columns: Codes, values: Floats, shape: tuple[int, int]) -> Tensor:
    with warnings.catch_warnings():  # torch calls the layout a beta feature
        warnings.simplefilter("ignore", UserWarning)
        parts = [torch.from_numpy(np.ascontiguousarray(one)) for one in (starts, columns, values)]
        return torch.sparse_csr_tensor(parts[0], parts[1], parts[2], shape)


def summed(rows: Codes, columns: Codes, values: Floats, shape: tuple[int, int]) -> Sparse:
    """Entries in any order; those of one place are added up."""
    places, inverse = np.unique(rows * shape[1] + columns, return_inverse=True)
    sums = np.bincount(inverse, values, len(places)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(places // shape[1], minlength=shape[0]))])
    return Sparse(starts, places % shape[1], sums, shape[1])


def dense(values: NDArray[np.floating]) -> Sparse:
    """A dense matrix as rows of all its columns."""
    count, width = values.shape
    columns = np.tile(np.arange(width), count)
    return Sparse(np.arange(0, count * width + 1, max(1, width)), columns, values.astype(np.float32).ravel(), width)


def below(parts: Sequence[Sparse]) -> Sparse:
    """The rows of all parts, one behind the other; they have the same columns."""
    counts = np.concatenate([np.diff(one.starts) for one in parts])
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = np.concatenate([one.columns for one in parts])
    return Sparse(starts, columns, np.concatenate([one.values for one in parts]), parts[0].width)


def beside(parts: Sequence[Sparse]) -> Sparse:
    """The same rows with the columns of all parts, one behind the other."""
    count = len(parts[0])
    offsets = np.concatenate([[0], np.cumsum([one.width for one in parts])])
    rows = np.concatenate([one.rows for one in parts])
    columns = np.concatenate([one.columns + offset for one, offset in zip(parts, offsets, strict=False)])
    order = np.argsort(rows, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return Sparse(starts, columns[order], np.concatenate([one.values for one in parts])[order], int(offsets[-1]))
