"""JSON lines: an object a line, two of whose fields are the pair."""

import json
from collections.abc import Iterator
from typing import Any

from dragoman.data.readers.formats import Layout, field_of
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import UNREADABLE, Pair, empty_side, one_line


def read_jsonl(file: str, layout: Layout, problems: Problems, corpus: int) -> Iterator[Pair]:
    before = problems.begin(file, corpus)
    names = str(layout.source), str(layout.target)
    for line in problems.counted(checked_lines(file)):
        reason, source, target = (line.reason, "", "") if line.reason else fields_of(line.text, names)
        if reason := reason or empty_side(source, target):
            problems.add(file, line.number, reason)
        else:
            yield Pair(source, target, before + line.number)


def fields_of(line: str, names: tuple[str, str]) -> tuple[str, str, str]:
    """(why it is no pair, source, target)"""
    if not line.strip():
        return "empty line", "", ""
    try:
        record: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "not valid JSON", "", ""
    if not isinstance(record, dict):
        return "no JSON object", "", ""
    texts: list[str] = []
    for name in names:
        try:
            value = field_of(record, name)
        except KeyError:
            return f"no field '{name}'", "", ""
        if not isinstance(value, str):
            return f"field '{name}' is no text", "", ""
        if UNREADABLE.search(value):
            return "holds a control character", "", ""
        texts.append(one_line(value))
    return "", texts[0], texts[1]
