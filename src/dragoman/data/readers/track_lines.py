"""Tracks as JSON lines: a track a line, as columns {"x": […], "y": […]} or as rows {"steps": [[…], …]}."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dragoman.data.readers.formats import first_lines, parsed
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import unreadable
from dragoman.data.readers.track import (
    IDS,
    MOST,
    Feature,
    Track,
    Tracks,
    Values,
    Wanted,
    feature_of,
    listed,
    number_of,
    places_of,
    reason_against,
    reason_against_others,
    without_control,
)
from dragoman.errors import DataError

ROWS = ("steps", "rows", "track", "values", "frames", "points")  # what a list of rows is usually called
PAST, FUTURE, NEIGHBOURS = "past", "future", "neighbours"


class Unfit(Exception):
    """Why a line is no track."""


def features_of(file: str, wanted: Wanted) -> tuple[Feature, ...]:
    """As the first line names them: keys of columns, keys of rows, or numbers where rows have no names."""
    records = [record for line in first_lines(file, "one track") if isinstance(record := parsed(line), dict)]
    if not records:
        raise DataError(f'{file} holds no JSON objects. Give a track a line, such as {{"id": "a", "x": [1, 2]}}.')
    first = next((record for record in records if isinstance(body_of(record), dict | list)), None)
    if first is None:
        raise DataError(f"{file} holds no tracks: '{PAST}' is neither columns nor rows, such as {{\"x\": [1, 2]}}.")
    titles = titles_of(body_of(first), (wanted.id_field, *IDS, *wanted.texts))
    if titles is None:  # rows without names
        return tuple(map(Feature, wanted.features)) or numbered(first)
    without_control(titles, file)
    return tuple(feature_of(titles[place]) for place in places_of(file, titles, wanted.features or titles))


def numbered(record: Mapping[str, Any]) -> tuple[Feature, ...]:
    rows = rows_in(body_of(record))
    width = len(rows[0]) if rows and isinstance(rows[0], list) else 0
    return tuple(Feature(str(number)) for number in range(1, width + 1))


def body_of(record: Mapping[str, Any]) -> Any:
    """Where the numbers stand: in the past, if a line has one, else in itself."""
    return record.get(PAST, record)


def rows_in(body: Any) -> list[Any] | None:
    """A list of rows, given as such or under a usual name."""
    if isinstance(body, list):
        return body
    for name in ROWS:
        if isinstance(body, dict) and isinstance(body.get(name), list):
            found = body[name]
            if not found or isinstance(found[0], list | dict):
                return list(found)
    return None


def titles_of(body: Any, others: Sequence[str]) -> list[str] | None:
    rows = rows_in(body)
    if rows is None:
        return [name for name, value in body.items() if isinstance(value, list) and name not in others]
    return list(rows[0]) if rows and isinstance(rows[0], dict) else None


def read_track_lines(file: str, wanted: Wanted, problems: Problems) -> Tracks:
    features = features_of(file, wanted)
    before = problems.begin(file, 0)
    for line in problems.counted(checked_lines(file, "one track")):
        try:
            if line.reason:
                raise Unfit(line.reason)
            track = track_of(line.text, features, wanted, before + line.number, line.number)
        except Unfit as unfit:
            problems.add(file, line.number, str(unfit))
        else:
            yield track


def track_of(text: str, features: tuple[Feature, ...], wanted: Wanted, line: int, number: int) -> Track:
    if not text.strip():
        raise Unfit("empty line")
    record = parsed(text)
    if not isinstance(record, dict):
        raise Unfit("no JSON object")
    name = next((str(record[key]) for key in filter(None, (wanted.id_field, *IDS)) if key in record), str(number))
    texts = {key: text_of(record, key) for key in wanted.texts}
    if reason := unreadable(name, *(text for several in texts.values() for text in several)):
        raise Unfit(reason)
    others = tuple(values_of(one, features, allowing(wanted)) for one in listed_in(record))
    past = values_of(body_of(record), features, wanted)
    if reason := reason_against_others(others, len(past), PAST in record):
        raise Unfit(reason)
    if PAST not in record:
        return Track(name, features, past, line, texts=texts, others=others, step_a_line=False)
    ahead = record.get(FUTURE, [])
    future = values_of(ahead, features, allowing(wanted) if wanted.absent else wanted) if ahead else past[:0]
    return Track(name, features, np.concatenate([past, future]), line, len(past), texts, others, step_a_line=False)


def allowing(wanted: Wanted) -> Wanted:
    """Of tracks beside another, and of futures of which only the context is known, anything may be missing."""
    return Wanted(wanted.format, wanted.id_field, wanted.features, wanted.texts, "allow", absent=True)


def listed_in(record: Mapping[str, Any]) -> list[Any]:
    found = record.get(NEIGHBOURS, [])
    if not isinstance(found, list):
        raise Unfit(f"'{NEIGHBOURS}' is no list of tracks")
    return found


def text_of(record: Mapping[str, Any], name: str) -> tuple[str, ...]:
    if name not in record:
        raise Unfit(f"no field '{name}'")
    found = record[name]
    return tuple(label_of(one, name) for one in (found if isinstance(found, list) else [found]))


def label_of(value: Any, name: str) -> str:
    """A text or a number; null is an empty label."""
    if value is None:
        return ""
    if not isinstance(value, str | int | float):
        raise Unfit(f"{str(value)[:40]!r} is no label (field '{name}')")
    return str(value)


def values_of(body: Any, features: Sequence[Feature], wanted: Wanted) -> Values:
    """The numbers of a track, a row a step."""
    rows = rows_in(body)
    if rows is None:
        if not isinstance(body, dict):
            raise Unfit("neither columns nor rows of numbers")
        columns = [column_of(body, feature, wanted) for feature in features]
        lengths = {len(column) for column in columns if column is not None}
        if len(lengths) > 1:
            raise Unfit(f"columns of different lengths ({', '.join(map(str, sorted(lengths)))})")
        steps = lengths.pop() if lengths else 0
        table = [[None] * steps if column is None else column for column in columns]
        values = numbers(table, features).T
    else:
        values = numbers(
            list(map(list, zip(*(cells_of(row, features, wanted) for row in rows), strict=True))), features
        ).T
    if values.size > MOST:
        raise Unfit(f"a track of more than {MOST:,} numbers")
    if reason := reason_against(values, features, wanted.missing):
        raise Unfit(reason)
    return values


def column_of(body: Mapping[str, Any], feature: Feature, wanted: Wanted) -> list[Any] | None:
    found = body.get(feature.name, body.get(str(feature)))
    if isinstance(found, list):
        return found
    if found is None and wanted.absent:
        return None
    if found is None:
        raise Unfit(f"no feature '{feature.name}' (it has {listed(list(body))})")
    raise Unfit(f"'{feature.name}' is no list of numbers")


def cells_of(row: Any, features: Sequence[Feature], wanted: Wanted) -> list[Any]:
    if isinstance(row, dict):
        return [cell_of(row, feature, wanted) for feature in features]
    if not isinstance(row, list) or len(row) != len(features):
        raise Unfit(f"a step of {len(row) if isinstance(row, list) else 1} numbers, not of {len(features)}")
    return row


def cell_of(row: Mapping[str, Any], feature: Feature, wanted: Wanted) -> Any:
    for name in (feature.name, str(feature)):
        if name in row:
            return row[name]
    if not wanted.absent and wanted.missing == "refuse":
        raise Unfit(f"a step without '{feature.name}' (data.missing=allow lets it be)")
    return None


def numbers(columns: Sequence[Sequence[Any]], features: Sequence[Feature]) -> Values:
    found = np.empty((len(features), len(columns[0]) if columns else 0))
    for place, (column, feature) in enumerate(zip(columns, features, strict=True) if columns else ()):
        try:
            found[place] = [number_of(cell) for cell in column]
        except ValueError as error:
            raise Unfit(f"{error} (feature '{feature.name}')") from None
    return found
