"""JSON lines: an object a line, two of whose fields are the pair."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dragoman.data.readers.columns import joined
from dragoman.data.readers.formats import Layout, field_of, parsed
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE, Pair, empty_side, one_line
from dragoman.errors import DataError


def read_jsonl(file: str, layout: Layout, problems: Problems, corpus: int) -> Iterator[Pair]:
    before = problems.begin(file, corpus)
    names = [*map(str, layout.source), str(layout.target)]
    for line in problems.counted(checked_lines(file)):
        reason, texts = (line.reason, []) if line.reason else fields_of(line.text, names)
        if reason := reason or empty_side(*texts[:-1], target=texts[-1]):
            problems.add(file, line.number, reason)
        else:
            yield Pair(joined(texts[:-1]), texts[-1], before + line.number)


def fields_of(line: str, names: Sequence[str]) -> tuple[str, list[str]]:
    """(why it is no pair, the texts of the fields)"""
    if not line.strip():
        return "empty line", []
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "not valid JSON", []
    if not isinstance(record, dict):
        return "no JSON object", []
    return texts_of(record, names)


def texts_of(record: Mapping[str, Any], names: Sequence[str]) -> tuple[str, list[str]]:
    """(why it has not all of them, the texts of the fields)"""
    texts: list[str] = []
    for name in names:
        try:
            value = field_of(dict(record), name)
        except KeyError:
            return f"no field '{name}'", []
        if not isinstance(value, str):
            return f"field '{name}' is no text", []
        if UNREADABLE.search(value):
            return "holds a control character", []
        texts.append(one_line(value))
    return "", texts


def source_of(record: Mapping[str, Any], names: Sequence[str], place: str) -> str:
    """The source in an object that has a text for every column."""
    reason, texts = texts_of(record, names)
    if reason:
        raise DataError(f"{place}: {reason}. This model reads the fields {', '.join(names)}.")
    return joined(texts)


def source_in(line: str, names: Sequence[str], place: str) -> str:
    """The source on a line: columns with tabs between them, or a JSON object; nothing on an empty line."""
    record = parsed(line) if line.lstrip().startswith("{") else None
    if isinstance(record, dict):
        return source_of(record, names, place)
    cells = line.split("\t")
    if line.strip() and len(cells) != len(names):
        numbers = ",".join(names) if all(name.isdecimal() for name in names) else "NUMBERS"
        raise DataError(
            f"{place} has {counted(len(cells))}, and this model reads {len(names)}: {'<TAB>'.join(names)}. Of a table "
            f"take these alone (cut -f{numbers}), or give JSON lines."
        )
    return joined(cells)


def counted(columns: int) -> str:
    return "one column" if columns == 1 else f"{columns} columns"
