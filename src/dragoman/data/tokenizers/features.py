"""Characters, and behind the first tab one token per feature: a lemma with its morphological features."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Regex, models, pre_tokenizers
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

FEATURE = re.compile(r"[;|, \t]+[^;|, \t]*")
# The same for the library, rule after rule: all features apart from the text, the text character by character, and
# feature by feature. \G is the end of the match before, so that a semicolon in the text begins no feature.
BEHIND_TAB = r"\t[\s\S]*"
RULES = (BEHIND_TAB, r"\A[^\t]|(?!\A)\G[^\t]", r"(?:\A\t[;|, \t]*|(?!\A)\G[;|, \t]+)[^;|, \t]*")


class Features(Config):
    """One token per code point of a text, and one token per feature behind its first tab: features are separated by
    ; | , or spaces, and keep their separator, so that the text comes back as it was."""

    kind: Literal["features"] = "features"
    size: Annotated[int, Field(gt=len(SPECIALS), le=LARGEST)] = 5_000
    """tokens at most, the four special ones counted"""
    minimum_count: PositiveInt = 1
    """rarer characters and features are out of vocabulary"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""


def cut(text: str) -> list[str]:
    """lem + TAB + V;PST → l, e, m, TAB + V, ;PST"""
    return [*text.partition("\t")[0], *features_of(text)]


def features_of(text: str) -> list[str]:
    """The tokens behind the first tab."""
    _, tab, features = text.partition("\t")
    return FEATURE.findall(tab + features) if tab else []


def learn(config: Features, texts: Texts) -> Learned:
    counts: Counter[str] = Counter()
    for text in Normaliser(config.normalisation, config.lowercase).apply(texts()):
        counts.update(cut(text))
    return most_frequent(counts, config.size, config.minimum_count)


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    number = ordinary(learned).get

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[number(token, UNKNOWN) for token in cut(text)] for text in normaliser.apply(texts)]

    return encode


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    library = engine_of(models.WordLevel(numbered(learned), unk_token=SPECIALS[UNKNOWN]), normaliser.library())
    rules = [pre_tokenizers.Split(Regex(rule), "isolated") for rule in RULES]
    library.pre_tokenizer = pre_tokenizers.Sequence(rules)
    return library


def readable(symbol: str) -> str:
    return "▁" if symbol == " " else symbol.replace("\t", "⇥")


FEATURES = Kind(learn, encoder, engine, text=lambda _: "".join, readable=lambda _: readable)
