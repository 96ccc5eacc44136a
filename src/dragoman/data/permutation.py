"""Shuffling as a function of what it is for."""

import numpy as np
from numpy.typing import NDArray

from dragoman.seeds import key


def permutation(size: int, *purpose: int | str) -> NDArray[np.int64]:
    """0 … size - 1 in an order that the purpose alone decides, e.g. permutation(9, seed, "chunks", epoch)."""
    # numpy fixes the raw numbers of a bit generator for good; the methods built on them may change with its versions.
    raw = np.random.Philox(key=key(*purpose)).random_raw(size)
    return np.argsort(raw, kind="stable").astype(np.int64, copy=False)
