"""A pair of texts, and what keeps two texts from being one."""

import re
from dataclasses import dataclass

# What JSON may spell with an escape and no checked line holds.
UNREADABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


@dataclass(frozen=True)
class Pair:
    """A source, its target, and the line they stand on, counted over all files of the corpus."""

    source: str
    target: str
    line: int  # 1-based
    together: str = ""  # what is held out as a whole (a conversation); empty: pairs of one source


def unreadable(*texts: str) -> str:
    """Why texts from JSON or an array cannot be read, or nothing."""
    return "holds a control character" if any(UNREADABLE.search(text) for text in texts) else ""


def empty_side(*source: str, target: str) -> str:
    """Why texts are no pair, or nothing; of several source columns each holds something."""
    if all(text.strip() for text in source):
        return "" if target.strip() else "empty target"
    return "empty source"


def one_line(text: str) -> str:
    """A text without line breaks, since an answer is a line."""
    return text.replace("\r\n", " ").replace("\n", " ") if "\n" in text else text
