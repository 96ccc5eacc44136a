"""Unigrams over bytes (Kudo 2018): the most probable way to spell a text with symbols that are drawn independently."""

import math
from bisect import bisect
from itertools import accumulate
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import models

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
    UNKNOWN,
    Draw,
    Encode,
    Kind,
    Learned,
    Normalisation,
    Normaliser,
    Sampler,
    Texts,
    numbered,
)
from dragoman.data.tokenizers.bytelevel import BETWEEN_WORDS, engine_over_bytes, readable, sampling_words, text
from dragoman.data.tokenizers.remembering import remembering
from dragoman.data.tokenizers.unigram_learning import count_words, learn_unigrams

SMALLEST = len(SPECIALS) + 256  # every byte is a symbol

Ways = tuple[list[float], list[tuple[int, int]]]  # to end somewhere: running sums of weights, (start, symbol) of each


class Unigram(Config):
    """Probable strings of bytes are symbols (Kudo 2018); any text comes back as it was."""

    kind: Literal["unigram"] = "unigram"
    size: Annotated[int, Field(ge=SMALLEST, le=LARGEST)] = 8_000
    """symbols at most, the four special ones and the 256 bytes counted"""
    minimum_count: PositiveInt = 2
    """rarer strings are no symbols"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""
    sampling: NonNegativeFloat = 0.0
    """in training, spellings are drawn by their probability to this power (alpha, Kudo 2018): e.g. 0.2; 0: off"""


def learn(config: Unigram, texts: Texts) -> Learned:
    """Not with the trainer of the library, whose symbols and scores differ from one process to the next."""
    words = count_words(Normaliser(config.normalisation, config.lowercase).apply(texts()))
    scores = learn_unigrams(words, config.size - len(SPECIALS), config.minimum_count)
    ordered = sorted(scores, key=lambda symbol: (-scores[symbol], symbol))
    return Learned((*SPECIALS, *ordered), scores=(*(0.0 for _ in SPECIALS), *(scores[symbol] for symbol in ordered)))


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    return remembering(engine(learned, normaliser), BETWEEN_WORDS.split)


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    symbols = list(zip(learned.vocabulary, learned.scores, strict=True))
    return engine_over_bytes(models.Unigram(symbols, UNKNOWN, False), normaliser)


def sampler(learned: Learned, alpha: float) -> Sampler:
    """Forward filtering, backward sampling: each way to spell a word is drawn as its probability to the power alpha."""
    number = numbered(learned)
    longest = max(len(symbol) for symbol in learned.vocabulary)

    def prepare(word: str) -> list[Ways]:
        sums = [0.0]  # the logarithm of the weight of all ways to each place
        ways: list[Ways] = []
        for end in range(1, len(word) + 1):
            starts = range(max(0, end - longest), end)
            found = ((start, number.get(word[start:end])) for start in starts)
            edges = [(start, symbol) for start, symbol in found if symbol is not None]
            logs = [sums[start] + alpha * learned.scores[symbol] for start, symbol in edges]
            top = max(logs)
            weights = list(accumulate(math.exp(value - top) for value in logs))
            sums.append(top + math.log(weights[-1]))
            ways.append((weights, edges))
        return ways

    def spell(ways: list[Ways], draw: Draw) -> list[int]:
        symbols: list[int] = []
        end = len(ways)
        while end:
            weights, edges = ways[end - 1]
            chosen = bisect(weights, draw() * weights[-1]) if len(edges) > 1 else 0
            end, symbol = edges[min(chosen, len(edges) - 1)]
            symbols.append(symbol)
        return symbols[::-1]

    return sampling_words(learned, prepare, spell)


UNIGRAM = Kind(learn, encoder, engine, text, readable, sampler)
