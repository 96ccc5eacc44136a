"""Byte-pair encoding over bytes (Sennrich et al. 2016; Radford et al. 2019): no text is unknown."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated, Literal

from pydantic import Field, PositiveInt
from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers, trainers

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    LARGEST,
    SPECIALS,
    UNREADABLE,
    Encode,
    Kind,
    Learned,
    Normalisation,
    engine_of,
    numbered,
)

SMALLEST = len(SPECIALS) + 256  # every byte is a symbol
BETWEEN_WORDS = re.compile(r"(?<=\S)(?= \S)")
REMEMBERED = 100_000  # words
LONGEST_WORD = 40  # characters; a text without spaces is not worth remembering


class Bpe(Config):
    """Frequent strings of bytes are symbols; any text comes back as it was."""

    kind: Literal["bpe"] = "bpe"
    size: Annotated[int, Field(ge=SMALLEST, le=LARGEST)] = 8_000
    """symbols at most, the four special ones and the 256 bytes counted"""
    minimum_count: PositiveInt = 2
    """rarer pairs of symbols are not merged"""
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    sample: PositiveInt = 2_000_000
    """lines at most that the vocabulary is learned from"""


def learn(config: Bpe, texts: Iterator[str]) -> Learned:
    library = engine(Learned(()), config.normalisation)
    trainer = trainers.BpeTrainer(
        vocab_size=config.size,
        min_frequency=config.minimum_count,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    library.train_from_iterator(islice(texts, config.sample), trainer)
    model = json.loads(library.to_str())["model"]
    vocabulary = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return Learned(tuple(vocabulary), tuple((left, right) for left, right in model["merges"]))


def encoder(learned: Learned, normalisation: Normalisation) -> Encode:
    """No symbol reaches over a space between words, so a word that was met before is looked up: twice as fast."""
    library = engine(learned, normalisation)
    met: dict[str, list[int]] = {}

    def encode(texts: Sequence[str]) -> list[list[int]]:
        nonlocal met
        if len(met) > REMEMBERED:
            met = {}  # a new one, since another thread may be reading the old one
        known, rows = met, [BETWEEN_WORDS.split(text) for text in texts]
        fresh = list({word for row in rows for word in row if word not in known})
        found = library.encode_batch_fast(fresh, add_special_tokens=False)
        new = {word: encoding.ids for word, encoding in zip(fresh, found, strict=True)}
        known.update((word, ids) for word, ids in new.items() if len(word) <= LONGEST_WORD)
        return [[number for word in row for number in (known.get(word) or new.get(word, []))] for row in rows]

    return encode


def engine(learned: Learned, normalisation: Normalisation) -> Engine:
    """The split before the merges parts letters from signs, so that no merge can spell a special symbol."""
    library = engine_of(models.BPE(numbered(learned), list(learned.merges)), normalisation)
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    library.decoder = decoders.ByteLevel()
    return library


def alphabet() -> dict[str, int]:
    """The visible character that stands for each byte inside symbols: itself, or one from U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


BYTES = alphabet()


def bytes_of(symbol: str) -> bytes:
    return symbol.encode() if symbol == UNREADABLE else bytes(BYTES[character] for character in symbol)


def text(symbols: Sequence[str]) -> str:
    return b"".join(map(bytes_of, symbols)).decode("utf-8", errors="replace")


def readable(symbol: str) -> str:
    """Its text with spaces as ▁; the bytes of a torn character as <C3>."""
    if symbol in SPECIALS:
        return symbol
    return bytes_of(symbol).decode("utf-8", errors="surrogateescape").translate(VISIBLE)


VISIBLE = {0xDC00 + byte: f"<{byte:02X}>" for byte in range(128, 256)} | {ord(" "): "▁"}
BPE = Kind(learn, encoder, engine, text, readable)
