"""Conversations: JSON lines with the turns of one each, or tables with a turn a row and an id.

Every turn from the second on is an example, and what was said before it its source.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal

from dragoman.data.readers.formats import (
    Wanted,
    delimiter_of,
    field_of,
    first_lines,
    has_field,
    kind_of,
    missing_field,
    parsed,
    paths_of,
    refuse_pipe,
    rows_of,
    shown,
    usual_length,
)
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE, Pair, one_line
from dragoman.data.readers.tables import records
from dragoman.data.tokenizers.conversation import MOST_TURNS, as_text
from dragoman.errors import DataError

TURNS = ("turns", "messages", "utterances", "dialogue", "dialog", "conversation")
IDS = ("id", "conversation_id", "conversation", "dialogue_id", "dialog_id", "dialogue", "dialog", "convo_id")
TEXTS = ("text", "utterance", "message", "content", "turn")  # a column "turn" may hold the numbers of turns
SPEAKERS = ("speaker", "role", "sender", "user", "author", "from")
LONGEST_TURN = 20_000  # characters; a longer one is no turn
REMEMBERED = 1_000_000  # ids of a table, as hashes, of which it is known whether they come back

EXAMPLE = '{"turns": ["Hi!", "Hello."]}'
ONE_TURN = "a conversation of one turn, with nothing to answer"
EMPTY_TURN = "an empty turn; the conversation begins anew behind it"
LONG_TURN = f"a turn of more than {LONGEST_TURN:,} characters; the conversation begins anew behind it"
COMES_BACK = "an id that comes back behind another conversation; rows of one conversation must stand together"


@dataclass(frozen=True)
class ConversationLayout:
    """How the conversations of a file are laid out."""

    kind: Literal["jsonl", "tsv", "csv"]
    turns: str = ""  # of JSON lines: the field that holds them
    id: int = 0  # of tables: columns from 0
    text: int = 1
    speaker: int | None = None
    columns: int = 2
    delimiter: str = "\t"
    header: tuple[str, ...] = ()

    def __str__(self) -> str:
        """conversations in TSV, id = 'dialog', text = 'utterance'"""
        if self.kind == "jsonl":
            return f"conversations in JSON lines, turns = '{self.turns}'"
        named = {"id": self.id, "text": self.text} | ({} if self.speaker is None else {"speaker": self.speaker})
        fields = [f"{name} = {self.header[at] if self.header else at + 1!r}" for name, at in named.items()]
        return f"conversations in {self.kind.upper()}, {', '.join(fields)}"


@dataclass(frozen=True)
class Turn:
    """What somebody said, and the line it stands on."""

    text: str
    speaker: str
    line: int
    gap: str = ""  # why a row that stands here cannot be read; nothing was said then


def conversation_layout(file: str, wanted: Wanted) -> ConversationLayout:
    """From the settings, the file's name and its first lines."""
    refuse_pipe(file)
    lines = first_lines(file, "one conversation")
    kind = kind_of(file, lines, wanted)
    if kind == "jsonl":
        return json_layout(file, lines, wanted)
    if kind not in ("tsv", "csv"):
        raise DataError(
            f"{file} holds no conversations: they are JSON lines with a list of turns each ({EXAMPLE}), or a table "
            "with an id and a text in each row, in the order in which they were said. Convert it, or set data.format "
            "to what it is."
        )
    delimiter = "\t" if kind == "tsv" else delimiter_of(lines)
    rows = [line.split("\t") for line in lines] if kind == "tsv" else rows_of(lines, delimiter)
    return table_layout(file, rows, wanted, "tsv" if kind == "tsv" else "csv", delimiter)


def json_layout(file: str, lines: Sequence[str], wanted: Wanted) -> ConversationLayout:
    records = [record for line in lines if isinstance(record := parsed(line), dict)]
    known = list(paths_of(records[0])) if records else []
    names = [wanted.turns] if wanted.turns else list(TURNS)
    found = [name for name in names if any(has_field(record, name) for record in records)]
    if wanted.turns and not found and records:
        raise missing_field(file, wanted.turns, known)
    lists = [name for name in found if any(isinstance(value_of(record, name), list) for record in records)]
    if not lists and records:
        raise DataError(
            f"{file} has no list of turns in its first line; it has {', '.join(map(shown, known[:12]))}. Set "
            "data.turns_field to the name of the field that holds the turns of a conversation."
        )
    return ConversationLayout("jsonl", turns=(lists or names)[0])


def value_of(record: dict[str, Any], name: str) -> Any:
    return field_of(record, name) if has_field(record, name) else None


def table_layout(
    file: str, rows: list[list[str]], wanted: Wanted, kind: Literal["tsv", "csv"], delimiter: str
) -> ConversationLayout:
    """Columns by their settings or a header with usual names; without a header id and text, or id, speaker and text."""
    columns = usual_length(rows) if rows else 2
    first = [cell.strip() for cell in rows[0]] if rows else []
    if columns < 2:
        raise DataError(f"{file} has one column: a conversation needs an id and a text in each row.")
    named = [found_column(file, name, usual, first, columns) for name, usual in asked_columns(wanted)]
    headed = is_header(first, wanted)
    spoken = columns == 3 and not headed
    id_column = named[0] if named[0] is not None else 0
    text = named[1] if named[1] is not None else 2 if spoken else 1
    speaker = named[2] if named[2] is not None or not spoken else 1
    if columns > 3 and not headed and (named[0] is None or named[1] is None):
        raise DataError(
            f"{file} has {columns} columns ({', '.join(shown(cell) for cell in first[:6])}). Say which hold the id of "
            "a conversation and what was said: data.id_field=1 data.text_field=3, names of columns or numbers from 1."
        )
    if id_column == text:
        raise DataError(f"{file}: data.id_field and data.text_field are the same column. Set both.")
    header = tuple(first) if headed else ()
    return ConversationLayout(kind, "", id_column, text, speaker, columns, delimiter, header)


def is_header(cells: Sequence[str], wanted: Wanted) -> bool:
    """Whether a row has the names of columns: those that were asked for, or usual ones."""
    return any(name in cells for name in (wanted.id, wanted.text, wanted.speaker) if name) or (
        usual_column(IDS, cells) is not None and usual_column(TEXTS, cells) is not None
    )


def asked_columns(wanted: Wanted) -> list[tuple[str, tuple[str, ...]]]:
    return [(wanted.id, IDS), (wanted.text, TEXTS), (wanted.speaker, SPEAKERS)]


def found_column(file: str, name: str, usual: Sequence[str], header: list[str], columns: int) -> int | None:
    """The column of a name or number, else of a usual name, if there is one."""
    if not name:
        return usual_column(usual, header)
    if name.isdecimal():
        if not 1 <= int(name) <= columns:
            raise DataError(f"{file} has {columns} columns: a field must be 1 to {columns}, not {name}.")
        return int(name) - 1
    if name not in header:
        raise missing_field(file, name, header)
    return header.index(name)


def usual_column(names: Sequence[str], header: Sequence[str]) -> int | None:
    lowered = [cell.lower() for cell in header]
    return next((lowered.index(name) for name in names if name in lowered), None)


def read_conversations(file: str, layout: ConversationLayout, problems: Problems, corpus: int) -> Iterator[Pair]:
    """Stream the examples of a file; what is no conversation goes to `problems`."""
    before = problems.begin(file, corpus)
    if layout.kind == "jsonl":
        return read_records(file, layout, problems, before)
    return read_rows(file, layout, problems, before)


def read_records(file: str, layout: ConversationLayout, problems: Problems, before: int) -> Iterator[Pair]:
    for line in problems.counted(checked_lines(file, "one conversation")):
        reason, turns = (line.reason, []) if line.reason else spoken_in(line.text, layout.turns, before + line.number)
        if not reason:
            yield from examples(turns, as_text(turn.text for turn in turns))
            reason = reason_against(turns)
        if reason:
            problems.add(file, line.number, reason)


def reason_against(turns: Sequence[Turn]) -> str:
    """What is wrong with a conversation of which the rest is learned from, or nothing."""
    if len(turns) < 2:
        return ONE_TURN
    wrong = (fault(turn.text) for turn in turns)
    return next(filter(None, wrong), "")


def fault(text: str) -> str:
    """Why a text is no turn, or nothing."""
    if not text.strip():
        return EMPTY_TURN
    return LONG_TURN if len(text) > LONGEST_TURN else ""


def spoken_in(line: str, field: str, number: int) -> tuple[str, list[Turn]]:
    """(why it is no conversation, its turns); what one speaker says without a break is one turn."""
    if not line.strip():
        return "empty line", []
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "not valid JSON", []
    reason, said = listed(record, field)
    return reason, list(joined(Turn(text, speaker, number) for text, speaker in said))


def listed(record: Any, field: str) -> tuple[str, list[tuple[str, str]]]:
    """(why it is no conversation, what was said and by whom)"""
    if not isinstance(record, dict):
        return "no JSON object", []
    turns = value_of(record, field)
    if not isinstance(turns, list):
        return f"field '{field}' is no list of turns" if has_field(record, field) else f"no field '{field}'", []
    said = []
    for turn in turns:
        text, speaker = (turn, "") if isinstance(turn, str) else spoken_by(turn)
        if text is None:
            return "a turn that is no text: a turn is a text, or an object with text and speaker", []
        if UNREADABLE.search(text):
            return "holds a control character", []
        said.append((one_line(text).strip(), speaker))
    return ("", said) if said else ("a conversation without turns", [])


def spoken_by(turn: Any) -> tuple[str | None, str]:
    """Text and speaker of an object, if it is one."""
    if not isinstance(turn, dict):
        return None, ""
    text = next((turn[name] for name in TEXTS if isinstance(turn.get(name), str)), None)
    speaker = next((str(turn[name]) for name in SPEAKERS if isinstance(turn.get(name), str | int)), "")
    return text, speaker


def joined(turns: Iterable[Turn]) -> Iterator[Turn]:
    """What one speaker says without a break is one turn; where nobody is named, all are kept apart."""
    held: Turn | None = None
    for turn in turns:
        same = held is not None and turn.speaker and turn.speaker == held.speaker
        if same and held is not None and turn.text and held.text and len(held.text) <= LONGEST_TURN:
            held = Turn(f"{held.text} {turn.text}", held.speaker, held.line)
            continue
        if held is not None:
            yield held
        held = turn
    if held is not None:
        yield held


def examples(turns: Iterable[Turn], together: str) -> Iterator[Pair]:
    """Each turn with what was said before it; all of them are held out together."""
    history: deque[str] = deque(maxlen=MOST_TURNS)
    for turn in turns:
        if fault(turn.text):
            history.clear()
            continue
        if history:
            yield Pair(as_text(history), turn.text, turn.line, together)
        history.append(turn.text)


@dataclass
class Rows:
    """A table read turn by turn; what ends a conversation is the id of another."""

    file: str
    problems: Problems
    before: int
    current: str | None = None
    comes_back: bool = False
    said: int = 0  # turns of the current conversation
    first: int = 0  # its first line

    def __post_init__(self) -> None:
        self.ended: set[bytes] = set()

    def begin(self, conversation: str, line: int) -> None:
        self.end()
        self.current, self.said, self.first = conversation, 0, line
        self.comes_back = digest(conversation) in self.ended

    def checked(self, turns: Iterable[Turn]) -> Iterator[Turn]:
        """Turns as they are learned, so that what is wrong with those that were joined is told, too."""
        for turn in turns:
            if not turn.gap:
                self.said += 1
                if why := fault(turn.text):
                    self.problems.add(self.file, turn.line - self.before, why)
            yield turn

    def end(self) -> None:
        if self.current is None:
            return
        if self.said == 1 and not self.comes_back:
            self.problems.add(self.file, self.first - self.before, ONE_TURN)
        if len(self.ended) < REMEMBERED:
            self.ended.add(digest(self.current))


def digest(conversation: str) -> bytes:
    return blake2b(conversation.encode(), digest_size=8).digest()


def read_rows(file: str, layout: ConversationLayout, problems: Problems, before: int) -> Iterator[Pair]:
    """One conversation after the other, as their rows come."""
    rows = Rows(file, problems, before)
    held: deque[tuple[str | None, Turn]] = deque()
    stream = turns_in(file, layout, problems, before)

    def conversation(begun: str) -> Iterator[Turn]:
        """The turns up to another id, whose first is held back; a gap is an empty turn, which begins all anew."""
        while held and held[0][0] in (begun, None):
            name, turn = held.popleft()
            if name is not None and rows.comes_back:
                problems.add(file, turn.line - before, COMES_BACK)
            else:
                yield turn
            held.extend(one for one in [next(stream, None)] if one is not None)

    held.extend(one for one in [next(stream, None)] if one is not None)
    while held:
        name, turn = held[0]
        if name is not None:
            rows.begin(name, turn.line)
        yield from examples(rows.checked(joined(conversation(name or ""))), name or "")
    rows.end()


def turns_in(
    file: str, layout: ConversationLayout, problems: Problems, before: int
) -> Iterator[tuple[str | None, Turn]]:
    """(the id of its conversation, a turn); rows that cannot be read go to `problems`, and leave a gap of no id, since
    what stands behind one does not answer what stands before it."""
    headed = bool(layout.header)
    for number, cells, reason in cells_of(file, layout, problems):
        if headed and cells:
            headed = False
            continue
        if not reason and len(cells) <= 1 and not any(cell.strip() for cell in cells):
            reason = "empty line"
        if not reason and len(cells) != layout.columns:
            reason = f"too {'few' if len(cells) < layout.columns else 'many'} columns"
        if not reason and not cells[layout.id].strip():
            reason = "no id of a conversation"
        if reason:
            problems.add(file, number, reason)
            if reason != "empty line":
                yield None, Turn("", "", before + number, reason)
            continue
        speaker = "" if layout.speaker is None else cells[layout.speaker].strip()
        yield cells[layout.id].strip(), Turn(one_line(cells[layout.text]).strip(), speaker, before + number)


def cells_of(file: str, layout: ConversationLayout, problems: Problems) -> Iterator[tuple[int, list[str], str]]:
    """(line, its cells, why it has none)"""
    lines = problems.counted(checked_lines(file, "one conversation"))
    if layout.kind == "csv":
        return records(lines, layout.delimiter)
    return ((line.number, line.text.split("\t"), line.reason) for line in lines)
