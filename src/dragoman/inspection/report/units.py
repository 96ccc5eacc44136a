"""The pieces that a text is compared in: what stands between spaces, or characters."""

from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_WORD = 15  # characters on average: longer ones are a script without spaces


@dataclass(frozen=True)
class Unit:
    """How a text is cut, and what the pieces are called."""

    name: str  # plural
    between: str  # "" or " "

    def cut(self, text: str) -> list[str]:
        return text.split() if self.between else list(text)


CHARACTERS = Unit("characters", "")
WORDS = Unit("words", " ")
PHONEMES = Unit("phonemes", " ")


def source_unit(kind: str, texts: Sequence[str]) -> Unit:
    """Characters where the tokenizer takes them or there is hardly a space, else words."""
    pieces = sum(len(text.split()) for text in texts)
    apart = sum(map(len, texts)) <= LONGEST_WORD * pieces
    return WORDS if kind not in ("characters", "features") and apart else CHARACTERS


def target_unit(kind: str, texts: Sequence[str], metrics: Sequence[str]) -> Unit:
    unit = source_unit(kind, texts)
    return PHONEMES if unit == WORDS and "phoneme_error_rate" in metrics else unit
