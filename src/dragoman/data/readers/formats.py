"""How a file holds its pairs: what was asked for, else what its name and its first lines tell."""

import csv
import json
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from dragoman.data.readers.columns import Columns, inflection_names, recognized
from dragoman.data.readers.headers import filled, is_title, known_names, languages, sentences
from dragoman.data.readers.lines import LONGEST_LINE, checked_lines
from dragoman.errors import DataError, nearest

FormatName = Literal["auto", "tsv", "csv", "jsonl", "parallel"]

SNIFFED_LINES = 100
SNIFFED_CHARACTERS = 64_000
DEEPEST = 8  # fields within fields that are listed
DELIMITERS = (",", ";", "\t", "|")
ENDINGS = {".tsv": "tsv", ".tab": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}


@dataclass(frozen=True)
class Wanted:
    """What the settings say of the format; empty fields are found out."""

    format: FormatName = "auto"
    source: tuple[str, ...] = ()  # names of columns or fields, or numbers of columns from 1
    target: str = ""
    conversations: bool = field(default=False, repr=False)  # and no pairs: turns, or an id, a text and a speaker
    turns: str = field(default="", repr=False)
    id: str = field(default="", repr=False)
    text: str = field(default="", repr=False)
    speaker: str = field(default="", repr=False)
    likely: bool = field(default=False, repr=False)  # source and target hold for the files that have them

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the source, where there are several."""
        return self.source if len(self.source) > 1 else ()

    @property
    def fields(self) -> tuple[str, ...]:
        """Those of conversations."""
        return (self.turns, self.id, self.text, self.speaker)

    def as_json(self) -> str:
        """The names of these fields, as the weights of a run keep them."""
        names = ("source", "target") if self.columns else FIELDS
        return json.dumps({name: getattr(self, name) for name in names if getattr(self, name)}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Wanted":
        """Of conversations, or of several source columns; names that are missing, or unreadable, are found out."""
        try:
            found = json.loads(text or "{}")
            if "source" in found:
                return Wanted("auto", tuple(map(str, found["source"])), str(found.get("target", "")), likely=True)
            turns, name, text, speaker = (str(found.get(name, "")) for name in FIELDS)
            return replace(CONVERSATIONS, turns=turns, id=name, text=text, speaker=speaker)
        except (ValueError, AttributeError, TypeError, RecursionError):
            return CONVERSATIONS


AUTO, CONVERSATIONS = Wanted(), Wanted(conversations=True)
FIELDS = ("turns", "id", "text", "speaker")  # of conversations


@dataclass(frozen=True)
class Layout:
    """How the pairs of a file are laid out."""

    kind: Literal["tsv", "csv", "jsonl", "text"]
    source: tuple[int | str, ...] = (0,)  # columns from 0, or fields of an object
    target: int | str = 1
    columns: int = 2
    delimiter: str = "\t"
    header: tuple[str, ...] = ()
    recognized: str = ""  # what the columns were taken for by what they hold

    def __str__(self) -> str:
        """CSV with header, source = 'en', target = 'nl'"""
        if self.kind == "text":
            return "lines of plain text"
        source, target = (" and ".join(map(repr, self.names_of(fields))) for fields in (self.source, (self.target,)))
        fields = f"source = {source}, target = {target}"
        if self.kind == "jsonl":
            return f"JSON lines, {fields}"
        ends = {";": " between semicolons", "|": " between bars", "\t": " between tabs"}
        title = self.kind.upper() + (ends.get(self.delimiter, "") if self.kind == "csv" else "")
        if self.header:
            return f"{title} with header, {fields}"
        if self.recognized:
            return f"{title} without header, {self.recognized} (source = column {source}, target = column {target})"
        if len(self.source) > 1:
            return f"{title} without header, source = columns {source}, target = column {target}"
        return f"{title} without header" if self.is_usual else f"{title} without header, columns {source} and {target}"

    @property
    def is_usual(self) -> bool:
        return (self.source, self.target, self.columns) == ((0,), 1, 2)

    def names_of(self, fields: Sequence[int | str]) -> list[str | int]:
        """Names of a header or of fields; else numbers of columns from 1."""
        return [one if isinstance(one, str) else self.header[one] if self.header else one + 1 for one in fields]

    @property
    def wanted(self) -> Wanted:
        """The same columns, for other files that have them."""
        return Wanted("auto", tuple(map(str, self.names_of(self.source))), str(self.names_of([self.target])[0]))


def sniff(file: str, wanted: Wanted) -> Layout:
    """The layout of a file, from its name and its first lines."""
    if wanted.likely:
        try:
            return sniff(file, replace(wanted, likely=False))
        except DataError:
            return sniff(file, AUTO)
    refuse_pipe(file)
    lines = first_lines(file)
    kind = kind_of(file, lines, wanted)
    if not lines and kind == "text" and wanted.format == "auto":
        refuse_unreadable(file)
    if kind == "jsonl":
        return json_layout(file, lines, wanted)
    if kind == "tsv":
        return table_layout(file, [line.split("\t") for line in lines], wanted, Layout("tsv"))
    if kind == "csv":
        delimiter = delimiter_of(lines)
        return table_layout(file, rows_of(lines, delimiter), wanted, Layout("csv", delimiter=delimiter))
    return Layout("text")


def refuse_pipe(file: str) -> None:
    if os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode):
        raise DataError(f"{file} is a pipe, which can be read once only. Pipe into the command and name '-' instead.")


def readable_lines(file: str, wanted: str) -> list[str]:
    """The same, or a sentence where there is none, as in a binary file."""
    found = first_lines(file, wanted)
    if not found:
        refuse_unreadable(file)
    return found


def first_lines(file: str, wanted: str = "one pair") -> list[str]:
    """The texts of the first good lines that hold something."""
    found: list[str] = []
    room = SNIFFED_CHARACTERS
    for line in islice(checked_lines(file, wanted), SNIFFED_LINES):
        if line.text.strip():
            found.append(line.text)
        room -= len(line.text)
        if room < 0:
            break
    return found


def refuse_unreadable(file: str) -> None:
    """Where not one of the first lines could be read, say why the first could not."""
    first = next((line for line in islice(checked_lines(file), SNIFFED_LINES) if line.reason), None)
    if first is not None:
        raise DataError(
            f"{file}:{first.number}: {first.reason}, and none of the lines behind it can be read either. If it is text "
            f"in another encoding, convert it, e.g. with iconv -f UTF-16 -t UTF-8 {file}."
        )


def kind_of(file: str, lines: list[str], wanted: Wanted) -> str:
    if wanted.format != "auto":
        return "text" if wanted.format == "parallel" else wanted.format
    name = Path(file).name.lower().removesuffix(".gz").removesuffix(".zst")
    named = ENDINGS.get(Path(name).suffix)
    if named is not None:
        return named
    if lines and all(isinstance(parsed(line), dict) for line in lines):
        return "jsonl"
    if sum("\t" in line for line in lines) * 2 >= len(lines) > 0:
        return "tsv"
    first = rows_of(lines[:1], ",")
    return "csv" if first and known_names(first[0]) else "text"


def parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def json_layout(file: str, lines: list[str], wanted: Wanted) -> Layout:
    """Fields by their settings, their usual names, or the first two that hold a text."""
    if lines and lines[0].lstrip().startswith("["):
        raise DataError(
            f"{file} is a JSON array, not JSON lines, which are an object a line. Convert it: jq -c '.[]' {file} > "
            f"{Path(file).stem}.jsonl"
        )
    records = [record for line in lines if isinstance(record := parsed(line), dict)]
    known = list(paths_of(records[0])) if records else []
    for name in filter(None, (*wanted.source, wanted.target)):
        if not any(has_field(record, name) for record in records):
            raise missing_field(file, name, known)
    names = [name for name, value in records[0].items() if isinstance(value, str)] if records else []
    if (inflection := inflection_names(names)) and not wanted.source and wanted.target in ("", inflection[1]):
        return Layout("jsonl", *inflection)
    found = known_names(filled(names, records)) or known_names(names) or languages(names) or tuple(names[:2])
    if len(found) < 2 and not (wanted.source and wanted.target):
        raise DataError(
            f"{file} has no two fields of text in its first line{listed(known)}. Set data.source_field and "
            "data.target_field to the names of its fields, or data.format to what it is."
        )
    source, target = completed(wanted, tuple(found), names)
    return Layout("jsonl", source, target)


def paths_of(record: dict[str, Any], before: str = "") -> Iterator[str]:
    """The names of all fields; one inside another is written translation.en."""
    for name, value in record.items():
        if isinstance(value, dict) and value and before.count(".") < DEEPEST:
            yield from paths_of(value, f"{before}{name}.")
        else:
            yield f"{before}{name}"


def has_field(record: dict[str, Any], name: str) -> bool:
    try:
        field_of(record, name)
    except KeyError:
        return False
    return True


def field_of(record: dict[str, Any], name: str) -> Any:
    """The value of a field, or of one inside another: translation.en."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        if not isinstance(value, dict):
            raise KeyError(name)
        value = value[part]
    return value


def completed(wanted: Wanted, found: tuple[str, ...], names: list[str]) -> tuple[tuple[str, ...], str]:
    """Both sides when one or none was asked for: the other is the first field that is left."""
    source, target = wanted.source, wanted.target
    if not source and not target:
        return (found[0],), found[1]
    rest = [name for name in (*found, *names) if name not in (*source, target)]
    return source or (rest[0],), target or rest[0]


def table_layout(file: str, rows: list[list[str]], wanted: Wanted, plain: Layout) -> Layout:
    """Columns by their settings, by a header with usual names, by what they hold, or the first two of two."""
    columns = usual_length(rows) if rows else 2
    first = [cell.strip() for cell in rows[0]] if rows else []
    names = refuse_missing(file, wanted, columns, first)
    found = columns_by_name(rows, first) or recognized(rows)
    chosen = chosen_columns(wanted, first, found or Columns((0,), 1))
    headed = names or (found is not None and not found.recognized) or is_title(rows, chosen.source[0], chosen.target)
    header = tuple(first) if headed else ()
    if header and rows[1:] and len(header) != (cells := usual_length(rows[1:])):
        raise DataError(
            f"{file} has a header of {len(header)} cells above rows of {cells}. Write a name for every column and no "
            "more (in R: row.names=FALSE), and quote cells that hold the delimiter."
        )
    if columns > 2 and found is None and not (wanted.source and wanted.target):
        raise DataError(
            f"{file} has {columns} columns ({', '.join(shown(cell) for cell in first[:6])}). Say which hold the pairs: "
            "names of columns, or numbers from 1, e.g. data.source_field=1 data.target_field=2; several source columns "
            "are written data.source_field=[1,3]."
        )
    note = chosen.recognized if chosen == found else ""
    return Layout(plain.kind, chosen.source, chosen.target, max(columns, 2), plain.delimiter, header, note)


def refuse_missing(file: str, wanted: Wanted, columns: int, header: list[str]) -> bool:
    """Whether columns are asked for by the names of a header; one that is not there is an error."""
    fields = [*wanted.source, *filter(None, [wanted.target])]
    for name in fields:
        if name.isdecimal() and not 1 <= int(name) <= columns:
            raise DataError(f"{file} has {columns} columns: a field must be 1 to {columns}, not {name}.")
        if not name.isdecimal() and name not in header:
            raise missing_field(file, name, header)
    return any(not name.isdecimal() for name in fields)


def columns_by_name(rows: list[list[str]], header: list[str]) -> Columns | None:
    """Those that a header names in a usual way."""
    below = [dict(zip(header, row, strict=False)) for row in rows[1:]]
    if inflection := inflection_names(header):
        sources, target = inflection
        return Columns(tuple(map(header.index, sources)), header.index(target))
    usual = known_names(filled(header, below)) or known_names(header)
    usual = usual or (languages(header) if sentences(rows[1:]) else ())
    return Columns((header.index(usual[0]),), header.index(usual[1])) if usual else None


def chosen_columns(wanted: Wanted, header: list[str], found: Columns) -> Columns:
    """What is asked for, and for the rest what was found; of both sides one column, if it is asked for on one of them,
    belongs to that side."""
    target = position(wanted.target, header, found.target)
    if not wanted.source:
        rest = [column for column in found.source if column != target] or [found.target]
        return found if target == found.target else Columns(tuple(rest), target)
    source = tuple(position(name, header, 0) for name in wanted.source)
    if target in source and not wanted.target:
        target = next((column for column in found.source if column not in source), found.target)
    return Columns(source, target)


def usual_length(rows: list[list[str]]) -> int:
    return Counter(map(len, rows)).most_common(1)[0][0]


def position(name: str, header: list[str], default: int) -> int:
    if not name:
        return default
    return int(name) - 1 if name.isdecimal() else header.index(name)


def delimiter_of(lines: list[str]) -> str:
    """The one that cuts most lines into the same number of fields, two at least, and two if that is undecided."""

    def agreement(delimiter: str) -> tuple[int, bool]:
        counts = Counter(len(row) for row in rows_of(lines, delimiter) if len(row) > 1)
        columns, count = counts.most_common(1)[0] if counts else (0, 0)
        return count, columns == 2

    return max(DELIMITERS, key=agreement)


def rows_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """Rows of CSV among the first lines, broken ones left out; the last one may be cut off."""
    reader = csv_rows((f"{line}\n" for line in lines), delimiter)
    rows: list[list[str]] = []
    while True:
        try:
            rows.append(next(reader))
        except StopIteration:
            return [row for row in rows if row]
        except csv.Error:
            continue


def csv_rows(lines: Iterable[str], delimiter: str, strict: bool = False) -> Iterator[list[str]]:
    """The rows of CSV; spaces behind a delimiter belong to no cell."""
    csv.field_size_limit(LONGEST_LINE + 1)
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=True)


def missing_field(file: str, name: str, known: list[str]) -> DataError:
    return DataError(f"{file} has no field '{name}'.{nearest(name, known)}{listed(known, ' It has')}")


def listed(names: list[str], before: str = "; it has") -> str:
    end = "." if before.startswith(" ") else ""
    return f"{before} {', '.join(shown(name) for name in names[:12])}{end}" if names else ""


def shown(text: str) -> str:
    return f"'{text}'" if len(text) <= 30 else f"'{text[:29]}…'"
