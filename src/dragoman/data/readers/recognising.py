"""Which kind of data a file holds, where its names leave no doubt."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from dragoman.data.pictures import ENDINGS
from dragoman.data.readers.captions import CAPTIONS, IMAGES, PICTURES
from dragoman.data.readers.clips import CLIPS
from dragoman.data.readers.clips import PICTURES as FRAMES
from dragoman.data.readers.conversations import TURNS
from dragoman.data.readers.formats import delimiter_of, first_lines, parsed, rows_of
from dragoman.data.readers.series import LABELS
from dragoman.data.readers.track import IDS, number_of
from dragoman.errors import DragomanError

ROWS = 20  # of a file that are looked at


def looks_like(file: str) -> str:
    """The kind of data that a file holds, where its names leave no doubt; else pairs."""
    if Path(file).suffix == ".npz":
        return of_arrays(file)
    if not os.path.isfile(file):  # which knows names that are too long
        return "pairs"
    try:
        lines = first_lines(file, "one example")[:ROWS]
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
    if rows is None:
        return "pairs"
    return "frames" if any(name in names for name in LABELS) else "tracks"


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
    return "pairs"


def is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True
