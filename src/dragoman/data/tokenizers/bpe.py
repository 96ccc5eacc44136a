"""Byte-pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): no text is unknown."""

import json
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers, trainers

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
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
from dragoman.errors import ConfigError

SMALLEST = len(SPECIALS) + 256  # every byte is a symbol
LONGEST_RUN = 1e9  # merges between two that are left out: a tiny probability would make it infinite

Word = tuple[list[int], list[int], list[int]]  # its bytes, the rank of the merge behind each, its ordinary symbols


class Bpe(Config):
    """Frequent strings of bytes are symbols (Sennrich et al. 2016); any text comes back as it was."""

    kind: Literal["bpe"] = "bpe"
    size: Annotated[int, Field(ge=SMALLEST, le=LARGEST)] = 8_000
    """symbols at most, the four special ones and the 256 bytes counted"""
    minimum_count: PositiveInt = 2
    """rarer pairs of symbols are not merged"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""
    sampling: Annotated[float, Field(ge=0, le=1)] = 0.0
    """in training, the probability that a merge is left out (BPE dropout, Provilkov et al. 2020): e.g. 0.1; 0: off"""


def learn(config: Bpe, texts: Texts) -> Learned:
    library = engine(Learned(()), Normaliser(config.normalisation, config.lowercase))
    trainer = trainers.BpeTrainer(
        vocab_size=config.size,
        min_frequency=config.minimum_count,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    library.train_from_iterator(texts(), trainer)
    model = json.loads(library.to_str())["model"]
    vocabulary = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return Learned(tuple(vocabulary), tuple((left, right) for left, right in model["merges"]))


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    return remembering(engine(learned, normaliser), BETWEEN_WORDS.split)


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    return engine_over_bytes(models.BPE(numbered(learned), list(learned.merges)), normaliser)


def sampler(learned: Learned, dropout: float) -> Sampler:
    """Merges the first pair that may be merged, passing over each with probability `dropout`, until none is left."""
    if dropout > 1:
        raise ConfigError(f"Merges are left out with a probability from 0 to 1, not {dropout:g}. Lower sampling.")
    number = numbered(learned)
    ranks = {(number[left], number[right]): rank for rank, (left, right) in enumerate(learned.merges)}
    results = [number[left + right] for left, right in learned.merges]
    never = len(results)  # the rank of a pair that is not merged, and what stands behind the last symbol
    decay = math.log1p(-dropout) if dropout < 1 else -math.inf

    def merges_before_the_next_pass(draw: Draw) -> int:
        """A draw for a run of merges instead of one for each: half of the words need no other."""
        return int(min(math.log(1 - draw()) / decay, LONGEST_RUN))

    def prepare(word: str) -> Word:
        symbols = [number[character] for character in word]
        waiting = [*(ranks.get(pair, never) for pair in pairwise(symbols)), never]
        whole = merged(list(symbols), list(waiting), len(word), lambda: 0)
        return symbols, waiting, whole

    def spell(word: Word, draw: Draw) -> list[int]:
        symbols, waiting, whole = word
        run = merges_before_the_next_pass(draw)
        if run >= len(symbols) - len(whole):
            return whole
        return merged(symbols.copy(), waiting.copy(), run, lambda: merges_before_the_next_pass(draw))

    def merged(symbols: list[int], waiting: list[int], run: int, next_run: Callable[[], int]) -> list[int]:
        while True:
            passed: list[tuple[int, int]] = []
            while (best := min(waiting)) < never:
                place = waiting.index(best)
                if run > 0:
                    run -= 1
                    break
                run = next_run()
                passed.append((place, best))
                waiting[place] = never
            else:
                return symbols
            for other, rank in passed:
                waiting[other] = rank
            symbols[place : place + 2] = [results[best]]
            del waiting[place]
            if place > 0:
                waiting[place - 1] = ranks.get((symbols[place - 1], symbols[place]), never)
            if place + 1 < len(symbols):
                waiting[place] = ranks.get((symbols[place], symbols[place + 1]), never)

    return sampling_words(learned, prepare, spell)


BPE = Kind(learn, encoder, engine, text, readable, sampler)
