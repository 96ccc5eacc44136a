"""How long texts are: exact counts, and what is told of them."""

from itertools import pairwise
from typing import Any

import numpy as np

from dragoman.data.chunk import Numbers

BARS = 20  # of a histogram, at most


class Lengths:
    """How often each length occurs."""

    def __init__(self) -> None:
        self.counts = np.zeros(64, np.int64)

    def add(self, lengths: Numbers) -> None:
        new = np.bincount(lengths)
        if len(new) > len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros(2 * len(new) - len(self.counts), np.int64)])
        self.counts[: len(new)] += new

    def as_json(self) -> dict[str, Any] | None:
        """Histogram, mean, median, 99th percentile and longest; None where nothing was counted."""
        total = int(self.counts.sum())
        if not total:
            return None
        cumulative = np.cumsum(self.counts)
        present = np.flatnonzero(self.counts)
        shortest, longest = int(present[0]), int(present[-1])
        p99 = int(np.searchsorted(cumulative, 0.99 * total))
        edges = edges_of(shortest, p99, longest)
        heights = [int(self.counts[low:high].sum()) for low, high in pairwise(edges)]
        return {
            "edges": edges,
            "counts": heights,
            "mean": round(float(self.counts @ np.arange(len(self.counts))) / total, 3),
            "median": int(np.searchsorted(cumulative, 0.5 * total)),
            "p99": p99,
            "longest": longest,
        }


def edges_of(shortest: int, p99: int, longest: int) -> list[int]:
    """Bars of one width up to the 99th percentile, and what is longer in the last one."""
    width = max(1, -(-(p99 + 1 - shortest) // BARS))
    edges = list(range(shortest, p99 + 1, width))
    behind = edges[-1] + width
    return [*edges, longest + 1] if longest < behind else [*edges, behind, longest + 1]
