"""Many sequences in one flat array, and examples held that way."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Ids = NDArray[Any]  # uint16 or uint32 on disk, int64 for the model


@dataclass(frozen=True)
class Chunk:
    """Examples side by side: the tokens of example i are source[source_offsets[i]:source_offsets[i + 1]]."""

    source: Ids
    source_offsets: Numbers
    target: Ids
    target_offsets: Numbers
    lines: Numbers  # where each example stands in its corpus, 1-based

    @property
    def size(self) -> int:
        return len(self.lines)

    @property
    def source_lengths(self) -> Numbers:
        return np.diff(self.source_offsets)

    @property
    def target_lengths(self) -> Numbers:
        return np.diff(self.target_offsets)

    def select(self, rows: Numbers) -> "Chunk":
        """These examples in this order."""
        source_lengths, target_lengths = self.source_lengths[rows], self.target_lengths[rows]
        return Chunk(
            gather(self.source, self.source_offsets[rows], source_lengths),
            offsets(source_lengths),
            gather(self.target, self.target_offsets[rows], target_lengths),
            offsets(target_lengths),
            self.lines[rows],
        )


def gather(flat: Ids, starts: Numbers, lengths: Numbers) -> Ids:
    """The pieces flat[start:start + length], one after another, without a loop."""
    shifts = starts - np.cumsum(lengths) + lengths
    return np.asarray(flat[np.repeat(shifts, lengths) + np.arange(lengths.sum())])


def offsets(lengths: Numbers) -> Numbers:
    """Where each piece begins, and where the last one ends."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
