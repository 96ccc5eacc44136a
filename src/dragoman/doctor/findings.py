"""What was looked at, what was found, and what to do about it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """A problem keeps dragoman from working; a warning does not."""

    name: str
    state: Literal["ok", "warning", "problem"]
    found: str
    advice: str = ""
