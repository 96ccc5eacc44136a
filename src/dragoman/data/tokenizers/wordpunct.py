"""Words and punctuation marks apart: text as it is written, which no other tool has tokenized."""

from collections import Counter
from collections.abc import Sequence
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
    Normaliser,
    Texts,
    engine_of,
    most_frequent,
    numbered,
    ordinary,
)

RULE = pre_tokenizers.BertPreTokenizer()
REMEMBERED = 100_000  # words between spaces whose parts are kept


class Wordpunct(Config):
    """A token a word and a token a punctuation mark; both stand between spaces in what is decoded, so that `Hund.`
    becomes `Hund .` (as NLTK's WordPunctTokenizer; Bird et al. 2009, 3.7)."""

    kind: Literal["wordpunct"] = "wordpunct"
    size: Annotated[int, Field(gt=len(SPECIALS), le=LARGEST)] = 50_000
    """tokens at most, the four special ones counted"""
    minimum_count: PositiveInt = 1
    """rarer words are out of vocabulary"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from, spread over the corpus"""


class Splitter:
    """Cuts at white space and around punctuation marks, where nothing reaches over a space: the parts of words that
    were met before are looked up."""

    def __init__(self) -> None:
        self.met: dict[str, list[str]] = {}

    def __call__(self, text: str) -> list[str]:
        if len(self.met) > REMEMBERED:
            self.met = {}  # a new one, since another thread may be reading the old one
        return [part for word in text.split(" ") for part in self.met.get(word) or self.parts(word)]

    def parts(self, word: str) -> list[str]:
        found = self.met[word] = [part for part, _ in RULE.pre_tokenize_str(word)]
        return found


def learn(config: Wordpunct, texts: Texts) -> Learned:
    counts: Counter[str] = Counter()
    split = Splitter()
    for text in Normaliser(config.normalisation, config.lowercase).apply(texts()):
        counts.update(split(text))
    return most_frequent(counts, config.size, config.minimum_count)


def encoder(learned: Learned, normaliser: Normaliser) -> Encode:
    number, split = ordinary(learned).get, Splitter()

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[number(word, UNKNOWN) for word in split(text)] for text in normaliser.apply(texts)]

    return encode


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    """Punctuation marks are words of their own, so that no word can spell a special token."""
    library = engine_of(models.WordLevel(numbered(learned), unk_token=SPECIALS[UNKNOWN]), normaliser.library())
    library.pre_tokenizer = RULE
    return library


WORDPUNCT = Kind(learn, encoder, engine, text=lambda _: " ".join, readable=lambda _: str)
