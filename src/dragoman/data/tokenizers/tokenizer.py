"""A tokenizer: text to the numbers of symbols and back, kept as a tokenizer.json."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from tokenizers import Tokenizer as Engine

from dragoman.data.tokenizers.base import (
    END,
    PADDING,
    SPECIALS,
    START,
    UNKNOWN,
    UNREADABLE,
    Encode,
    KindName,
    Learned,
    Normalisation,
)
from dragoman.data.tokenizers.bpe import BPE, Bpe
from dragoman.data.tokenizers.characters import CHARACTERS, Characters
from dragoman.data.tokenizers.words import WORDS, Words
from dragoman.errors import ConfigError, DataError

TokenizerConfig = Annotated[Words | Characters | Bpe, Field(discriminator="kind")]
KINDS = {"words": WORDS, "characters": CHARACTERS, "bpe": BPE}
LARGEST_FILE = 64_000_000  # bytes
RESERVED = frozenset({PADDING, START, END})  # never the number of anything in a text


@dataclass(frozen=True)
class Tokenizer:
    """Text ↔ the numbers of symbols; START and END are added by whoever needs them."""

    kind: KindName
    normalisation: Normalisation
    learned: Learned

    @cached_property
    def engine(self) -> Engine:
        """The same tokenizer for the library of Hugging Face."""
        return KINDS[self.kind].engine(self.learned, self.normalisation)

    @cached_property
    def encoder(self) -> Encode:
        return KINDS[self.kind].encoder(self.learned, self.normalisation)

    @property
    def size(self) -> int:
        """Symbols in the vocabulary, the special ones counted."""
        return len(self.learned.vocabulary)

    @cached_property
    def hash(self) -> str:
        """sha256 of all that it knows, free of the library's version."""
        facts = [self.kind, self.normalisation, self.learned.vocabulary, self.learned.merges]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text; one that spells a special symbol, such as </s>, never gets its number."""
        refuse_surrogates(texts)
        return self.encoder(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of symbols; an unknown one is written ⁇, the other special ones are left out."""
        names = self.learned.vocabulary
        kept = [UNREADABLE if number == UNKNOWN else names[number] for number in ids if number not in RESERVED]
        return KINDS[self.kind].text(kept)

    def symbols(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The symbols as a person wants to see them, a space inside one as ▁."""
        readable = KINDS[self.kind].readable
        return tuple(readable(self.learned.vocabulary[number]) for number in ids)

    def as_json(self) -> str:
        """The content of its tokenizer.json."""
        return str(self.engine.to_str(pretty=True))

    def save(self, path: Path) -> None:
        """Write a tokenizer.json, which the tokenizers library of Hugging Face reads as well."""
        path.write_text(self.engine.to_str(pretty=True), encoding="utf-8")

    @staticmethod
    def load(path: Path) -> "Tokenizer":
        """Read vocabulary, merges, kind and normalisation from a file; nothing else in it is used."""
        content = read_json(path)
        try:
            tokenizer = understood(content)
            # What does not fit together (a merge without its symbol, a symbol of no bytes) is refused here, not in use.
            tokenizer.encode([tokenizer.decode(range(tokenizer.size))])
        except Exception as error:  # the library raises Exception itself
            raise ConfigError(
                f"{path} is no tokenizer of dragoman: {error}. Train it again, or copy it again."
            ) from error
        return tokenizer


def refuse_surrogates(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, start=1):
        if text.isascii():
            continue
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            place = f"text {number}, character {error.start + 1}"
            raise DataError(f"Half of a character (a lone surrogate) in {place}. Send valid Unicode.") from error


def train_tokenizer(config: TokenizerConfig, texts: Iterator[str]) -> Tokenizer:
    """Learn a vocabulary; the same texts in the same order give the same tokenizer."""
    learned = KINDS[config.kind].learn(config, texts)
    return Tokenizer(config.kind, config.normalisation, learned)


def read_json(path: Path) -> Any:
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(f"Cannot read the tokenizer {path}: {error.strerror}.") from error
    if len(raw) > LARGEST_FILE:
        raise ConfigError(f"{path} is larger than a tokenizer may be ({LARGEST_FILE:,} bytes).")
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not valid JSON: {str(error)[:100]}. Train it again, or copy it again.") from error


def understood(content: Any) -> Tokenizer:
    """The facts of a tokenizer.json, each checked; raises ValueError with what is wrong."""
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict):
        raise ValueError("it has no model")
    learned = Learned(vocabulary_of(model.get("vocab")), tuple(merge_of(pair) for pair in model.get("merges") or ()))
    return Tokenizer(kind_of(content, model), normalisation_of(content), learned)


def kind_of(content: dict[str, Any], model: dict[str, Any]) -> KindName:
    split = (content.get("pre_tokenizer") or {}).get("type")
    kinds: dict[Any, KindName] = {
        ("WordLevel", "Split"): "words",
        ("BPE", None): "characters",
        ("BPE", "ByteLevel"): "bpe",
    }
    if (model.get("type"), split) not in kinds:
        raise ValueError(f"its model is {model.get('type')} with {split}; known are {', '.join(KINDS)}")
    return kinds[model.get("type"), split]


def normalisation_of(content: dict[str, Any]) -> Normalisation:
    found = (content.get("normalizer") or {}).get("type")
    known: dict[Any, Normalisation] = {None: "none", "NFC": "nfc", "NFKC": "nfkc"}
    if found not in known:
        raise ValueError(f"its normaliser is {found}; known are NFC and NFKC")
    return known[found]


def vocabulary_of(numbers: Any) -> tuple[str, ...]:
    if not isinstance(numbers, dict) or sorted(numbers.values()) != list(range(len(numbers))):
        raise ValueError("its symbols are not numbered 0, 1, 2, …")
    vocabulary = tuple(sorted(numbers, key=numbers.__getitem__))
    if vocabulary[: len(SPECIALS)] != SPECIALS:
        raise ValueError(f"its first symbols are not {' '.join(SPECIALS)}")
    return vocabulary


def merge_of(pair: Any) -> tuple[str, str]:
    parts = pair.split(" ") if isinstance(pair, str) else pair
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise ValueError("a merge is not a pair of symbols")
    return parts[0], parts[1]
