"""Sequences of numbers with a label each, or a label a step: tables (CSV), JSON lines or arrays of NumPy (NPZ)."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Literal

from pydantic import PositiveInt

from dragoman.data.labelling import What
from dragoman.data.readers.arrays import arrays_of
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.formats import delimiter_of, missing_field, parsed, readable_lines, refuse_pipe, rows_of
from dragoman.data.readers.labelled import usual
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.series import LABELS, Series, SeriesStream, in_split, labelled
from dragoman.data.readers.track import Feature, Wanted, feature_of, listed
from dragoman.data.readers.tracks import TrackFiles, described, kind_of, read_tracks, refuse_units_other_than
from dragoman.errors import DataError

Longer = Literal["drop", "truncate", "split"]


class Frames(TrackFiles):
    """Numbers frame by frame, with a label or a number of the whole, or a label a frame: CSV with a header and a frame
    a row, JSON lines with a sequence each, or arrays of NumPy (NPZ)."""

    kind: Literal["frames"] = "frames"
    features: tuple[str, ...] = ()
    """names of the columns, fields or arrays that are read, in this order (empty: all that hold numbers)"""
    label_field: str = ""
    """name of the column, field or array of the labels (empty: label, class, tag and the like, if there is one)"""
    max_length: PositiveInt = 1000
    """frames of the longest sequence"""
    longer: Longer = "truncate"
    """what becomes of a longer one; split, where each frame has a label, makes several of it"""


def label_field_of(file: str, data: Frames) -> str:
    """As the settings say, else by its usual names."""
    titles = titles_of(file, data)
    if data.label_field:
        if data.label_field not in titles:
            raise missing_field(file, data.label_field, titles)
        return data.label_field
    if found := usual(titles, LABELS):
        return found
    raise DataError(
        f"It is not clear which column of {file} holds the labels; it has {listed(titles)}. Name it: data.label_field=…"
    )


def titles_of(file: str, data: Frames) -> list[str]:
    """All columns, fields or arrays of a file."""
    refuse_pipe(file)
    kind = kind_of(file, data.format)
    if kind == "npz":
        with ExitStack() as stack:
            return list(arrays_of(file, stack))
    lines = readable_lines(file, "one frame")
    if kind == "jsonl":
        return list(next((record for line in lines if isinstance(record := parsed(line), dict)), {}))
    rows = rows_of(lines[:1], delimiter_of(lines))
    return [cell.strip() for cell in rows[0]] if rows else []


def wanted_of(data: Frames, label: str) -> Wanted:
    """What is read of a file, with the column of its labels, if they are to be read."""
    features = tuple(feature_of(name).name for name in data.features)
    return Wanted(data.format, data.id_field, features, (label,) if label else (), data.missing)


def refuse_other_units(files: Sequence[str], data: Frames, features: Sequence[Feature]) -> None:
    """A sentence where a file has another unit than the training data."""
    refuse_units_other_than(features, files, wanted_of(data, ""))


def layout_of(file: str, data: Frames) -> str:
    """How a file is read, in words."""
    label = label_field_of(file, data)
    return f"{described(file, wanted_of(data, label))}, label '{label}'"


def read_frames(data: Frames, files: Sequence[str], what: What, problems: Problems) -> SeriesStream:
    """Stream the good sequences of files with their labels; what is wrong with the others goes to `problems`."""
    for file in files:
        label = label_field_of(file, data)
        tracks = read_tracks([file], wanted_of(data, label), problems)
        series = (Series(one.name, one.values, one.texts[label], one.line) for one in tracks)
        yield from labelled(series, what, problems)


def read_frames_alone(data: Frames, files: Sequence[str], problems: Problems) -> SeriesStream:
    """The same of which nothing is known yet."""
    for one in read_tracks(files, wanted_of(data, ""), problems):
        if len(one):
            yield Series(one.name, one.values, (), one.line)
        else:
            leave_out(problems, one.line, "no frames")


def read_frames_split(data: Frames, name: SplitName, what: What, problems: Problems) -> SeriesStream:
    """The sequences of a split."""
    series = read_frames(data, data.files(name), what, problems)
    return in_split(series, name, data)
