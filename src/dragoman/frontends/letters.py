"""Vectors of words from their letters, each distinct word of a batch once."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

FACTOR = 6364136223846793005  # of Knuth's generator: an odd number whose powers spread over all 64 bits


def of_distinct(
    read: Callable[[Int[Tensor, "U L"]], Float[Tensor, "U D"]], letters: Int[Tensor, "B S L"]
) -> Float[Tensor, "B S D"]:
    """read(letters) of every word, computed once for words that are spelled alike, as many as half of a batch. Words
    are told apart by 64 bits; what is random must come behind it."""
    flat = letters.flatten(0, 1)
    _, where = torch.unique(hashes(flat), return_inverse=True)
    count = int(where.max()) + 1
    first = where.new_empty(count).scatter_(0, where, torch.arange(len(where), device=where.device))
    found = read(flat.index_select(0, first)).index_select(0, where)
    return found.view(*letters.shape[:2], -1)


def hashes(letters: Int[Tensor, "N L"]) -> Int[Tensor, " N"]:
    """Σ_i letter_i · F^(i+1) modulo 2^64, mixed once more."""
    powers = torch.full((letters.shape[1],), FACTOR, dtype=torch.int64, device=letters.device).cumprod(0)
    sums = (letters * powers).sum(1)
    return (sums ^ (sums >> 29)) * FACTOR
