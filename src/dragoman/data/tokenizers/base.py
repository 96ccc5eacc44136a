"""What every kind of tokenizer has in common: four fixed symbols, a normalisation, and the shape of a kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tokenizers import Tokenizer as Engine
from tokenizers import models, normalizers

PADDING, UNKNOWN, START, END = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
LARGEST = 10_000_000  # symbols of a vocabulary; the library allocates for as many as it is told
UNREADABLE = "⁇"  # how an unknown symbol is written: one character that nobody types

KindName = Literal["words", "wordpunct", "characters", "features", "bytes", "bpe", "unigram", "wordpiece", "file"]
Normalisation = Literal["none", "nfc", "nfkc"]
Merges = tuple[tuple[str, str], ...]
Texts = Callable[[], Iterator[str]]  # from the beginning, as often as it is called
Encode = Callable[[Sequence[str]], list[list[int]]]
Draw = Callable[[], float]  # a random number from 0 to 1
Sampler = Callable[[Sequence[int], Draw], list[int]]  # another way to spell the text of these symbols


@dataclass(frozen=True)
class Normaliser:
    """What is done to a text before it is split: a Unicode normal form, then small letters."""

    form: Normalisation = "none"
    lowercase: bool = False

    def library(self, *further: normalizers.Normalizer) -> normalizers.Normalizer | None:
        """The same for the library of Hugging Face, with further rules behind it."""
        form = {"none": None, "nfc": normalizers.NFC(), "nfkc": normalizers.NFKC()}[self.form]
        found = (form, normalizers.Lowercase() if self.lowercase else None, *further)
        rules = [rule for rule in found if rule is not None]
        return normalizers.Sequence(rules) if len(rules) > 1 else next(iter(rules), None)

    def apply(self, texts: Iterable[str]) -> Iterator[str]:
        rule = self.library()
        if rule is None:
            return iter(texts)
        # The library lowers a final sigma like any other, as the file will; str.lower would not.
        ascii_rule = str.lower if self.lowercase else str
        return (ascii_rule(text) if text.isascii() else rule.normalize_str(text) for text in texts)


@dataclass(frozen=True)
class Learned:
    """What training finds: a symbol an id, and what its kind needs to use them."""

    vocabulary: tuple[str, ...]
    merges: Merges = ()  # pairs of symbols that byte-pair encoding merges, in order
    scores: tuple[float, ...] = ()  # natural log-probabilities of the symbols of a unigram model
    document: str = ""  # a tokenizer of the user's own, whole, as JSON


@dataclass(frozen=True)
class Kind:
    """One kind of tokenizer: how it learns, how it encodes, and how its symbols become text again."""

    learn: Callable[[Any, Texts], Learned]
    encoder: Callable[[Learned, Normaliser], Encode]
    engine: Callable[[Learned, Normaliser], Engine]  # the same for the library of Hugging Face: the file
    text: Callable[[Learned], Callable[[Sequence[str]], str]]
    readable: Callable[[Learned], Callable[[str], str]]  # a symbol as a person wants to see it
    sampler: Callable[[Learned, float], Sampler] | None = None  # of other spellings, for training


def most_frequent(counts: Counter[str], size: int, minimum_count: int) -> Learned:
    """The specials, then the most frequent symbols; equal counts in the order of the alphabet, on every machine."""
    usable = [(-count, symbol) for symbol, count in counts.items() if count >= minimum_count and symbol not in SPECIALS]
    return Learned((*SPECIALS, *(symbol for _, symbol in sorted(usable)[: size - len(SPECIALS)])))


def numbered(learned: Learned) -> dict[str, int]:
    return {symbol: number for number, symbol in enumerate(learned.vocabulary)}


def ordinary(learned: Learned) -> dict[str, int]:
    """The numbers of symbols that may stand in a text; one that spells </s> is not END."""
    return {symbol: number for symbol, number in numbered(learned).items() if symbol not in SPECIALS}


def engine_of(model: models.Model, rule: normalizers.Normalizer | None) -> Engine:
    engine = Engine(model)
    if rule is not None:
        engine.normalizer = rule
    return engine
