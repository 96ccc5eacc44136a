"""Clips, pictures frame by frame, with a label each or a label a frame: folders, or lists of files, that a table or
JSON lines name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from dragoman.data.labelling import What
from dragoman.data.pictures import ENDINGS, BadPictureError, Fit, Pixels, Size, pixels_of_object, read_picture
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import Wanted as Format
from dragoman.data.readers.formats import (
    delimiter_of,
    kind_of,
    listed,
    missing_field,
    parsed,
    readable_lines,
    refuse_pipe,
    rows_of,
)
from dragoman.data.readers.frames import Longer
from dragoman.data.readers.labelled import usual
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import unreadable
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.picture_places import PictureZip, Place, common_root, files_in, place_for
from dragoman.data.readers.series import LABELS, Series, SeriesStream, in_split, labelled
from dragoman.data.readers.tables import records
from dragoman.errors import DataError

CLIPS = ("clip", "video", "folder", "sequence", "id")
PICTURES = ("picture", "image", "frame", "file", "filename", "path")  # of tables with a row a frame
FRAMES = ("frames", "pictures", "images", "files")  # of JSON lines
MOST = 100_000  # pictures of a clip
REMEMBERED = 1_000_000  # names of clips, as hashes, of which it is known whether they come back
COMES_BACK = "an id that comes back behind another clip; rows of one clip must stand together"


class Clips(FilesWithAnswers):
    """Clips with a label or a number each, or a label a frame. A table (TSV, CSV) has a clip a row, which is a folder
    of pictures, or a picture a row with the name of its clip; JSON lines have a folder or a list of pictures each."""

    kind: Literal["clips"] = "clips"
    pictures: str = ""
    """folder, or ZIP, that the names of clips and pictures are relative to (empty: the folder of the file that names
    them)"""
    format: Literal["auto", "tsv", "csv", "jsonl"] = "auto"
    """how the files hold their examples; auto looks at their names and first lines"""
    clip_field: str = ""
    """name of the column or field of the folder, or of the clip that a picture belongs to (empty: clip, video, folder,
    sequence or id)"""
    picture_field: str = ""
    """name of the column of the picture, in a table with a picture a row; of JSON lines, of the list (empty: found
    out)"""
    label_field: str = ""
    """name of the column or field of the labels (empty: label, class, tag and the like, if there is one)"""
    max_length: PositiveInt = 200
    """frames of the longest clip"""
    longer: Longer = "truncate"
    """what becomes of a longer one; split, where each frame has a label, makes several of it"""


Row = tuple[int, str, Mapping[str, Any]]  # line, why it is none, cells by their names


def rows_in(file: str, data: Clips, problems: Problems) -> Iterator[Row]:
    kind, titles, delimiter = header_of(file, data)
    lines = problems.counted(checked_lines(file, "one clip"))
    if kind == "jsonl":
        for line in lines:
            record = parsed(line.text) if line.text.strip() else None
            fits = isinstance(record, dict)
            reason = line.reason or ("" if fits else "no JSON object" if line.text.strip() else "empty line")
            yield line.number, reason, record if fits and isinstance(record, dict) else {}
        return
    headed = True
    for number, cells, reason in records(lines, delimiter):
        if not reason and not any(cell.strip() for cell in cells):
            continue
        if headed:
            headed = False
        elif reason or len(cells) != len(titles):
            why = reason or f"{len(cells)} columns, and the header has {len(titles)}"
            yield number, why, dict(zip(titles, (cell.strip() for cell in cells), strict=False))
        else:
            yield number, "", dict(zip(titles, (cell.strip() for cell in cells), strict=True))


def header_of(file: str, data: Clips) -> tuple[str, list[str], str]:
    """(kind of file, its columns or fields, what stands between columns)"""
    refuse_pipe(file)
    lines = readable_lines(file, "one clip")
    kind = kind_of(file, lines, Format(data.format))
    if kind == "jsonl":
        return kind, list(next((record for line in lines if isinstance(record := parsed(line), dict)), {})), ""
    delimiter = "\t" if kind == "tsv" else delimiter_of(lines)
    rows = rows_of(lines[:1], delimiter)
    return kind, [cell.strip() for cell in rows[0]] if rows else [], delimiter


def fields_of(file: str, data: Clips, asked: bool = True) -> dict[str, str]:
    """Which columns or fields hold clip, picture and label; the label is wanted where it is `asked` for."""
    kind, titles, _ = header_of(file, data)
    usually = {"clip": CLIPS, "picture": FRAMES if kind == "jsonl" else PICTURES, "label": LABELS}
    found = {}
    for name, names in usually.items():
        own = getattr(data, f"{name}_field")
        if own and own not in titles and (asked or name != "label"):
            raise missing_field(file, own, titles)
        found[name] = own if own in titles else usual(titles, names)
    if found["picture"] == found["clip"] and not data.picture_field:  # a folder may be called path or file
        found["picture"] = ""
    if kind != "jsonl" and found["picture"] and not found["clip"]:
        raise DataError(
            f"It is not clear which column of {file} says the clip that the picture in '{found['picture']}' belongs to"
            f"{listed(titles)}. Name it: data.clip_field=… (data.clip_field={found['picture']} where each row is the "
            "folder of a clip)."
        )
    if not (found["clip"] or found["picture"]) or (asked and not found["label"]):
        what = "clips" if not (found["clip"] or found["picture"]) else "labels"
        raise DataError(
            f"It is not clear which column of {file} holds the {what}{listed(titles)}. Write a header such as "
            f"clip<TAB>label, or name it: data.{what[:-1]}_field=…"
        )
    return found


def layout_of(file: str, data: Clips) -> str:
    kind, fields = header_of(file, data)[0], fields_of(file, data)
    shown = ", ".join(f"{name} = '{field}'" for name, field in fields.items() if field)
    return f"{'JSON lines' if kind == 'jsonl' else kind.upper()}, {shown}"


def read_clips(data: Clips, files: Sequence[str], what: What, problems: Problems) -> SeriesStream:
    """Stream the good clips of files with their labels; pictures are not opened yet."""
    for file in files:
        yield from labelled(clips_in(file, data, fields_of(file, data), problems), what, problems)


def read_clips_alone(data: Clips, files: Sequence[str], problems: Problems) -> SeriesStream:
    """The same of which nothing is known yet."""
    for file in files:
        for one in clips_in(file, data, {**fields_of(file, data, asked=False), "label": ""}, problems):
            yield replace(one, labels=())


def clips_in(file: str, data: Clips, fields: Mapping[str, str], problems: Problems) -> SeriesStream:
    place = place_for(file, data.pictures)
    root = root_of(data, place)
    before, by_row = problems.begin(file, 0), header_of(file, data)[0] != "jsonl" and bool(fields["picture"])
    rows = rows_in(file, data, problems)
    for some in whole_clips(rows, fields["clip"], file, problems) if by_row else good_rows(rows, file, problems):
        try:
            made = from_rows(some, fields, place) if by_row else from_record(some[0][2], fields, place)
        except BadPictureError as error:
            problems.add(file, some[0][0], str(error))
        else:
            folder = "" if by_row else folder_of(some[0][2], fields)
            series = Series(*made, before + some[0][0], place if isinstance(place, PictureZip) else None)
            yield replace(series, folder=place.relative(folder, root)) if folder else series


def root_of(data: Clips, place: Place) -> str:
    """The folder around all clips of which some are held out: those of all files that are learned from."""
    if not (data.holds_out or data.holds_out_test):
        return place.root
    return common_root([place_for(file, data.pictures) for file in data.files("train")] or [place])


def good_rows(rows: Iterator[Row], file: str, problems: Problems) -> Iterator[list[Row]]:
    """Of tables and lines with a clip each."""
    for row in rows:
        if row[1]:
            problems.add(file, row[0], row[1])
        else:
            yield [row]


def whole_clips(rows: Iterator[Row], field: str, file: str, problems: Problems) -> Iterator[list[Row]]:
    """Of tables with a picture a row: those of a clip. A bad row costs its clip, which would have a gap, and so does a
    name that comes back, since nobody knows where these rows belong."""
    ended: set[int] = set()
    for name, group in groupby(rows, Belonging(field)):
        some = list(islice(group, MOST))
        faults = [(number, f"{reason}: its clip is left out") for number, reason, _ in some if reason]
        if name and hash(name) in ended:
            faults = [(number, COMES_BACK) for number, _, _ in some]
        elif len(ended) < REMEMBERED:
            ended.add(hash(name))
        for number, reason in faults:
            problems.add(file, number, reason)
        if not faults:
            yield some


@dataclass
class Belonging:
    """Row → the name of its clip; one that cannot be read belongs to the clip that it stands in, or behind."""

    field: str
    name: str = ""

    def __call__(self, row: Row) -> str:
        _, reason, cells = row
        self.name = cells.get(self.field, self.name if reason else "")
        return self.name


Made = tuple[str, tuple[str, ...], tuple[str, ...]]  # name, pictures, labels


def from_rows(rows: Sequence[Row], fields: Mapping[str, str], place: Place) -> Made:
    """A picture a row."""
    paths = tuple(readable(str(cells[fields["picture"]]), place) for _, _, cells in rows)
    labels = tuple(str(cells[fields["label"]]) for _, _, cells in rows) if fields["label"] else ()
    return str(rows[0][2].get(fields["clip"], "")) or Path(paths[0]).name, paths, labels


def readable(name: str, place: Place) -> str:
    """As it is read later: a path, or the name of a member."""
    return name if isinstance(place, PictureZip) else place.key(name)


def from_record(record: Mapping[str, Any], fields: Mapping[str, str], place: Place) -> Made:
    """A folder, or a list of pictures."""
    folder = named(record.get(fields["clip"]))
    if pictures := list_in(record, fields):
        paths = tuple(readable(named(one), place) for one in pictures[:MOST])
        name = folder or str(pictures[0])
    elif folder:
        paths, name = pictures_of(place.within(folder)), folder
    else:
        raise BadPictureError("a clip without pictures")
    label = record.get(fields["label"], "") if fields["label"] else []
    return name, paths, tuple(map(label_of, label if isinstance(label, list) else [label]))


def list_in(record: Mapping[str, Any], fields: Mapping[str, str]) -> list[Any]:
    """The pictures of a clip, where they are named one by one."""
    found = record.get(fields["picture"])
    return found if isinstance(found, list) else []


def folder_of(record: Mapping[str, Any], fields: Mapping[str, str]) -> str:
    """The folder that a clip is, if it is one."""
    return "" if list_in(record, fields) else named(record.get(fields["clip"]))


def named(value: Any) -> str:
    """A folder, a clip or a picture; null is none."""
    if value is not None and not isinstance(value, str | int | float):
        raise BadPictureError(f"a name that is no text ({str(value)[:40]!r})")
    return readable_text(value)


def label_of(value: Any) -> str:
    """A label as text; null is none."""
    if value is not None and not isinstance(value, str | int | float):
        kind = "a list" if isinstance(value, list) else "an object"
        raise BadPictureError(f"a label that is {kind}: a label is a text, a number, true or false")
    return readable_text(value)


def readable_text(value: str | int | float | None) -> str:
    text = "" if value is None else str(value)
    if reason := unreadable(text):
        raise BadPictureError(reason)
    return text


def pictures_in(folder: Path) -> tuple[str, ...]:
    """The pictures of a folder that somebody names: links of it may lead anywhere."""
    return pictures_of(list(map(str, files_in(folder))))


def pictures_of(files: Sequence[str]) -> tuple[str, ...]:
    """Those among files that are pictures, in the order of their names, in which 2 comes before 10."""
    names = {file: Path(file).name for file in files if file.lower().endswith(ENDINGS)}
    pictures = [file for file, name in names.items() if not name.startswith(".")]
    if not pictures:
        raise BadPictureError("a clip without pictures")
    return tuple(sorted(pictures, key=lambda file: (natural(names[file]), names[file]))[:MOST])


class BadFrameError(BadPictureError):
    """A picture of a clip that cannot be used: which, and what is counted as the same."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


def leave_out_clip(problems: Problems, line: int, error: BadPictureError) -> None:
    """Count and locate a clip with a picture that cannot be used."""
    leave_out(problems, line, str(error), error.kind if isinstance(error, BadFrameError) else "")


def pixels_of_clip(one: Series, size: Size, fit: Fit) -> NDArray[np.uint8]:
    """Its frames as so many pixels, from files, from members of a ZIP or from memory."""
    found = []
    for number, frame in enumerate(one.frames, start=1):
        try:
            found.append(pixels_of_frame(frame, one.place, size, fit))
        except BadPictureError as error:
            name = f" ({Path(frame).name})" if isinstance(frame, str) else ""
            raise BadFrameError(f"frame {number}{name} is {error}", f"a frame is {error}") from error
    return np.stack(found)


def pixels_of_frame(frame: Any, place: Place | None, size: Size, fit: Fit) -> Pixels:
    if not isinstance(frame, str):
        return pixels_of_object(frame, size, fit)
    return read_picture(frame, size, fit) if place is None else place.pixels(frame, size, fit)


def natural(name: str) -> list[tuple[int, str]]:
    return [size_of(part) if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]


def size_of(digits: str) -> tuple[int, str]:
    """By which numbers of any length are compared: the longer is the larger one."""
    plain = "".join(str(int(digit)) for digit in digits).lstrip("0")
    return len(plain), plain


def read_clips_split(data: Clips, name: SplitName, what: What, problems: Problems) -> SeriesStream:
    """The clips of a split."""
    series = read_clips(data, data.files(name), what, problems)
    return in_split(series, name, data)
