"""Which turn of a conversation each symbol stands in."""

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Turns
from dragoman.data.tokenizers import END


def turns_in(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> Turns | None:
    """The turns of a batch, each up to its END; None where every row is one turn, as all texts are."""
    ends = (values == END) & mask
    number = np.cumsum(ends, 1) - ends  # of its turn, in its row
    if not number[mask].any():
        return None
    counts = ((number + 1) * mask).max(1)
    row = (number + (np.cumsum(counts) - counts)[:, None])[mask]
    lengths = np.bincount(row, minlength=int(counts.sum()))
    place = np.arange(len(row)) - (np.cumsum(lengths) - lengths)[row]
    words = np.arange(lengths.max()) < lengths[:, None]
    turns = np.arange(counts.max()) < counts[:, None]
    symbols, slots = np.flatnonzero(mask), np.flatnonzero(turns)
    made = (symbols, row * words.shape[1] + place, words, slots, turns)
    return Turns(*(torch.from_numpy(np.ascontiguousarray(part)) for part in made))
