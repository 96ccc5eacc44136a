"""Conversations whose last turn is to be answered: a line each, or a table with an id in each row."""

from collections import deque
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any

from dragoman.data.readers.conversations import (
    COMES_BACK,
    EXAMPLE,
    REMEMBERED,
    TURNS,
    Turn,
    conversation_layout,
    digest,
    is_header,
    joined,
    listed,
    turns_in,
    value_of,
)
from dragoman.data.readers.formats import (
    CONVERSATIONS,
    Wanted,
    delimiter_of,
    first_lines,
    kind_of,
    parsed,
    refuse_pipe,
    rows_of,
    usual_length,
)
from dragoman.data.readers.lines import Problems
from dragoman.data.tokenizers.conversation import MOST_TURNS, as_text
from dragoman.errors import DataError

ALIKE = 0.9  # of the rows of a table without a header have as many columns as most


def history_in(line: str, place: str, wanted: Wanted = CONVERSATIONS) -> str:
    """What is said on a line, to be answered: JSON with turns, or turns with tabs between them."""
    if not line.lstrip().startswith("{"):
        return as_text(turn.strip() for turn in line.split("\t"))
    record = parsed(line)
    if not isinstance(record, dict):
        raise DataError(
            f"{place}: not valid JSON. A conversation is written {EXAMPLE}, or with tabs between its turns."
        )
    return history_of(record, place, wanted)


def history_of(record: dict[str, Any], place: str, wanted: Wanted = CONVERSATIONS) -> str:
    """What is said in an object with turns, in the field that was asked for or one of a usual name."""
    names = [wanted.turns, *TURNS] if wanted.turns else TURNS
    field = next((name for name in names if isinstance(value_of(record, name), list)), names[0])
    reason, said = listed(record, field)
    if reason:
        raise DataError(f"{place}: {reason}. A conversation is written {EXAMPLE}.")
    return as_text(turn.text for turn in joined(Turn(text, speaker, 0) for text, speaker in said))


def is_table(file: str, wanted: Wanted = CONVERSATIONS) -> bool:
    """Whether a file that is called a table is one with an id in each row, and not turns with tabs between them: it has
    a header, or an id that comes again in the next row. CSV without tabs can be nothing else."""
    refuse_pipe(file)
    lines = first_lines(file, "one conversation")
    delimiter = delimiter_of(lines) if kind_of(file, lines, wanted) == "csv" else "\t"
    if not any("\t" in line for line in lines):
        return delimiter != "\t"
    rows = [line.split("\t") for line in lines] if delimiter == "\t" else rows_of(lines, delimiter)
    return is_header([cell.strip() for cell in rows[0]], wanted) or has_ids(rows, wanted)


def has_ids(rows: list[list[str]], wanted: Wanted) -> bool:
    """Whether rows are about equally long, and one has the id of the row before it."""
    columns = usual_length(rows)
    even = [row for row in rows if len(row) == columns]
    if columns < 2 or len(even) < ALIKE * len(rows):
        return False
    at = int(wanted.id) - 1 if wanted.id.isdecimal() and 1 <= int(wanted.id) <= columns else 0
    ids = [row[at].strip() for row in even]
    return any(one and one == other for one, other in pairwise(ids))


def histories_of_table(file: str, wanted: Wanted = CONVERSATIONS) -> Iterator[str]:
    """What is said in each conversation of a table, to be answered; empty lines are passed over."""
    for _, rows in groupby(rows_together(file, wanted), key=lambda one: one[0]):
        said = joined(turn for _, turn in rows)
        yield as_text(turn.text for turn in deque(said, maxlen=MOST_TURNS))


def rows_together(file: str, wanted: Wanted) -> Iterator[tuple[str, Turn]]:
    """(the id of its conversation, a turn); a row that cannot be read is a mistake, and so is an id that comes back."""
    current, ended = "", set[bytes]()
    for name, turn in turns_in(file, conversation_layout(file, wanted), Problems(), 0):
        wrong = turn.gap
        if name is not None and name != current:
            wrong = COMES_BACK if digest(name) in ended else ""
            ended |= {digest(current)} if len(ended) < REMEMBERED else set()
            current = name
        if wrong:
            raise DataError(f"{file}:{turn.line}: {wrong}. Mend the table, or leave such rows out.")
        yield current, turn
