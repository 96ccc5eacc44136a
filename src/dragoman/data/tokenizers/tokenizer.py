"""A tokenizer: text to the numbers of symbols and back, kept as a tokenizer.json."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field
from tokenizers import Tokenizer as Engine

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    END,
    PADDING,
    START,
    UNKNOWN,
    UNREADABLE,
    Encode,
    Kind,
    KindName,
    Learned,
    Normaliser,
    Sampler,
    Texts,
)
from dragoman.data.tokenizers.bpe import BPE, Bpe
from dragoman.data.tokenizers.bytes import BYTES, Bytes
from dragoman.data.tokenizers.characters import CHARACTERS, Characters
from dragoman.data.tokenizers.conversation import Conversation, encode_turns
from dragoman.data.tokenizers.features import FEATURES, Features
from dragoman.data.tokenizers.file import FILE, File, read_document
from dragoman.data.tokenizers.letters import encode_spelled
from dragoman.data.tokenizers.reading import understood
from dragoman.data.tokenizers.unigram import UNIGRAM, Unigram
from dragoman.data.tokenizers.wordpiece import WORDPIECE, WordPiece
from dragoman.data.tokenizers.wordpunct import WORDPUNCT, Wordpunct
from dragoman.data.tokenizers.words import WORDS, Words
from dragoman.errors import ConfigError, DataError

KINDS: dict[KindName, Kind] = {
    "words": WORDS,
    "wordpunct": WORDPUNCT,
    "characters": CHARACTERS,
    "features": FEATURES,
    "bytes": BYTES,
    "bpe": BPE,
    "unigram": UNIGRAM,
    "wordpiece": WORDPIECE,
    "file": FILE,
}
Place = tuple[int, int]  # the first character of a text that a symbol stands for, and the one behind its last
Placed = tuple[list[int], list[Place]]  # symbols, and the place of each
WHOLE_WORDS: tuple[KindName, ...] = ("words", "wordpunct")  # whose symbols are words, never parts of them
RESERVED = frozenset({PADDING, START, END})  # never the number of anything in a text


class Shared(Config):
    """The tokenizer of the source for the target as well, learned from both sides; its sampling holds for both."""

    kind: Literal["shared"] = "shared"


TokenizerConfig = Annotated[
    Words | Wordpunct | Characters | Features | Bytes | Bpe | Unigram | WordPiece | File, Field(discriminator="kind")
]
TargetConfig = Annotated[
    Words | Wordpunct | Characters | Features | Bytes | Bpe | Unigram | WordPiece | File | Shared,
    Field(discriminator="kind"),
]


@dataclass(frozen=True)
class Tokenizer:
    """Text ↔ the numbers of symbols; START and END are added by whoever needs them."""

    kind: KindName
    normaliser: Normaliser
    learned: Learned
    reading: Conversation | None = None  # how much of a conversation is read; None: texts
    letters: int = 0  # of each word that are read beside its number

    @cached_property
    def engine(self) -> Engine:
        """The same tokenizer for the library of Hugging Face."""
        return KINDS[self.kind].engine(self.learned, self.normaliser)

    @cached_property
    def encoder(self) -> Encode:
        return KINDS[self.kind].encoder(self.learned, self.normaliser)

    @cached_property
    def text(self) -> Callable[[Sequence[str]], str]:
        return KINDS[self.kind].text(self.learned)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every symbol as a person wants to see it, made once, since an answer shows dozens of them."""
        return tuple(map(KINDS[self.kind].readable(self.learned), self.learned.vocabulary))

    @property
    def size(self) -> int:
        """Symbols in the vocabulary, the special ones counted."""
        return len(self.learned.vocabulary)

    @cached_property
    def hash(self) -> str:
        """sha256 of all that it knows, free of the library's version."""
        learned, normaliser = self.learned, self.normaliser
        rules = [normaliser.form, normaliser.lowercase]
        facts = [self.kind, rules, learned.vocabulary, learned.merges, learned.scores, learned.document]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text; one that spells a special symbol, such as </s>, never gets its number."""
        refuse_surrogates(texts)
        if self.letters:
            written = list(Normaliser(self.normaliser.form).apply(texts))  # letters keep their case
            return encode_spelled(self.encode_placed, written, self.letters)
        return self.encoder(texts) if self.reading is None else encode_turns(self.encoder, texts, self.reading)

    def of_conversations(self, reading: Conversation) -> "Tokenizer":
        """The same, which reads the turns of conversations where there are any to be read."""
        return replace(self, reading=reading) if reading.turns else self

    def with_letters(self, most: int) -> "Tokenizer":
        """The same, whose numbers also have the letters of their words, so many of each at most; 0: none."""
        if most and self.kind not in WHOLE_WORDS:
            raise ConfigError(
                f"The model reads the letters of words, and the tokenizer is of the kind {self.kind}. "
                "Set source.kind = 'words' or 'wordpunct', or read no letters."
            )
        return replace(self, letters=most) if most else self

    def encode_placed(self, texts: Sequence[str]) -> list[Placed]:
        """The same numbers, each with the characters of its text that it stands for, without the spaces around them."""
        refuse_surrogates(texts)
        found = self.engine.encode_batch(list(texts), add_special_tokens=False)
        return [(one.ids, places_in(text, one.offsets)) for text, one in zip(texts, found, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of symbols; an unknown one is written ⁇, the other special ones are left out."""
        names = self.learned.vocabulary
        return self.text(
            [UNREADABLE if number == UNKNOWN else names[number] for number in ids if number not in RESERVED]
        )

    def symbols(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The symbols as a person wants to see them, a space inside one as ▁."""
        return tuple(map(self.names.__getitem__, ids))

    def sampler(self, strength: float) -> Sampler:
        """Other spellings of encoded texts, for training: BPE dropout, or draws from a unigram model."""
        make = KINDS[self.kind].sampler
        if make is None:
            known = ", ".join(name for name, kind in KINDS.items() if kind.sampler is not None)
            raise ConfigError(
                f"A tokenizer of the kind {self.kind} has one spelling for a text, so that there is nothing to sample. "
                f"Set sampling to 0, or choose one of the kinds {known}."
            )
        return make(self.learned, strength)

    def as_json(self) -> str:
        """The content of its tokenizer.json, which the tokenizers library of Hugging Face reads as well."""
        return str(self.engine.to_str(pretty=True))

    @staticmethod
    def load(path: Path) -> "Tokenizer":
        """Read vocabulary, merges, kind and normalisation from a file of dragoman; nothing else in it is used."""
        content = read_document(path)
        try:
            tokenizer = Tokenizer(*understood(content))
            # What does not fit together (a merge without its symbol, a symbol of no bytes) is refused here, not in use.
            tokenizer.encode([tokenizer.decode(range(tokenizer.size))])
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises Exception itself, and its panics are not even that
            reason = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"{path} is no tokenizer of dragoman: {reason}. Train it again, or copy it again."
            ) from error
        return tokenizer


def places_in(text: str, offsets: Sequence[Place]) -> list[Place]:
    """Offsets of the library, which hold spaces before words, and of what a normal form joins only the first character:
    what is no space between two symbols belongs to the first, or else to the second."""
    places: list[Place] = []
    ends = [*(start for start, _ in offsets[1:]), len(text)][: len(offsets)]
    before = 0
    for (start, end), following in zip(offsets, ends, strict=True):
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        while end < following and start < end and not text[end].isspace():
            end += 1
        while start > before and start < end and not text[start - 1].isspace():
            start -= 1
        places.append((start, end))
        before = max(before, end)
    return places


def refuse_surrogates(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts, start=1):
        if text.isascii():
            continue
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            place = f"text {number}, character {error.start + 1}"
            raise DataError(f"Half of a character (a lone surrogate) in {place}. Send valid Unicode.") from error


class MoreTexts(Exception):
    """There are more texts than a vocabulary is learned from."""

    def __init__(self, total: int) -> None:
        super().__init__(total)
        self.total = total


def train_tokenizer(config: TokenizerConfig, texts: Texts, together: int = 1) -> Tokenizer:
    """Learn a vocabulary; the same texts in the same order give the same tokenizer. Where a sample is drawn, as many
    texts as stand `together` (both sides of a pair) stay together."""
    if isinstance(config, File):
        ours = made_by_us(Path(config.path))
        return ours or Tokenizer("file", Normaliser(), FILE.learn(config, texts))
    learn, normaliser = KINDS[config.kind].learn, Normaliser(config.normalisation, config.lowercase)
    most = getattr(config, "sample", 0)
    try:
        learned = learn(config, lambda: no_more_than(texts(), most))
    except MoreTexts as found:
        total = found.total
        learned = learn(config, lambda: spread(texts(), most, total, together))
    return Tokenizer(config.kind, normaliser, learned)


def no_more_than(texts: Iterator[str], most: int) -> Iterator[str]:
    """All texts; where there are more, their number is raised, since it is not known before their end."""
    for number, text in enumerate(texts):
        if number == most:
            raise MoreTexts(number + 1 + sum(1 for _ in texts))
        yield text


def spread(texts: Iterator[str], most: int, total: int, together: int = 1) -> Iterator[str]:
    """`most` of `total` texts at equal distances: a corpus may be sorted, and its beginning is not like the rest."""
    wanted, groups = max(1, most // together), total // together
    return (text for number, text in enumerate(texts) if is_drawn(number // together, wanted, groups))


def is_drawn(number: int, most: int, total: int) -> bool:
    return (number + 1) * most // total > number * most // total


def made_by_us(path: Path) -> Tokenizer | None:
    """The tokenizer in a file that dragoman wrote; None where another hand did."""
    content = read_document(path)
    try:
        tokenizer = Tokenizer(*understood(content))
        same = json.loads(tokenizer.as_json()) == content
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # as in Tokenizer.load
        return None
    return tokenizer if same else None
