"""Characters: every code point is a symbol, the space as well."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
    UNKNOWN,
    Encode,
    Kind,
    Learned,
    Normalisation,
    Normaliser,
    Texts,
    engine_of,
    most_frequent,
    numbered,
    ordinary,
)


class Characters(Config):
    """A symbol a code point; the text comes back as it was, as long as its characters are known."""

    kind: Literal["characters"] = "characters"
    size: Annotated[int, Field(gt=len(SPECIALS), le=LARGEST)] = 5_000
    """symbols at most, the four special ones counted"""
    minimum_count: PositiveInt = 1
    """rarer characters are unknown"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""


def learn(config: Characters, texts: Texts) -> Learned:
    counts: Counter[str] = Counter()
    for text in Normaliser(config.normalisation, config.lowercase).apply(texts()):
        counts.update(text)
    return most_frequent(counts, config.size, config.minimum_count)


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    number = ordinary(learned).get

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[number(character, UNKNOWN) for character in text] for text in normaliser.apply(texts)]

    return encode


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    """Byte-pair encoding without a merge looks up one character after another, which is all that is wanted."""
    model = models.BPE(numbered(learned), [], unk_token=SPECIALS[UNKNOWN])
    library = engine_of(model, normaliser.library())
    library.decoder = decoders.Fuse()
    return library


def readable(symbol: str) -> str:
    return "▁" if symbol == " " else symbol


CHARACTERS = Kind(learn, encoder, engine, text=lambda _: "".join, readable=lambda _: readable)
