"""Bytes of UTF-8: 256 symbols and the four special ones; nothing is learned and nothing is unknown."""

from collections.abc import Sequence
from typing import Literal

from tokenizers import Tokenizer as Engine
from tokenizers import models

from dragoman.config import Config
from dragoman.data.tokenizers.base import (
    SPECIALS,
    Encode,
    Kind,
    Learned,
    Normalisation,
    Normaliser,
    Texts,
    numbered,
)
from dragoman.data.tokenizers.bytelevel import BYTE_OF, engine_over_bytes, readable, text

SYMBOLS = (*SPECIALS, *sorted(BYTE_OF, key=BYTE_OF.__getitem__))


class Bytes(Config):
    """A symbol a byte of UTF-8; any text comes back as it was."""

    kind: Literal["bytes"] = "bytes"
    normalisation: Normalisation = "nfc"
    """Unicode normal form that the text is brought into"""
    lowercase: bool = False
    """capital letters become small ones, for good"""


def learn(_config: Bytes, _texts: Texts) -> Learned:
    return Learned(SYMBOLS)


def encoder(_: Learned, normaliser: Normaliser) -> Encode:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[byte + len(SPECIALS) for byte in found.encode()] for found in normaliser.apply(texts)]

    return encode


def engine(learned: Learned, normaliser: Normaliser) -> Engine:
    """Byte-pair encoding without a merge looks up one byte after another."""
    return engine_over_bytes(models.BPE(numbered(learned), []), normaliser, words=False)


BYTES = Kind(learn, encoder, engine, text, readable)
