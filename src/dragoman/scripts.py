"""Scripts that matter here, above all those that write no spaces between words."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

Script = Literal["han", "kana", "hangul", "thai", "lao", "khmer", "burmese", "other"]

RANGES: tuple[tuple[int, int, Script], ...] = (
    (0x0E00, 0x0E7F, "thai"),
    (0x0E80, 0x0EFF, "lao"),
    (0x1000, 0x109F, "burmese"),
    (0x1100, 0x11FF, "hangul"),
    (0x1780, 0x17FF, "khmer"),
    (0x3005, 0x3007, "han"),
    (0x3040, 0x30FF, "kana"),
    (0x3130, 0x318F, "hangul"),
    (0x31F0, 0x31FF, "kana"),
    (0x3400, 0x4DBF, "han"),
    (0x4E00, 0x9FFF, "han"),
    (0xA9E0, 0xA9FF, "burmese"),
    (0xAC00, 0xD7FF, "hangul"),
    (0xF900, 0xFAFF, "han"),
    (0xFF66, 0xFF9D, "kana"),
    (0x20000, 0x3FFFF, "han"),
)
WIDE_SIGNS = ((0x3000, 0x303F), (0xFF01, 0xFF65))  # punctuation that stands between such characters
SPACED: tuple[Script, ...] = ("hangul", "other")


def script_of(character: str) -> Script:
    number = ord(character)
    return next((script for first, last, script in RANGES if first <= number <= last), "other")


def is_spaceless(character: str) -> bool:
    """Whether no space is written beside it: a sign of such a script, or its wide punctuation."""
    wide = any(first <= ord(character) <= last for first, last in WIDE_SIGNS)
    return wide or script_of(character) not in SPACED


def count_scripts(texts: Iterable[str]) -> Counter[Script]:
    """How many letters and vowel signs of each script there are; digits, punctuation and spaces count nowhere."""
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    scripts: Counter[Script] = Counter()
    for character, count in characters.items():
        script = script_of(character)
        if script != "other" or character.isalpha():
            scripts[script] += count
    return scripts
