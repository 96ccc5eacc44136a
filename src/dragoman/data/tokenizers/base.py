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

KindName = Literal["words", "characters", "bpe"]
Normalisation = Literal["none", "nfc", "nfkc"]
Merges = tuple[tuple[str, str], ...]
Encode = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True)
class Learned:
    """What training finds: a symbol an id, and the pairs of symbols that are merged, in order."""

    vocabulary: tuple[str, ...]
    merges: Merges = ()


@dataclass(frozen=True)
class Kind:
    """One kind of tokenizer: how it learns, how it encodes, and how its symbols become text again."""

    learn: Callable[[Any, Iterator[str]], Learned]
    encoder: Callable[[Learned, Normalisation], Encode]
    engine: Callable[[Learned, Normalisation], Engine]  # the same for the library of Hugging Face: the file
    text: Callable[[Sequence[str]], str]
    readable: Callable[[str], str]  # a symbol as a person wants to see it


def normaliser(normalisation: Normalisation) -> normalizers.Normalizer | None:
    return {"none": None, "nfc": normalizers.NFC(), "nfkc": normalizers.NFKC()}[normalisation]


def normalised(texts: Iterable[str], normalisation: Normalisation) -> Iterator[str]:
    rule = normaliser(normalisation)
    if rule is None:
        return iter(texts)
    return (text if text.isascii() else rule.normalize_str(text) for text in texts)


def most_frequent(counts: Counter[str], size: int, minimum_count: int) -> Learned:
    """The specials, then the most frequent symbols; equal counts in the order of the alphabet, on every machine."""
    usable = [(-count, symbol) for symbol, count in counts.items() if count >= minimum_count and symbol not in SPECIALS]
    return Learned((*SPECIALS, *(symbol for _, symbol in sorted(usable)[: size - len(SPECIALS)])))


def numbered(learned: Learned) -> dict[str, int]:
    return {symbol: number for number, symbol in enumerate(learned.vocabulary)}


def ordinary(learned: Learned) -> dict[str, int]:
    """The numbers of symbols that may stand in a text; one that spells </s> is not END."""
    return {symbol: number for symbol, number in numbered(learned).items() if symbol not in SPECIALS}


def engine_of(model: models.Model, normalisation: Normalisation) -> Engine:
    engine = Engine(model)
    if normalisation != "none":
        engine.normalizer = normaliser(normalisation)
    return engine
