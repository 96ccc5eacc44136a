"""Which turn of a conversation each symbol stands in."""

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Turns
from dragoman.data.chunk import Numbers
from dragoman.data.tokenizers import END


def turns_in(values: NDArray[np.int64], mask: NDArray[np.bool_]) -> Turns | None:
    """The turns of a batch, each up to its END, and of equal ones a single row; None where every row is one turn, as
    all texts are."""
    ends = (values == END) & mask
    number = np.cumsum(ends, 1) - ends  # of its turn, in its row
    if not number[mask].any():
        return None
    counts = ((number + 1) * mask).max(1)
    row = (number + (np.cumsum(counts) - counts)[:, None])[mask]  # of all turns, one behind the other
    lengths = np.bincount(row, minlength=int(counts.sum()))
    starts = np.cumsum(lengths) - lengths
    place = np.arange(len(row)) - starts[row]
    first, rows = different(values[mask], starts, lengths)
    words = np.arange(lengths[first].max()) < lengths[first][:, None]
    turns = np.arange(counts.max()) < counts[:, None]
    places = rows[row] * words.shape[1] + place
    symbols, once = np.flatnonzero(mask), np.isin(row, first)
    made = (symbols[once], places[once], symbols, places, words, np.flatnonzero(turns), rows, turns)
    return Turns(*(torch.from_numpy(np.ascontiguousarray(part)) for part in made))


def different(symbols: Numbers, starts: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """Where each different turn stands first, and which of these every turn is: the same symbols are read once."""
    known: dict[bytes, int] = {}
    rows, first = np.empty(len(starts), np.int64), list[int]()
    for number, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        rows[number] = known.setdefault(symbols[start : start + length].tobytes(), len(known))
        if len(known) > len(first):
            first.append(number)
    return np.array(first, np.int64), rows
