"""A track: numbers step by step, with a name for each of its features."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.pair import unreadable
from dragoman.errors import DataError, nearest

Values = NDArray[np.float64]
Format = Literal["auto", "csv", "jsonl", "npz"]

MOST = 10_000_000  # numbers of one track, which stands in memory as a whole
LARGEST = 1e30  # what single precision can hold, also when it is squared
ABSENT = ("", "nan", "na", "n/a", "null", "none")  # how a cell says that nothing was measured, in small letters
NAMED = re.compile(r"^(?P<name>.*?)\s*[\[(](?P<unit>[^\[\]()]*)[\])]\s*$")  # x [m], x (m)
# What the column that tells tracks apart is usually called, in small letters.
IDS = ("id", "track", "track_id", "trackid", "trajectory", "trajectory_id", "sequence", "sequence_id", "series")


@dataclass(frozen=True)
class Feature:
    """What is measured at each step, and in what unit, if that is known."""

    name: str
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.unit}]" if self.unit else self.name


@dataclass(frozen=True)
class Wanted:
    """What is read of a file: the settings of the data, and which columns."""

    format: Format = "auto"
    id_field: str = ""  # of the column that tells tracks apart (empty: by its usual names)
    features: tuple[str, ...] = ()  # in this order (empty: all numbers that there are)
    texts: tuple[str, ...] = ()  # columns of labels and the like, kept as they are
    missing: Literal["refuse", "allow"] = "refuse"
    absent: bool = False  # whether a future may lack features: those that are to be predicted


@dataclass(frozen=True)
class Track:
    """One sequence: NaN is what is missing."""

    name: str  # the id that the file gives it, else its number in the file from 1
    features: tuple[Feature, ...]
    values: Values  # (steps, features)
    line: int  # where it begins, 1-based, counted over all files
    past: int | None = None  # steps that are given as its past, where the file says so
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # one for the track, or one a step
    others: tuple[Values, ...] = ()  # tracks beside it (steps, features) that end where its past does, or itself
    step_a_line: bool = True  # as in tables; else one line is the whole track

    def __len__(self) -> int:
        return len(self.values)


Tracks = Iterator[Track]


def feature_of(title: str) -> Feature:
    """A column's name, and its unit where it stands in brackets behind it: x [m]."""
    found = NAMED.match(title.strip())
    if found is None or not found["name"]:
        return Feature(title.strip())
    return Feature(found["name"].strip(), found["unit"].strip())


def places_of(file: str, titles: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where each wanted feature stands among the titles of columns, with its unit or without."""
    names = [feature_of(title).name for title in titles]
    found = []
    for name in wanted:
        place = titles.index(name) if name in titles else names.index(name) if name in names else -1
        if place < 0:
            raise DataError(f"{file} has no feature '{name}'.{nearest(name, names)} It has {listed(names)}.")
        found.append(place)
    return found


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:12]) + (" …" if len(names) > 12 else "") if names else "none"


def without_control(names: list[str], file: str) -> list[str]:
    """Names of features as they are, if each of them can be written."""
    if bad := next(filter(unreadable, names), None):
        raise DataError(f"{file} has a feature {bad[:40]!a}, which {unreadable(bad)}. Rename it.")
    return names


def id_among(file: str, titles: Sequence[str], wanted: str) -> int:
    """Where the column stands that tells tracks apart; −1: there is none."""
    if wanted:
        return places_of(file, titles, [wanted])[0]
    lowered = [title.strip().lower() for title in titles]
    return next((lowered.index(name) for name in IDS if name in lowered), -1)


def number_of(value: Any) -> float:
    """A finite number; NaN for what is missing, and a ValueError for what is neither."""
    if isinstance(value, str):
        value = value.strip()
        if value.lower() in ABSENT:
            return math.nan
    elif value is None:
        return math.nan
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} is no number")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"'{str(value)[:40]}' is no number") from None
    if abs(number) > LARGEST:
        raise ValueError(f"'{str(value)[:40]}' is too large a number")
    return number


def row_of(cells: Sequence[Any], features: Sequence[Feature], missing: str) -> tuple[str, list[float]]:
    """(why these are no numbers of a step, the numbers)"""
    row: list[float] = []
    for cell, feature in zip(cells, features, strict=True):
        try:
            row.append(number_of(cell))
        except ValueError as error:
            return f"{error} (feature '{feature.name}')", []
    return reason_against(np.array([row]), features, missing), row


def reason_against(values: Values, features: Sequence[Feature], missing: str) -> str:
    """Why numbers are none to learn from, or nothing."""
    if missing == "allow" or not (absent := np.isnan(values)).any():
        return ""
    name = features[int(np.argmax(absent.any(0)))].name
    return f"'{name}' is missing (data.missing=allow lets it be)"


def reason_against_others(others: Sequence[Values], steps: int, is_past: bool) -> str:
    """Why tracks cannot stand beside another: of one that is longer nobody knows which of its steps are meant."""
    if (longest := max(map(len, others), default=0)) <= steps:
        return ""
    whose = "its track's past has" if is_past else "its track has"
    return f"a neighbour of {longest} steps, and {whose} {steps}: give it as many, or fewer, which are the last"
