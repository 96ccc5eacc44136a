"""Tables: a pair a row, between tabs (TSV, where a quote is a character like any other) or quoted (CSV)."""

import csv
from collections import deque
from collections.abc import Iterator

from dragoman.data.readers.columns import joined
from dragoman.data.readers.formats import Layout, csv_rows
from dragoman.data.readers.lines import LONGEST_LINE, Line, Problems, checked_lines
from dragoman.data.readers.pair import Pair, empty_side, one_line


def read_tsv(file: str, layout: Layout, problems: Problems, corpus: int) -> Iterator[Pair]:
    before = problems.begin(file, corpus)
    headed = bool(layout.header)
    for line in problems.counted(checked_lines(file)):
        if headed and line.text.strip():
            headed = False
            continue
        if layout.is_usual:
            source, _, target = line.text.partition("\t")
            reason = line.reason or reason_against(line.text.count("\t"), source, target)
        else:
            reason, source, target = chosen(line.text.split("\t"), layout)
            reason = line.reason or reason
        if reason:
            problems.add(file, line.number, reason)
        else:
            yield Pair(source, target, before + line.number)


def reason_against(tabs: int, source: str, target: str) -> str:
    """Why a line of two columns is no pair, or nothing."""
    if tabs > 1:
        return "more than two columns"
    if tabs == 0:
        return "no tab" if source.strip() else "empty line"
    return empty_side(source, target=target)


def chosen(cells: list[str], layout: Layout) -> tuple[str, str, str]:
    """(why it is no pair, source, target)"""
    if len(cells) <= 1 and not any(cell.strip() for cell in cells):
        return "empty line", "", ""
    if len(cells) != layout.columns:
        return f"too {'few' if len(cells) < layout.columns else 'many'} columns", "", ""
    columns = [cells[int(column)] for column in layout.source]
    target = one_line(cells[int(layout.target)])
    return empty_side(*columns, target=target), joined(columns), target


def read_csv(file: str, layout: Layout, problems: Problems, corpus: int) -> Iterator[Pair]:
    before = problems.begin(file, corpus)
    headed = bool(layout.header)
    for number, cells, reason in records(problems.counted(checked_lines(file)), layout.delimiter):
        if headed and cells:
            headed = False
            continue
        why, source, target = (reason, "", "") if reason else chosen(cells, layout)
        if why:
            problems.add(file, number, why)
        else:
            yield Pair(source, target, before + number)


class Broken(Exception):
    """A record that is not closed, or holds a bad line."""


class Feeder:
    """Hands lines to a parser one by one and can take back those of a record that went wrong."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self.lines = lines
        self.returned: deque[Line] = deque()
        self.taken: list[Line] = []  # of the record that is being read
        self.size = 0

    def __iter__(self) -> "Feeder":
        return self

    def __next__(self) -> str:
        line = self.returned.popleft() if self.returned else next(self.lines)
        self.taken.append(line)
        self.size += len(line.text) + 1
        if line.reason or self.size > LONGEST_LINE + 1:
            raise Broken
        return f"{line.text}\n"

    def begin(self) -> None:
        self.taken, self.size = [], 0

    def go_back(self) -> Line:
        """The first line of a broken record; those behind it are read again as records of their own."""
        first, *rest = self.taken
        self.returned.extendleft(reversed(rest))
        return first


def records(lines: Iterator[Line], delimiter: str) -> Iterator[tuple[int, list[str], str]]:
    """(line that a record starts on, its cells, or why it has none); a quoted cell may span lines.

    A quote that is never closed costs its own line only.
    """
    feeder = Feeder(lines)
    reader = csv_rows(feeder, delimiter, strict=True)
    while True:
        feeder.begin()
        try:
            cells = next(reader)
            yield feeder.taken[0].number, cells, ""
        except StopIteration:
            return
        except (csv.Error, Broken):
            first = feeder.go_back()
            yield first.number, [], first.reason or "broken quotes"
