"""Words between spaces: text that another tool has tokenised passes untouched."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Regex, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as Engine

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

SPELLED = r"(?<![^ ])<(?:pad|/?s)>(?![^ ])"  # a word that is spelled like a special symbol


class Words(Config):
    """A symbol a word; words are split at the space U+0020 and nowhere else."""

    kind: Literal["words"] = "words"
    size: Annotated[int, Field(gt=len(SPECIALS), le=LARGEST)] = 50_000
    """symbols at most, the four special ones counted"""
    minimum_count: PositiveInt = 1
    """rarer words are unknown"""
    normalisation: Normalisation = "none"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""


def learn(config: Words, texts: Texts) -> Learned:
    counts: Counter[str] = Counter()
    for text in Normaliser(config.normalisation, config.lowercase).apply(texts()):
        counts.update(text.split(" "))
    del counts[""]
    return most_frequent(counts, config.size, config.minimum_count)


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    number = ordinary(learned).get

    def encode(texts: Sequence[str]) -> list[list[int]]:
        # A look-up gives the same as the library, which tracks offsets that nobody needs, in a fourth of the time.
        found = normaliser.apply(texts)
        return [[number(word, UNKNOWN) for word in text.split(" ") if word] for text in found]

    return encode


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    """A word that spells a special symbol is made unknown before it is looked up."""
    model = models.WordLevel(numbered(learned), unk_token=SPECIALS[UNKNOWN])
    library = engine_of(model, normaliser.library(normalizers.Replace(Regex(SPELLED), SPECIALS[UNKNOWN])))
    library.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
    return library


WORDS = Kind(learn, encoder, engine, text=lambda _: " ".join, readable=lambda _: str)
