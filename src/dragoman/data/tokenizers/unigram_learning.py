"""The vocabulary of a unigram model (Kudo 2018): many strings, their probabilities by EM, the dispensable left out."""

import math
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import pre_tokenizers

from dragoman.data.tokenizers.bytelevel import BETWEEN_WORDS, BYTE_OF

MOST_WORDS = 100_000  # the most frequent ones are learned from
MOST_BYTES = 750_000  # of all these words together
LONGEST_WORD = 40  # bytes; a longer word, or a text without spaces, is learned from in pieces
LONGEST_SYMBOL = 16  # bytes
MOST_STRINGS = 1_000_000  # that are counted at a time; beyond that the rare ones are forgotten
SEEDS = 10  # strings at the beginning for each symbol at the end
SHRINKING = 0.75  # the share of strings that stay in each round
ROUNDS_OF_EM = 2  # between two rounds of leaving out
LEAST = 0.1  # expected count of a byte that the corpus does not hold
DECIMALS = 6  # of a score

Scores = dict[str, float]
Floats = NDArray[np.float64]
Numbers = NDArray[Any]


def count_words(texts: Iterator[str]) -> Counter[str]:
    """How often each word, written in the alphabet of bytes, occurs."""
    chunks: Counter[str] = Counter()
    for text in texts:
        chunks.update(BETWEEN_WORDS.split(text))
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True).pre_tokenize_str
    words: Counter[str] = Counter()
    for chunk, count in chunks.items():
        for word, _ in split(chunk):
            for piece in pieces(word):
                words[piece] += count
    return words


def pieces(word: str) -> Iterator[str]:
    """A word in parts of bounded length, cut between characters."""
    start = 0
    while len(word) - start > LONGEST_WORD:
        end = start + LONGEST_WORD
        while end > start + LONGEST_WORD - 3 and BYTE_OF[word[end]] & 0xC0 == 0x80:  # inside a character of UTF-8
            end -= 1
        yield word[start:end]
        start = end
    yield word[start:]


def learn_unigrams(words: Counter[str], size: int, minimum_count: int) -> Scores:
    """The natural log-probabilities of `size` symbols at most, all 256 bytes among them."""
    ranked = sorted((-count, word) for word, count in words.items() if word)[:MOST_WORDS]
    sizes = accumulate(len(word) for _, word in ranked)
    usable = {word: -count for (count, word), total in zip(ranked, sizes, strict=True) if total <= MOST_BYTES}
    counts = seeds(usable, SEEDS * size, minimum_count)
    symbols = sorted(BYTE_OF) + sorted(counts)
    lattice = Lattice.of(usable, symbols)
    probabilities = normalised(np.array([counts.get(symbol, LEAST) for symbol in symbols], np.float64))
    while True:
        for _ in range(ROUNDS_OF_EM):
            expected = lattice.expected(probabilities)
            probabilities = normalised(expected)
        logs = np.log(probabilities)
        if len(symbols) <= size:
            return {symbol: round(float(value), DECIMALS) for symbol, value in zip(symbols, logs, strict=True)}
        kept = indispensable(symbols, logs, expected, max(size, int(SHRINKING * len(symbols))))
        lattice, symbols, probabilities = lattice.without(kept), [symbols[n] for n in kept], probabilities[kept]


def seeds(words: Mapping[str, int], most: int, minimum_count: int) -> dict[str, int]:
    """The strings of two bytes or more that cover most of the corpus, and how often they occur."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for end in range(start + 2, min(len(word), start + LONGEST_SYMBOL) + 1):
                counts[word[start:end]] += count
        if len(counts) > MOST_STRINGS:
            counts = without_the_rare(counts)
    frequent = [(-count * len(found), found) for found, count in counts.items() if count >= minimum_count]
    return {found: counts[found] for _, found in sorted(frequent)[:most]}


def without_the_rare(counts: Counter[str]) -> Counter[str]:
    """Half of MOST_STRINGS at most: what is seldom after so many words is hardly a symbol."""
    least = 1
    while len(counts) > MOST_STRINGS // 2:
        least *= 2
        counts = Counter({found: count for found, count in counts.items() if count >= least})
    return counts


def normalised(expected: Floats) -> Floats:
    floored = np.maximum(expected, LEAST)
    return np.asarray(floored / floored.sum())


def indispensable(symbols: Sequence[str], logs: Floats, expected: Floats, most: int) -> list[int]:
    """The bytes, and the symbols without which the corpus would lose most of its probability."""
    known = {symbol: float(value) for symbol, value in zip(symbols, logs, strict=True)}
    losses = []
    for number, symbol in enumerate(symbols):
        if len(symbol) > 1:
            loss = float(expected[number]) * (known[symbol] - best_otherwise(symbol, known))
            losses.append((-round(loss, DECIMALS), symbol, number))
    losses.sort()
    singles = [number for number, symbol in enumerate(symbols) if len(symbol) == 1]
    return sorted(singles + [number for *_, number in losses[: most - len(singles)]])


def best_otherwise(symbol: str, scores: Scores) -> float:
    """The log-probability of the best way to spell a symbol with others."""
    best = [0.0]
    for end in range(1, len(symbol) + 1):
        starts = range(1 if end == len(symbol) else 0, end)
        best.append(max(best[start] + scores.get(symbol[start:end], -math.inf) for start in starts))
    return best[-1]


@dataclass(frozen=True)
class Lattice:
    """Every way to spell every word, as edges between places; words stand one behind the other."""

    counts: Floats  # of each word
    first: Numbers  # the place before each word
    last: Numbers  # the place behind each word
    word: Numbers  # of each edge, as all below
    start: Numbers
    depth: Numbers  # bytes from the beginning of its word
    length: Numbers
    symbol: Numbers

    @staticmethod
    def of(words: Mapping[str, int], symbols: Sequence[str]) -> "Lattice":
        number = {symbol: place for place, symbol in enumerate(symbols)}
        edges = array("i")
        for index, word in enumerate(words):
            for start in range(len(word)):
                for end in range(start + 1, min(len(word), start + LONGEST_SYMBOL) + 1):
                    if (symbol := number.get(word[start:end])) is not None:
                        edges.extend((index, start, end - start, symbol))
        lengths = np.array([len(word) for word in words], np.int64)
        first = np.cumsum(lengths + 1) - lengths - 1
        word_of, depth, length, symbol_of = np.frombuffer(edges, np.int32).reshape(-1, 4).T
        counts = np.array(list(words.values()), np.float64)
        return Lattice(counts, first, first + lengths, word_of, first[word_of] + depth, depth, length, symbol_of)

    def expected(self, probabilities: Floats) -> Floats:
        """How often each symbol is used, over all ways to spell the corpus (the forward-backward algorithm)."""
        weights = probabilities[self.symbol]
        end = self.start + self.length
        before, behind = np.zeros(self.places), np.zeros(self.places)
        before[self.first] = behind[self.last] = 1.0
        for edges in self.layers(self.depth + self.length):
            np.add.at(before, end[edges], before[self.start[edges]] * weights[edges])
        for edges in reversed(self.layers(self.depth)):
            np.add.at(behind, self.start[edges], behind[end[edges]] * weights[edges])
        total = before[self.last]
        used = before[self.start] * weights * behind[end] * (self.counts / total)[self.word]
        return np.bincount(self.symbol, used, len(probabilities)).astype(np.float64)

    @property
    def places(self) -> int:
        return int(self.last[-1]) + 1 if len(self.last) else 0

    def layers(self, depths: Numbers) -> list[Numbers]:
        """The edges of each depth, the shallow ones first."""
        order = np.argsort(depths.astype(np.uint8), kind="stable")  # small numbers are sorted by counting
        return np.split(order, np.flatnonzero(np.diff(depths[order])) + 1) if len(order) else []

    def without(self, kept: Sequence[int]) -> "Lattice":
        """The same with these symbols only, numbered anew."""
        number = np.full(max(int(self.symbol.max(initial=0)), kept[-1]) + 1, -1, np.int32)
        number[kept] = np.arange(len(kept))
        here = number[self.symbol] >= 0
        parts = (self.word, self.start, self.depth, self.length)
        word, start, depth, length = (part[here] for part in parts)
        return Lattice(self.counts, self.first, self.last, word, start, depth, length, number[self.symbol[here]])
