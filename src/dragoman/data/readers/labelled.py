"""Texts with a label each: tables with named columns (TSV, CSV) or JSON lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import PositiveInt, field_validator

from dragoman.data.readers.example import Example, Examples
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import Wanted as Format
from dragoman.data.readers.formats import (
    delimiter_of,
    field_of,
    first_lines,
    has_field,
    kind_of,
    listed,
    missing_field,
    parsed,
    paths_of,
    refuse_pipe,
    rows_of,
    usual_length,
)
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE, one_line
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.tables import records
from dragoman.errors import DataError

# What columns of texts and labels are usually called, in small letters.
TWO = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("text1", "text2"),
    ("question", "sentence"),
)
ONE = ("sentence", "text", "review", "document", "content", "comment", "utterance", "question", "title")
LABELS = ("label", "labels", "gold_label", "class", "category", "score", "similarity", "sentiment", "intent", "rating")


class Labelled(FilesWithAnswers):
    """Texts, one or two, with a label or a number each, from tables with named columns (TSV, CSV) or JSON lines; plain,
    gzip or zstd."""

    kind: Literal["labelled"] = "labelled"
    format: Literal["auto", "tsv", "csv", "jsonl"] = "auto"
    """how the files hold their examples; auto looks at their names and first lines"""
    text_field: str = ""
    """name, or number from 1, of the column or field of the texts (empty: found out)"""
    second_field: str = ""
    """the same for the second texts, where model.sentences = "two" """
    label_field: str = ""
    """the same for the labels"""
    max_length: PositiveInt = 200
    """tokens of the longest text; of two texts together"""
    longer: Literal["drop", "truncate"] = "truncate"
    """what becomes of a longer one"""

    @field_validator("text_field", "second_field", "label_field", mode="before")
    @classmethod
    def _a_number_is_a_column(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given


@dataclass(frozen=True)
class Columns:
    """Where the texts and the label of an example stand: columns from 0, or names of fields."""

    kind: str  # tsv, csv or jsonl
    fields: tuple[int | str, ...]  # of the texts, and last that of the label
    header: tuple[str, ...] = ()
    columns: int = 0
    delimiter: str = "\t"

    def __str__(self) -> str:
        """TSV with header, text = 'sentence', label = 'label'"""
        names = [self.header[field] if self.header and isinstance(field, int) else field for field in self.fields]
        shown = [repr(name) if isinstance(name, str) else f"column {name + 1}" for name in names]
        titles = ("text", "label") if len(shown) == 2 else ("first", "second", "label")
        format_ = (
            "JSON lines" if self.kind == "jsonl" else f"{self.kind.upper()} with{'' if self.header else 'out'} header"
        )
        return f"{format_}, {', '.join(f'{title} = {name}' for title, name in zip(titles, shown, strict=True))}"


def read_labelled(data: Labelled, files: Sequence[str], two: bool, problems: Problems) -> Examples:
    """Stream the good examples of files; bad lines go to `problems`."""
    for file in files:
        columns = columns_of(file, data, two)
        before = problems.begin(file, 0)
        for number, reason, cells in cells_of(file, columns, problems):
            texts, label = tuple(map(one_line, cells[:-1])), cells[-1].strip() if cells else ""
            why = reason or empty(texts, label)
            if why:
                problems.add(file, number, why)
            else:
                yield Example(texts, (label,), before + number)


def read_labelled_split(data: Labelled, name: SplitName, two: bool, problems: Problems) -> Examples:
    """The examples of a split; what is held out depends on their texts alone."""
    examples = read_labelled(data, data.files(name), two, problems)
    return (one for one in examples if data.keeps("\t".join(one.texts), name))


def empty(texts: Sequence[str], label: str) -> str:
    """Why an example is none, or nothing."""
    if not all(text.strip() for text in texts):
        return "empty sentence"
    return "" if label else "empty label"


def cells_of(file: str, columns: Columns, problems: Problems) -> Iterator[tuple[int, str, list[str]]]:
    """(line, why it is no example, texts and label)"""
    lines = problems.counted(checked_lines(file, "one example"))
    if columns.kind == "jsonl":
        for line in lines:
            yield line.number, *((line.reason, []) if line.reason else fields_of(line.text, columns.fields))
        return
    rows = (
        records(lines, columns.delimiter)
        if columns.kind == "csv"
        else ((line.number, line.text.split("\t"), line.reason) for line in lines)
    )
    headed = bool(columns.header)
    for number, cells, reason in rows:
        if headed and any(cell.strip() for cell in cells):
            headed = False
        else:
            yield number, *((reason, []) if reason else chosen(cells, columns))


def chosen(cells: list[str], columns: Columns) -> tuple[str, list[str]]:
    if not any(cell.strip() for cell in cells):
        return "empty line", []
    if len(cells) != columns.columns:
        return f"too {'few' if len(cells) < columns.columns else 'many'} columns", []
    return "", [cells[int(field)] for field in columns.fields]


def fields_of(line: str, names: Sequence[int | str]) -> tuple[str, list[str]]:
    if not line.strip():
        return "empty line", []
    record = parsed(line)
    if not isinstance(record, dict):
        return "no JSON object", []
    found: list[str] = []
    for name in map(str, names):
        try:
            value = field_of(record, name)
        except KeyError:
            return f"no field '{name}'", []
        if len(found) == len(names) - 1 and isinstance(value, int | float):
            value = str(value).lower() if isinstance(value, bool) else str(value)
        if not isinstance(value, str):
            return f"field '{name}' is no text", []
        if UNREADABLE.search(value):
            return "holds a control character", []
        found.append(value)
    return "", found


def columns_of(file: str, data: Labelled, two: bool) -> Columns:
    """Where texts and labels stand: as the settings say, else by usual names, else in order."""
    refuse_pipe(file)
    lines = first_lines(file, "one example")
    kind = kind_of(file, lines, Format(data.format))
    wanted = (data.text_field, *((data.second_field,) if two else ()), data.label_field)
    if kind == "jsonl":
        first = next((record for line in lines if isinstance(record := parsed(line), dict)), {})
        known = list(paths_of(first))
        for name in filter(None, wanted):
            if not has_field(first, name):
                raise missing_field(file, name, known)
        return Columns(kind, found_names(file, wanted, known, two))
    if kind == "text":
        raise DataError(
            f"{file} holds lines of plain text without tabs, so that there is no label. Give a table with a header, "
            "such as sentence<TAB>label, or set data.format."
        )
    delimiter = delimiter_of(lines) if kind == "csv" else "\t"
    rows = rows_of(lines, delimiter) if kind == "csv" else [line.split("\t") for line in lines]
    return in_table(
        file, [[cell.strip() for cell in row] for row in rows], wanted, Columns(kind, (), delimiter=delimiter)
    )


def in_table(file: str, rows: list[list[str]], wanted: Sequence[str], plain: Columns) -> Columns:
    """A header is what holds the names that are asked for, or usual ones."""
    first, columns, two = rows[0] if rows else [], usual_length(rows) if rows else 0, len(wanted) == 3
    named = [name for name in wanted if name and not name.isdecimal()]
    for name in named:
        if name not in first:
            raise missing_field(file, name, first)
    for name in wanted:
        if name.isdecimal() and not 1 <= int(name) <= columns:
            raise DataError(f"{file} has {columns} columns: a field must be 1 to {columns}, not {name}.")
    numbered = [str(number) for number in range(1, columns + 1)]
    headed = bool(named) or bool(usual(first, LABELS) and (usual(first, ONE) or usual_two(first)))
    if not headed and not all(wanted) and columns != len(wanted):
        raise unclear(file, first, two)
    names = (
        found_names(file, wanted, first, two)
        if headed and not all(wanted)
        else tuple(name or number for name, number in zip(wanted, numbered, strict=False))
    )
    fields = tuple(int(name) - 1 if name.isdecimal() and name not in named else first.index(name) for name in names)
    return Columns(plain.kind, fields, tuple(first) if headed else (), columns, plain.delimiter)


def found_names(file: str, wanted: Sequence[str], known: list[str], two: bool) -> tuple[str, ...]:
    """What was asked for, and usual names in the place of the rest."""
    pair = usual_two(known)
    if not two and pair and not wanted[0] and not usual(known, ONE[:4]):
        raise DataError(
            f"{file} has two texts, '{pair[0]}' and '{pair[1]}', and model.sentences = 'one' reads one. Set "
            f"model.sentences=two, or data.text_field={pair[0]} to read that one alone."
        )
    texts = pair if two else (usual(known, ONE),)
    usually = (*(texts or ("", "")), usual(known, LABELS))
    found = tuple(name or other for name, other in zip(wanted, usually, strict=True))
    if not all(found):
        raise unclear(file, known, two)
    return found


def usual(known: Sequence[str], names: Sequence[str]) -> str:
    """The first usual name that is there, as it is written there."""
    lowered = {name.lower(): name for name in reversed(known)}
    return next((lowered[name] for name in names if name in lowered), "")


def usual_two(known: Sequence[str]) -> tuple[str, str] | None:
    found = ((usual(known, (one,)), usual(known, (other,))) for one, other in TWO)
    return next((pair for pair in found if all(pair)), None)


def unclear(file: str, known: list[str], two: bool) -> DataError:
    second = " data.second_field=2" if two else ""
    texts = "texts" if two else "text"
    return DataError(
        f"It is not clear which columns of {file} hold {texts} and label{listed(known)}. Name them, or number them "
        f"from 1: data.text_field=1{second} data.label_field={3 if two else 2}."
    )
