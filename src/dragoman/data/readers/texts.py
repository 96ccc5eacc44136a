"""Whole texts from plain files: documents with blank lines between them, or a document a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.data.readers.files import Files
from dragoman.data.readers.formats import refuse_pipe
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.errors import DataError

Documents = Literal["blank_lines", "files"]


class Texts(Files):
    """Whole texts for a language model, from plain files: plain, gzip or zstd."""

    kind: Literal["texts"] = "texts"


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
