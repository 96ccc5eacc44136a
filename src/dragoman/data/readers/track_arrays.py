"""Tracks as arrays of NumPy (.npz), read piece by piece: nothing that is pickled, and never a whole array."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.arrays import Array, arrays_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pair import unreadable
from dragoman.data.readers.track import (
    IDS,
    LARGEST,
    MOST,
    Feature,
    Track,
    Tracks,
    Values,
    Wanted,
    feature_of,
    listed,
    places_of,
    reason_against,
    without_control,
)
from dragoman.errors import DataError

PAST, FUTURE, LENGTHS, NAMES = "past", "future", "lengths", ("features", "names", "columns")
WHOLE = ("values", "tracks", "steps", "x", "data")  # what one array of all tracks is usually called
SMALL = 100_000  # names and the like, of which there are few
BLOCK = 4_096  # steps that are read at once where all tracks stand in one row


def names_in(arrays: Mapping[str, Array]) -> list[str] | None:
    """Names of features that the file itself gives."""
    found = next((arrays[name] for name in NAMES if name in arrays and arrays[name].kind.kind == "U"), None)
    if found is None or len(found.shape) != 1 or found.shape[0] > SMALL:
        return None
    return without_control([str(name) for name in found.take(found.shape[0])], found.file)


def read_arrays(file: str, wanted: Wanted, problems: Problems) -> Tracks:
    with ExitStack() as stack:
        arrays = arrays_of(file, stack)
        before, named = problems.begin(file, 0), names_in(arrays)
        whole = whole_of(arrays, named)
        if whole is None:
            rows = by_columns(file, arrays, wanted)
        elif isinstance(whole, str):
            rows = one_by_one(file, arrays, arrays[whole], None, wanted, named)
        else:
            rows = one_by_one(file, arrays, arrays[PAST], arrays.get(FUTURE), wanted, named)
        for number, (name, features, values, past, texts) in enumerate(rows, start=1):
            problems.lines += 1
            large = bool((np.abs(values) > LARGEST).any())
            reason = (
                "holds infinite or too large numbers" if large else reason_against(values, features, wanted.missing)
            )
            if reason := reason or unreadable(name, *(text for several in texts.values() for text in several)):
                problems.add(file, number, reason)
            else:
                yield Track(name or str(number), features, values, before + number, past, texts, step_a_line=False)


def features_in(file: str, wanted: Wanted) -> tuple[Feature, ...]:
    """What is measured, by the names that the file gives."""
    for track in islice(read_arrays(file, Wanted(**{**vars(wanted), "missing": "allow"}), Problems()), 1):
        return track.features
    raise DataError(f"{file} holds no track.")


def whole_of(arrays: Mapping[str, Array], named: list[str] | None) -> str | bool | None:
    """The one array that holds all features, True for a past (and a future), None where each feature has its own."""
    if PAST in arrays and len(arrays[PAST].shape) == 3:
        return True
    wide = [name for name, array in arrays.items() if len(array.shape) == 3 and array.kind.kind in "fiu"]
    if len(wide) == 1:
        return wide[0]
    flat = [
        name for name in WHOLE if name in arrays and len(arrays[name].shape) == 2 and arrays[name].kind.kind in "fiu"
    ]
    return flat[0] if flat and (named is not None or LENGTHS in arrays) else None


Row = tuple[str, tuple[Feature, ...], Values, int | None, dict[str, tuple[str, ...]]]


def one_by_one(
    file: str, arrays: Mapping[str, Array], first: Array, second: Array | None, wanted: Wanted, named: list[str] | None
) -> Iterator[Row]:
    """Tracks (N, steps, features), or (steps of all tracks, features) with the length of each."""
    width = first.shape[-1]
    if width > MOST:  # before as many names are made up
        raise DataError(f"{file}: '{first.name}' has tracks of more than {MOST:,} numbers. Cut them.")
    features, places = chosen(file, width, wanted, named)
    if second is not None and (len(second.shape) != 3 or second.shape[::2] != first.shape[::2]):
        raise DataError(f"{file}: '{PAST}' has the shape {first.shape} and '{FUTURE}' {second.shape}.")
    refuse_no_numbers(first, *([second] if second is not None else []))
    lengths = lengths_of(file, arrays[LENGTHS], first) if LENGTHS in arrays else None
    tracks = first.shape[0] if len(first.shape) == 3 else len(lengths) if lengths is not None else 1
    ids = ids_of(file, arrays, wanted, tracks)
    texts = {name: text_array(file, arrays, name) for name in wanted.texts}
    for number in range(tracks):
        steps = int(lengths[number]) if lengths is not None else None
        name = str(ids.take(1)[0]) if ids is not None else ""
        if len(first.shape) == 2:
            values = first.take(first.shape[0] if steps is None else steps)
        else:
            values = first.take(1)[0][:steps]
        past = len(values) if first.name == PAST else None
        if second is not None:
            values = np.concatenate([values, second.take(1)[0]])
        told = {key: texts_of(array, first, tracks, steps) for key, array in texts.items()}
        yield name, features, values[:, places].astype(np.float64), past, told


def refuse_no_numbers(*arrays: Array) -> None:
    for array in arrays:
        if not array.is_numeric:
            raise DataError(f"{array.file}: {array} holds no numbers. Save numbers, or name other features.")


def lengths_of(file: str, array: Array, first: Array) -> NDArray[np.int64]:
    """The steps of each track, which must be there: as many as are stored side by side, or one behind the other."""
    whole = len(first.shape) == 3
    if len(array.shape) != 1 or array.kind.kind not in "fiu" or (whole and array.shape != first.shape[:1]):
        tracks = f", of which there are {first.shape[0]}" if whole else ""
        raise DataError(f"{file}: {array} does not give one whole number for each track{tracks}.")
    parts = [array.take(min(BLOCK, array.shape[0] - start)) for start in range(0, array.shape[0], BLOCK)]
    found = np.concatenate(parts).astype(np.float64) if parts else np.empty(0)
    most = first.shape[1] if whole else first.shape[0]
    good = (found >= 0) & (found <= most) & (found == np.floor(found))
    if not good.all():
        track = int(np.argmin(good))
        raise DataError(
            f"{file}: '{LENGTHS}' gives {found[track]:g} for track {track + 1}, and '{first.name}' {first.shape} has "
            f"{most} steps."
        )
    if not whole and found.sum() != most:
        raise DataError(f"{file}: '{LENGTHS}' adds up to {found.sum():g} steps, and '{first.name}' has {most}.")
    return found.astype(np.int64)


def ids_of(file: str, arrays: Mapping[str, Array], wanted: Wanted, expected: int) -> Array | None:
    """The names of tracks, so many as are expected."""
    found = next((arrays[name] for name in (wanted.id_field, *IDS) if name in arrays), None)
    if found is not None and found.shape != (expected,):
        raise DataError(f"{file}: {found} does not give the names that tell tracks apart: {expected} are needed.")
    return found


def texts_of(array: Array, first: Array, tracks: int, steps: int | None) -> tuple[str, ...]:
    """One of the track, or one of each of its steps, where they stand as the steps do."""
    if len(first.shape) == 2 and array.shape[0] == first.shape[0] != tracks:
        return tuple(map(str, array.take(first.shape[0] if steps is None else steps)))
    return tuple(map(str, np.atleast_1d(array.take(1)[0])[:steps]))


def chosen(file: str, width: int, wanted: Wanted, named: list[str] | None) -> tuple[tuple[Feature, ...], list[int]]:
    """Which columns of an array are read, and what they are called."""
    if named is not None and len(named) != width:
        raise DataError(f"{file} names {len(named)} features ({listed(named)}), and its array has {width} of them.")
    if named is None:
        names = wanted.features or tuple(str(number) for number in range(1, width + 1))
        if len(names) != width:
            raise DataError(
                f"{file} has {width} features without names, and {len(names)} are asked for ({listed(names)}). Save an "
                "array 'features' of their names beside it."
            )
        return tuple(map(Feature, names)), list(range(width))
    places = places_of(file, named, wanted.features or named)
    return tuple(feature_of(named[place]) for place in places), places


def text_array(file: str, arrays: Mapping[str, Array], name: str) -> Array:
    if name not in arrays:
        raise DataError(f"{file} has no array '{name}'. It has {listed(list(arrays))}.")
    if len(arrays[name].shape) not in (1, 2):
        raise DataError(f"{file}: {arrays[name]} does not give one text for each track, or one for each step.")
    return arrays[name]


def by_columns(file: str, arrays: Mapping[str, Array], wanted: Wanted) -> Iterator[Row]:
    """An array a feature: (N, steps), or the steps of all tracks in one row, told apart by their ids."""
    found = next((name for name in (wanted.id_field, *IDS) if name in arrays), "")
    titles = [name for name in arrays if name != found and name not in (*wanted.texts, LENGTHS, *NAMES)]
    places = places_of(file, titles, wanted.features or [name for name in titles if arrays[name].is_numeric])
    columns = [arrays[titles[place]] for place in places]
    if not columns:
        raise DataError(f"{file} holds no arrays of numbers that could be tracks: {shown(list(arrays.values()))}.")
    refuse_no_numbers(*columns)
    features = tuple(feature_of(column.name) for column in columns)
    shapes = {column.shape for column in columns}
    if len(shapes) != 1 or len(columns[0].shape) not in (1, 2):
        raise DataError(f"{file} has arrays of different shapes, or of none that are tracks: {shown(columns)}.")
    ids = ids_of(file, arrays, wanted, columns[0].shape[0])
    texts = {name: text_array(file, arrays, name) for name in wanted.texts}
    if len(columns[0].shape) == 2:
        for _ in range(columns[0].shape[0]):
            values = np.stack([column.take(1)[0] for column in columns], 1).astype(np.float64)
            told = {key: tuple(map(str, np.atleast_1d(array.take(1)[0]))) for key, array in texts.items()}
            yield str(ids.take(1)[0]) if ids is not None else "", features, values, None, told
        return
    yield from in_one_row(file, columns, ids, texts, features)


def in_one_row(
    file: str, columns: list[Array], ids: Array | None, texts: Mapping[str, Array], features: tuple[Feature, ...]
) -> Iterator[Row]:
    total, name, seen = columns[0].shape[0], None, set[str]()
    rows: list[Values] = []
    told: dict[str, list[str]] = {key: [] for key in texts}
    for first in range(0, total, BLOCK):
        size = min(BLOCK, total - first)
        values = np.stack([column.take(size) for column in columns], 1).astype(np.float64)
        names = ids.take(size).astype(str) if ids is not None else np.full(size, "1")
        beside = {key: array.take(size).astype(str) for key, array in texts.items()}
        for step in range(size):
            if name is not None and names[step] != name:
                yield name, features, np.stack(rows), None, {key: tuple(cells) for key, cells in told.items()}
                rows, told = [], {key: [] for key in texts}
                if names[step] in seen:
                    raise DataError(f"{file}: the steps of track '{names[step]}' do not stand together. Sort by track.")
            name = str(names[step])
            seen.add(name)
            rows.append(values[step])
            if len(rows) * len(columns) > MOST:
                raise DataError(f"{file}: track '{name}' has more than {MOST:,} numbers. Cut it.")
            for key, cells in beside.items():
                told[key].append(str(cells[step]))
    if name is not None:
        yield name, features, np.stack(rows), None, {key: tuple(cells) for key, cells in told.items()}


def shown(arrays: list[Array]) -> str:
    return ", ".join(f"'{array.name}' {array.shape}" for array in arrays[:6])
