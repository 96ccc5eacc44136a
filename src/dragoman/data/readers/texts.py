"""Whole texts from plain files: documents with blank lines between them, or a document a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from dragoman.config import Config, practical
from dragoman.data.readers.corpora import expanded
from dragoman.data.readers.formats import refuse_pipe
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pairs import SplitName
from dragoman.errors import DataError

Documents = Literal["blank_lines", "files"]


class Texts(Config):
    """Whole texts for a language model, from plain files: plain, gzip or zstd."""

    kind: Literal["texts"] = "texts"
    train: tuple[str, ...] = practical(())
    """files or patterns (*.txt) to learn from"""
    valid: tuple[str, ...] = practical(())
    """the same to validate on"""
    max_bad: Annotated[float, Field(ge=0, le=1)] = practical(0.01)
    """share of bad lines above which training refuses to start"""

    @field_validator("train", "valid", mode="before")
    @classmethod
    def _files(cls, given: Any) -> Any:
        names = (given,) if isinstance(given, str) else given
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) and name for name in names):
            raise ValueError(
                f'must be files of text, e.g. ["book.txt", "news-*.txt.gz"], not {given!r}; a source and a target '
                "are for data.kind = 'pairs'"
            )
        return names

    def has(self, name: SplitName) -> bool:
        return bool(getattr(self, name, ()))

    def files(self, name: SplitName) -> tuple[str, ...]:
        """All files that a split is read from."""
        return tuple(file for pattern in getattr(self, name, ()) for file in expanded(pattern))


@dataclass(frozen=True)
class Piece:
    """A line of a text; a line feed stands before it unless a document begins with it."""

    text: str
    line: int  # 1-based, counted over all files
    first: bool  # of its document


def read_texts(files: Sequence[str], documents: Documents, problems: Problems) -> Iterator[Piece]:
    """Stream the lines of texts; bad ones go to `problems`, and what stands before and behind one is then one text."""
    for file in files:
        refuse_pipe(file)
        before, begun = problems.begin(file, 0), False
        for line in problems.counted(checked_lines(file, "a line of text")):
            if line.reason:
                problems.add(file, line.number, line.reason)
            elif documents == "blank_lines" and not line.text.strip():
                begun = False
            else:
                yield Piece(line.text, before + line.number, not begun)
                begun = True


def refuse_bad(problems: Problems, max_bad: float) -> None:
    """Stop before anything is trained when more than this share of the lines is bad."""
    if problems.count > max_bad * problems.lines:
        raise DataError(
            f"{problems.count:,} bad lines among {problems.lines:,} are more than data.max_bad = {max_bad:g} allows; "
            f"nothing was done.\n{problems.summary()}\nMend these lines, or raise data.max_bad to go on without them."
        )
