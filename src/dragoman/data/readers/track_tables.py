"""Tracks in tables: a step a row, the rows of a track one behind the other."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from dragoman.data.readers.formats import delimiter_of, readable_lines, rows_of
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.tables import records
from dragoman.data.readers.track import (
    MOST,
    Feature,
    Track,
    Tracks,
    Wanted,
    feature_of,
    id_among,
    places_of,
    row_of,
)
from dragoman.errors import DataError

REMEMBERED = 1_000_000  # tracks of a file whose names are remembered, so that one that comes in pieces is noticed


@dataclass(frozen=True)
class Columns:
    """Where in a row everything stands."""

    titles: tuple[str, ...]
    delimiter: str
    id: int  # −1: the file is one track
    features: tuple[Feature, ...]
    places: tuple[int, ...]  # of the features
    texts: dict[str, int]

    def __str__(self) -> str:
        by = f"tracks by '{self.titles[self.id]}'" if self.id >= 0 else "one track"
        return f"CSV, {by}, features {', '.join(map(str, self.features))}"


@dataclass
class Growing:
    """The track whose rows are being read."""

    name: str
    line: int
    rows: list[list[float]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    broken: bool = False  # a row of it was bad, so that it has a gap


def columns_of(file: str, wanted: Wanted) -> Columns:
    """By the header, which such a file must have, since features are known by their names."""
    lines = readable_lines(file, "one step of a track")
    delimiter = delimiter_of(lines)
    rows = rows_of(lines[:1], delimiter)
    titles = tuple(cell.strip() for cell in rows[0]) if rows else ()
    if not titles or all(is_number(title) for title in titles):
        raise DataError(
            f"{file} has no header: its first row is {', '.join(titles[:6])}. Write the names of the columns above, "
            "such as id,x [m],y [m]."
        )
    found = id_among(file, titles, wanted.id_field)
    texts = dict(zip(wanted.texts, places_of(file, titles, wanted.texts), strict=True))
    others = [title for n, title in enumerate(titles) if n != found and n not in texts.values()]
    names = wanted.features or tuple(others)
    places = tuple(places_of(file, titles, names))
    features = tuple(feature_of(titles[place]) for place in places)
    return Columns(titles, delimiter, found, features, places, texts)


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_table(file: str, wanted: Wanted, problems: Problems) -> Tracks:
    columns = columns_of(file, wanted)
    before, seen, track = problems.begin(file, 0), set[int](), None
    for number, cells, reason in steps_of(file, columns, problems):
        if reason:  # it may have been a step of the track that is being read, which has a gap now
            problems.add(file, number, reason if track is None else f"{reason}: its track is left out")
            if track is not None:
                track.broken = True
            continue
        name = cells[columns.id].strip() if columns.id >= 0 else "1"
        if track is None or name != track.name:
            if track is not None:
                yield from finished(track, columns)
            track = Growing(name, before + number)
            if hash(name) in seen:
                problems.add(file, number, f"the rows of track '{name[:40]}' do not stand together: sort them by track")
                track.broken = True
            elif len(seen) < REMEMBERED:
                seen.add(hash(name))
        if not track.broken and (reason := added(track, cells, columns, wanted)):
            problems.add(file, number, f"{reason}: its track is left out")
            track.broken = True
    if track is not None:
        yield from finished(track, columns)


def steps_of(file: str, columns: Columns, problems: Problems) -> Iterator[tuple[int, list[str], str]]:
    """(line, cells, why they cannot be read) below the header; such rows have no id that would say whose they are."""
    headed = True
    for number, cells, reason in records(problems.counted(checked_lines(file)), columns.delimiter):
        if not reason and not any(cell.strip() for cell in cells):
            continue
        if headed:
            headed = False
        elif reason or columns.id >= len(cells):
            yield number, [], reason or f"{len(cells)} columns, and the header has {len(columns.titles)}"
        else:
            yield number, cells, ""


def added(track: Growing, cells: list[str], columns: Columns, wanted: Wanted) -> str:
    """Put a row behind those of its track; or why not."""
    if len(cells) != len(columns.titles):
        return f"{len(cells)} columns, and the header has {len(columns.titles)}"
    reason, row = row_of([cells[place] for place in columns.places], columns.features, wanted.missing)
    if reason:
        return reason
    if (len(track.rows) + 1) * max(1, len(row)) > MOST:
        return f"a track of more than {MOST:,} numbers"
    track.rows.append(row)
    for name, place in columns.texts.items():
        track.texts.setdefault(name, []).append(cells[place].strip())
    return ""


def finished(track: Growing, columns: Columns) -> Tracks:
    if not track.broken:
        values = np.array(track.rows, np.float64).reshape(len(track.rows), len(columns.features))
        texts = {name: tuple(cells) for name, cells in track.texts.items()}
        yield Track(track.name, columns.features, values, track.line, texts=texts)
