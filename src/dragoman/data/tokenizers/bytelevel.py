"""What bytes, byte-pair encoding and unigrams share: symbols are strings of bytes, so that no text is unknown."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from tokenizers import Tokenizer as Engine
from tokenizers import decoders, models, pre_tokenizers

from dragoman.data.tokenizers.base import SPECIALS, UNREADABLE, Draw, Learned, Normaliser, Sampler, engine_of

BETWEEN_WORDS = re.compile(r"(?<=\S)(?= \S)")
SAMPLED = 20_000  # words whose other spellings are kept, which take more memory
LONGEST_WORD = 40  # characters; a text without spaces is not worth remembering
LONGEST_PART = 500  # bytes that are spelled in one go, since the time of BPE dropout grows with their square

Found = TypeVar("Found")


def alphabet() -> dict[str, int]:
    """The visible character that stands for each byte inside symbols: itself, or one from U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {chr(byte): byte for byte in visible} | {chr(256 + number): byte for number, byte in enumerate(hidden)}


BYTE_OF = alphabet()
VISIBLE = {0xDC00 + byte: f"<{byte:02X}>" for byte in range(128, 256)} | {ord(" "): "▁"}


def engine_over_bytes(model: models.Model, normaliser: Normaliser, words: bool = True) -> Engine:
    """The split into words parts letters from signs, so that no symbol can spell a special one."""
    library = engine_of(model, normaliser.library())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=words)
    library.decoder = decoders.ByteLevel()
    return library


def sampling_words(
    learned: Learned, prepare: Callable[[str], Found], spell: Callable[[Found, Draw], list[int]]
) -> Sampler:
    """Spells word after word; what `prepare` finds out about a word is remembered."""
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True).pre_tokenize_str
    raw = [None if symbol in SPECIALS else bytes_of(symbol) for symbol in learned.vocabulary]
    met: dict[str, list[Found]] = {}

    def parts_of(word: str) -> list[Found]:
        if (parts := met.get(word)) is None:
            whole = [part for part, _ in split(word)]
            parts = [prepare(part[i : i + LONGEST_PART]) for part in whole for i in range(0, len(part), LONGEST_PART)]
            if len(met) >= SAMPLED:
                met.clear()
            if len(word) <= LONGEST_WORD:
                met[word] = parts
        return parts

    def sample(ids: Sequence[int], draw: Draw) -> list[int]:
        try:
            text = b"".join([raw[number] for number in ids]).decode("utf-8")  # type: ignore[misc]
        except (UnicodeDecodeError, TypeError):  # it was cut within a character, or holds a special symbol
            return list(ids)
        return [number for word in BETWEEN_WORDS.split(text) for part in parts_of(word) for number in spell(part, draw)]

    return sample


def bytes_of(symbol: str) -> bytes:
    return symbol.encode() if symbol == UNREADABLE else bytes([BYTE_OF[character] for character in symbol])


def joined(symbols: Sequence[str]) -> str:
    return b"".join(map(bytes_of, symbols)).decode("utf-8", errors="replace")


def visible(symbol: str) -> str:
    """Its text with spaces as ▁; the bytes of a torn character as <C3>."""
    if symbol in SPECIALS:
        return symbol
    return bytes_of(symbol).decode("utf-8", errors="surrogateescape").translate(VISIBLE)


def text(_: Learned) -> Callable[[Sequence[str]], str]:
    return joined


def readable(_: Learned) -> Callable[[str], str]:
    return visible
