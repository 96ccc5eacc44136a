"""A text or two with a label, or words with a tag each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dragoman.data.readers.lines import Problems, place_of


@dataclass(frozen=True)
class Example:
    """What is read, what is said of it, and the line that it begins on, counted over all files."""

    texts: tuple[str, ...]  # a text, or two; or the words of a sentence
    labels: tuple[str, ...]  # one; or a tag a word
    line: int  # 1-based


@runtime_checkable
class Told(Protocol):
    """Whatever has labels: a text, a sentence, frames."""

    @property
    def labels(self) -> tuple[str, ...]: ...

    @property
    def line(self) -> int: ...


def leave_out(problems: Problems, line: int, reason: str, kind: str = "") -> None:
    """Count and locate an example that cannot be used, by its line over all files; `kind` as Problems count it."""
    file, _, number = place_of(problems.files, line).rpartition(":")
    problems.add(file, int(number), reason, kind)


Examples = Iterator[Example]
