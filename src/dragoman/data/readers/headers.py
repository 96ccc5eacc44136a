"""The first row of a table, or the fields of a record: which of them are the source and the target by their names."""

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

NAMES = (
    ("source", "target"),
    ("src", "tgt"),
    ("src", "trg"),
    ("input", "output"),
    ("input", "target"),
    ("question", "answer"),
    ("prompt", "response"),
    ("prompt", "completion"),
    ("instruction", "output"),
    ("text", "label"),
    ("text", "summary"),
    ("article", "summary"),
    ("document", "summary"),
    ("word", "pronunciation"),
    ("word", "phonemes"),
    ("graphemes", "phonemes"),
)
LANGUAGES = (
    " af ar bg bn ca cs cy da de el en eo es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja ka kk km kn ko la lt "
    "lv mk ml mn mr ms my nb ne nl nn no pa pl pt ro ru sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh afrikaans "
    "albanian arabic armenian basque bengali bulgarian burmese catalan chinese croatian czech danish dutch english "
    "esperanto estonian finnish french galician georgian german greek gujarati hebrew hindi hungarian icelandic "
    "indonesian irish italian japanese kannada kazakh khmer korean latin latvian lithuanian macedonian malay malayalam "
    "marathi mongolian nepali norwegian persian polish portuguese punjabi romanian russian serbian slovak slovenian "
    "spanish swahili swedish tagalog tamil telugu thai turkish ukrainian urdu uzbek vietnamese welsh "
)
LANGUAGE = re.compile(r"([a-z]{2})[-_][a-z]{2,4}|([a-z]+)", re.IGNORECASE)
SENTENCE = 8  # characters: two languages are a header above texts of such a length, else they may be words
TITLE = re.compile(r"[^\W\d]\w*")
ENOUGH = 5  # rows below a first one of single words that must be unlike it, for it to be a header


def known_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names of a header that are usual for the two sides, as they are written there."""
    lowered = {name.strip().lower(): name for name in reversed(names)}
    for source, target in NAMES:
        if source in lowered and target in lowered:
            return lowered[source], lowered[target]
    return ()


def languages(names: Sequence[str]) -> tuple[str, ...]:
    """The first two names that are languages or codes of them, such as 'en', 'pt-BR' or 'Dutch', if there are two."""
    found = [name for name in names if (match := LANGUAGE.fullmatch(name)) and is_language(match[1] or match[2])]
    return tuple(dict.fromkeys(found))[:2] if len(set(found)) > 1 else ()


def is_language(name: str) -> bool:
    return f" {name.lower()} " in LANGUAGES


def filled(names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of what holds something in half of the records or more."""
    return [name for name in names if 2 * sum(is_blank(record.get(name)) for record in records) <= len(records)]


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def sentences(rows: Sequence[Sequence[str]]) -> bool:
    lengths = [len(cell) for row in rows for cell in row]
    return bool(lengths) and median(lengths) >= SENTENCE


def is_title(rows: Sequence[Sequence[str]], source: int, target: int) -> bool:
    """Whether the first row has two different single words where all rows below have texts of several words: none of
    them is like it, and half of either side or more has two words."""
    pairs = [(row[source].strip(), row[target].strip()) for row in rows if len(row) > max(source, target)]
    if len(pairs) <= ENOUGH or len(set(pairs[0])) < 2:
        return False
    single = [all(TITLE.fullmatch(text) for text in pair) for pair in pairs]
    if not single[0] or any(single[1:]):
        return False
    return all(median(len(pair[side].split()) for pair in pairs[1:]) >= 2 for side in (0, 1))
