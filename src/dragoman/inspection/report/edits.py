"""Which pieces of an answer went wrong: the fewest edits between it and a reference."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LONGEST = 2_000  # pieces of a text that are compared


@dataclass(frozen=True)
class Edit:
    """A place of the alignment: both sides equal, different (substituted), or one of them empty."""

    expected: str | None  # None: the answer has a piece too many
    got: str | None  # None: the answer lacks a piece

    @property
    def wrong(self) -> bool:
        return self.expected != self.got


def align(expected: Sequence[str], got: Sequence[str]) -> tuple[Edit, ...]:
    """Walk back through the table of edit distances, of which only rises and falls down each column are kept."""
    expected, got = expected[:LONGEST], got[:LONGEST]
    columns = list(slopes(expected, got))
    row, column = len(expected), len(got)
    edits: list[Edit] = []
    while row or column:
        if row and column and expected[row - 1] == got[column - 1]:
            row, column = row - 1, column - 1
            edits.append(Edit(expected[row], got[column]))
        elif row and columns[column][0] >> (row - 1) & 1:
            row -= 1
            edits.append(Edit(expected[row], None))
        elif row == 0 or columns[column - 1][1] >> (row - 1) & 1:
            column -= 1
            edits.append(Edit(None, got[column]))
        else:
            row, column = row - 1, column - 1
            edits.append(Edit(expected[row], got[column]))
    return tuple(reversed(edits))


def slopes(expected: Sequence[str], got: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Column by column, a bit a cell: where it is one more, and one less, than the cell above it (Hyyrö 2003)."""
    places: dict[str, int] = {}
    for place, piece in enumerate(expected):
        places[piece] = places.get(piece, 0) | 1 << place
    every = (1 << len(expected)) - 1
    rises, falls = every, 0
    yield rises, falls
    for piece in got:
        equal = places.get(piece, 0)
        level = (((equal & rises) + rises) ^ rises) | equal | falls
        across_up = (falls | ~(level | rises)) << 1 | 1
        across_down = (rises & level) << 1
        rises, falls = (across_down | ~(level | across_up)) & every, across_up & level & every
        yield rises, falls
