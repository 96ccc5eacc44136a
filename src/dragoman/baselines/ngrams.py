"""The baseline of language models: interpolated n-grams of tokens with Kneser-Ney smoothing."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dragoman.baselines.clock import timed
from dragoman.baselines.sparse import Codes

ORDERS = (1, 2, 3, 4, 5, 6, 8, 10)  # that are tried on held-out tokens
MOST_TOKENS = 2_000_000  # that are counted
TRIED = 200_000  # tokens that the order is chosen on, at most
BLOCK = 2**20  # tokens whose probabilities are computed at once
BEGIN = -1
Floats = NDArray[np.float64]


class NGrams:
    """p(w | h) = max(c(hw) − d, 0) / c(h) + d N(h·) / c(h) · p(w | shorter h), where shorter n-grams count the words
    before them (Kneser and Ney 1995; Chen and Goodman 1999); at last all `size` tokens are alike."""

    def __init__(self, order: int, size: int) -> None:
        self.order, self.size = order, size
        self.levels: list[Level] = []

    def fit(self, rows: Sequence[Codes]) -> "NGrams":
        """Count the n-grams of rows of tokens; each row begins anew."""
        words, contexts = np.concatenate(rows), contexts_of(rows, self.order)
        for shorter, longer in timed(pairwise(contexts)):
            _, first = np.unique(combined(longer, words), return_index=True)  # how many words stand before, and no more
            self.levels.append(Level.of(shorter[first], words[first]))
        self.levels.append(Level.of(contexts[-1], words))
        return self

    def log_probabilities(self, rows: Sequence[Codes]) -> Floats:
        """Of every token of all rows, one behind the other."""
        ends = np.cumsum([len(row) for row in rows], dtype=np.int64) // BLOCK
        starts = [0, *(np.flatnonzero(np.diff(ends)) + 1).tolist(), len(rows)]
        return np.concatenate([self.logs_of(rows[start:end]) for start, end in timed(pairwise(starts))])

    def logs_of(self, rows: Sequence[Codes]) -> Floats:
        words = np.concatenate(rows)
        found = np.full(len(words), 1 / self.size)
        for level, contexts in zip(self.levels, contexts_of(rows, self.order), strict=True):
            found = level.interpolated(contexts, words, found)
        logs: Floats = np.log(found)
        return logs


class Level:
    """n-grams of one length: how often each follows its context, and what is kept back for new ones."""

    def __init__(self, grams: Codes, counts: Floats, contexts: Codes, totals: Floats, kinds: Floats) -> None:
        self.grams, self.counts, self.contexts, self.totals, self.kinds = grams, counts, contexts, totals, kinds
        once, twice = float((counts == 1).sum()), float((counts == 2).sum())
        self.discount = once / (once + 2 * twice) if once and twice else 0.5

    @staticmethod
    def of(contexts: Codes, words: Codes) -> "Level":
        grams, places, counts = np.unique(combined(contexts, words), return_index=True, return_counts=True)
        known, inverse = np.unique(contexts[places], return_inverse=True)
        totals, kinds = (np.bincount(inverse, one, len(known)).astype(np.float64) for one in (counts, None))
        return Level(grams, counts.astype(np.float64), known, totals, kinds)

    def interpolated(self, contexts: Codes, words: Codes, shorter: Floats) -> Floats:
        place = found_at(self.contexts, contexts)
        gram = found_at(self.grams, combined(contexts, words))
        totals = np.where(place >= 0, self.totals[place], 1.0)
        count = np.where(gram >= 0, np.maximum(self.counts[gram] - self.discount, 0), 0.0)
        kept_back = np.where(place >= 0, self.discount * self.kinds[place] / totals, 1.0)
        return np.where(place >= 0, count / totals, 0.0) + kept_back * shorter


def found_at(known: Codes, wanted: Codes) -> Codes:
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, places, -1)


def combined(contexts: Codes, words: Codes) -> Codes:
    """A hash of 64 bits of a context and the token behind it."""
    code = (contexts.astype(np.uint64) ^ (words.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    return (code ^ (code >> np.uint64(31))).astype(np.int64)


def contexts_of(rows: Sequence[Codes], order: int) -> list[Codes]:
    """Hashes of no, one, two … tokens before every token; what stands before a row is its beginning."""
    words = np.concatenate(rows)
    lengths = np.array([len(row) for row in rows])
    places = np.arange(len(words)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found = [np.zeros(len(words), np.int64)]
    for back in range(1, order):
        before = np.concatenate([np.full(min(back, len(words)), BEGIN), words[:-back]])
        found.append(combined(found[-1], np.where(places >= back, before, BEGIN)))
    return found


def fitted(rows: Sequence[Codes], size: int) -> NGrams:
    """The order with the least perplexity on every tenth of up to twenty parts, counted on the others."""
    rows = shortened(rows, MOST_TOKENS)
    own, held = parted(shortened(rows, 5 * TRIED))
    if not own or not held:
        return NGrams(2, size).fit(rows)
    best, order = -np.inf, ORDERS[0]
    for tried in ORDERS:
        found = float(NGrams(tried, size).fit(own).log_probabilities(held).mean())
        if found <= best + 1e-4:
            break
        best, order = found, tried
    return NGrams(order, size).fit(rows)


def parted(rows: Sequence[Codes]) -> tuple[list[Codes], list[Codes]]:
    """Nine tenths, and one to choose on: of few rows the end of each."""
    if len(rows) >= 20:
        return [row for place, row in enumerate(rows) if place % 10], list(rows[::10])
    cut = [len(row) - len(row) // 10 for row in rows]
    own = [row[:end] for row, end in zip(rows, cut, strict=True) if end]
    return own, [row[end:] for row, end in zip(rows, cut, strict=True) if end < len(row)]


def shortened(rows: Sequence[Codes], most: int) -> list[Codes]:
    """The first rows, up to so many tokens; the last of them may be cut."""
    found, left = [], most
    for row in rows:
        if left <= 0:
            break
        found.append(row[:left])
        left -= len(row)
    return found
