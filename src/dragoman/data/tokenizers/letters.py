"""The letters of each word, beside its number in a vocabulary: words that a vocabulary lacks have letters too."""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

NO_LETTER, WORD_START, WORD_END = 0, 1, 2
ALPHABET = 4096  # numbers of letters: three special ones, and code points modulo the others
OTHERS = ALPHABET - 3  # every alphabet below U+0FFD has numbers of its own

Letters = NDArray[np.uint16]
EncodePlaced = Callable[[Sequence[str]], Sequence[tuple[Sequence[int], Sequence[tuple[int, int]]]]]


class SpelledId(int):
    """The number of a word, which also has its letters: as many numbers of 16 bits as a tokenizer reads of a word."""

    letters: bytes

    def __new__(cls, number: int, letters: bytes) -> "SpelledId":
        made = super().__new__(cls, number)
        made.letters = letters
        return made


def letters_of(word: str, most: int) -> bytes:
    """The start mark, the letters as they are written, the end mark, no letter behind; of a longer word the first and
    the last ones, since endings tell as much as beginnings."""
    room = most - 2
    if len(word) > room:
        word = word[: room - room // 2] + word[len(word) - room // 2 :]
    row = np.full(most, NO_LETTER, np.uint16)
    row[0], row[len(word) + 1] = WORD_START, WORD_END
    row[1 : len(word) + 1] = [3 + ord(letter) % OTHERS for letter in word]
    return row.tobytes()


def encode_spelled(encode: EncodePlaced, texts: Sequence[str], most: int) -> list[list[int]]:
    """Words between spaces, each distinct one once, so that every number knows the letters that it stands for, as they
    are written."""
    split = [[word for word in text.split(" ") if word] for text in texts]
    words = list(dict.fromkeys(chain.from_iterable(split)))
    known: dict[str, list[int]] = {}
    for word, (numbers, places) in zip(words, encode(words), strict=True):
        pairs = zip(numbers, places, strict=True)
        known[word] = [SpelledId(number, letters_of(word[start:end], most)) for number, (start, end) in pairs]
    return [list(chain.from_iterable(map(known.__getitem__, row))) for row in split]


def spelled(rows: Sequence[Sequence[int]], most: int) -> Letters:
    """The letters of all symbols of all rows; special symbols have none."""
    none = bytes(2 * most)
    found = b"".join(getattr(symbol, "letters", none) for row in rows for symbol in row)
    return np.frombuffer(found, np.uint16).reshape(-1, most)
