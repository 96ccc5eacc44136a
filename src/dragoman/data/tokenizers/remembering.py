"""Encoding word by word, with what was met before looked up: twice as fast as the library alone."""

from collections.abc import Callable, Sequence

from tokenizers import Tokenizer as Engine

from dragoman.data.tokenizers.base import Encode

REMEMBERED = 100_000  # words
LONGEST_WORD = 40  # characters; a text without spaces is not worth remembering


def remembering(library: Engine, split: Callable[[str], list[str]]) -> Encode:
    """`split` cuts a text where no symbol can reach over."""
    met: dict[str, list[int]] = {}

    def encode(texts: Sequence[str]) -> list[list[int]]:
        nonlocal met
        if len(met) > REMEMBERED:
            met = {}  # a new one, since another thread may be reading the old one
        known, rows = met, [split(text) for text in texts]
        fresh = list({word for row in rows for word in row if word not in known})
        found = library.encode_batch_fast(fresh, add_special_tokens=False)
        new = {word: encoding.ids for word, encoding in zip(fresh, found, strict=True)}
        known.update((word, ids) for word, ids in new.items() if len(word) <= LONGEST_WORD)
        return [[number for word in row for number in (known.get(word) or new.get(word, []))] for row in rows]

    return encode
