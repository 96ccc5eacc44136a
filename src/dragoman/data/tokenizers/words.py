"""Words between spaces: text that another tool has tokenised passes untouched."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import models, pre_tokenizers

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
    UNKNOWN,
    Encode,
    Kind,
    Learned,
    Normalisation,
    engine_of,
    most_frequent,
    normalised,
    numbered,
    ordinary,
)


class Words(Config):
    """A symbol a word; words are split at the space U+0020 and nowhere else."""

    kind: Literal["words"] = "words"
    size: Annotated[int, Field(gt=len(SPECIALS), le=LARGEST)] = 50_000
    """symbols at most, the four special ones counted"""
    minimum_count: PositiveInt = 1
    """rarer words are unknown"""
    normalisation: Normalisation = "none"
    """Unicode normal form that the text is brought into"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from"""


def learn(config: Words, texts: Iterator[str]) -> Learned:
    counts: Counter[str] = Counter()
    for text in normalised(islice(texts, config.sample), config.normalisation):
        counts.update(text.split(" "))
    del counts[""]
    return most_frequent(counts, config.size, config.minimum_count)


def encoder(learned: Learned, normalisation: Normalisation) -> Encode:
    number = ordinary(learned).get

    def encode(texts: Sequence[str]) -> list[list[int]]:
        # A look-up gives the same as the library, which tracks offsets that nobody needs, in a fourth of the time.
        found = normalised(texts, normalisation)
        return [[number(word, UNKNOWN) for word in text.split(" ") if word] for text in found]

    return encode


def engine(learned: Learned, normalisation: Normalisation) -> Engine:
    library = engine_of(models.WordLevel(numbered(learned), unk_token=SPECIALS[UNKNOWN]), normalisation)
    library.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    return library


WORDS = Kind(learn, encoder, engine, text=" ".join, readable=str)
