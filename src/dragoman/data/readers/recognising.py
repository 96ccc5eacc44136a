"""Which kind of data a file holds, where its names leave no doubt."""

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from dragoman.data.pictures import ENDINGS
from dragoman.data.readers.captions import CAPTIONS, IMAGES, PICTURES
from dragoman.data.readers.clips import CLIPS
from dragoman.data.readers.clips import PICTURES as FRAMES
from dragoman.data.readers.conversations import TURNS
from dragoman.data.readers.formats import SNIFFED_LINES, delimiter_of, first_lines, parsed, rows_of
from dragoman.data.readers.labelled import LABELS as OF_TEXTS
from dragoman.data.readers.labelled import ONE, TWO
from dragoman.data.readers.lines import checked_lines
from dragoman.data.readers.series import LABELS
from dragoman.data.readers.track import IDS, number_of
from dragoman.errors import DragomanError

ROWS = 20  # of a file that are looked at
NUMBERS = ("idx", "index", "number", "split")  # columns beside texts and labels that are neither


def looks_like(file: str) -> str:
    """The kind of data that a file holds, where its names leave no doubt; else pairs."""
    if Path(file).suffix == ".npz":
        return of_arrays(file)
    if not os.path.isfile(file):  # which knows names that are too long
        return "pairs"
    try:
        lines = first_lines(file, "one example")[:ROWS]
        if are_columns([line.text for line in islice(checked_lines(file, "one sentence"), SNIFFED_LINES)]):
            return "tagged"
    except DragomanError:  # which is said where it is read
        return "pairs"
    records = [record for line in lines if line.lstrip().startswith("{") and isinstance(record := parsed(line), dict)]
    return of_record(records[0]) if records else of_table(lines)


def of_arrays(file: str) -> str:
    """By the names of arrays, which are those of the files in a ZIP."""
    if not is_zipfile(file):  # which is said where it is read
        return "tracks"
    with ZipFile(file) as archive:
        names = {Path(name).stem.lower() for name in archive.namelist()}
    if names & {*IMAGES} and names & {*CAPTIONS}:
        return "captions"
    return "frames" if names & {*LABELS} else "tracks"


def of_record(record: dict[str, Any]) -> str:
    names = {name.lower(): value for name, value in record.items()}
    if any(isinstance(names.get(name), list) for name in TURNS):
        return "conversations"
    if is_picture(names, PICTURES) and any(name in names for name in CAPTIONS):
        return "captions"
    rows = next((value for value in names.values() if is_points(value)), None)
    if rows is None and {*names} >= {"words", "tags"} and all(map(are_texts, (names["words"], names["tags"]))):
        return "tagged"
    if rows is None:
        return "labelled" if are_labelled(names) else "pairs"
    return "frames" if any(name in names for name in LABELS) else "tracks"


def are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def are_labelled(cells: dict[str, Any]) -> bool:
    """A text or two, a label, and nothing else that could be a target."""
    labels = [name for name in cells if name in OF_TEXTS]
    texts = [name for name in cells if name in (*ONE, *(name for two in TWO for name in two))]
    others = {*cells} - {*labels, *texts, *NUMBERS, *IDS}
    two = any(all(name in cells for name in pair) for pair in TWO)
    return (
        len(labels) == 1
        and len(texts) == (2 if two else 1)
        and not others
        and all(isinstance(cells[name], str) for name in texts)
        and isinstance(cells[labels[0]], str | int | float)
    )


def are_columns(lines: Sequence[str]) -> bool:
    """Two columns of single words, with blank lines between sentences: as pairs, those would be bad lines."""
    rows = [line.split("\t") for line in lines if line.strip()]
    blank = sum(not line.strip() for line in lines[:-1])
    words = all(len(row) == 2 and all(len(cell.split()) == 1 for cell in row) for row in rows)
    return bool(rows) and words and 2 <= blank <= len(rows)


def is_points(value: Any) -> bool:
    """A list of lists of numbers."""
    return (
        isinstance(value, list)
        and bool(value)
        and isinstance(value[0], list)
        and bool(value[0])
        and all(isinstance(one, int | float) or one is None for one in value[0])
    )


def is_picture(cells: dict[str, Any], names: Sequence[str]) -> bool:
    return any(isinstance(cells.get(name), str) and Path(cells[name]).suffix.lower() in ENDINGS for name in names)


def of_table(lines: Sequence[str]) -> str:
    """By its header, and by the first row below."""
    if len(lines) < 2:
        return "pairs"
    delimiter = "\t" if "\t" in lines[0] else delimiter_of(list(lines))
    header, *rows = rows_of(list(lines), delimiter)
    titles = [title.strip().lower() for title in header]
    same = [row for row in rows if len(row) == len(titles)]
    if not same:
        return "pairs"
    cells = dict(zip(titles, (cell.strip() for cell in same[0]), strict=True))
    label = any(name in cells for name in LABELS)
    if is_picture(cells, PICTURES) and any(name in cells for name in CAPTIONS):
        return "captions"
    if label and (is_picture(cells, FRAMES) or {*titles} <= {*CLIPS, *LABELS}):
        return "clips"
    numbers = [name for name in titles if name not in (*IDS, *LABELS)]
    if any(name in cells for name in IDS) and numbers and all(is_number(cells[name]) for name in numbers):
        return "frames" if label else "tracks"
    return "labelled" if are_labelled(dict(cells)) else "pairs"


def is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True
