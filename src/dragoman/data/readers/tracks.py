"""Sequences of numbers with named features, from tables (CSV), JSON lines or arrays of NumPy (NPZ)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import refuse_pipe
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.track import Feature, Format, Track, Tracks, Wanted
from dragoman.data.readers.track_arrays import features_in, read_arrays
from dragoman.data.readers.track_lines import features_of, read_track_lines
from dragoman.data.readers.track_tables import columns_of, read_table
from dragoman.errors import DataError

__all__ = ["Feature", "Track", "TrackFiles", "Tracks", "Wanted", "kind_of", "known_features", "read_tracks"]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".npz": "npz",
}
SPELLED = {"csv": "CSV", "jsonl": "JSON lines, a track a line", "npz": "arrays of NumPy"}


class TrackFiles(FilesWithAnswers):
    """What files of numbers, step by step, have in common."""

    format: Format = "auto"
    """how the files hold their tracks; auto goes by the ends of their names: csv has a header and a step a row, jsonl
    a track a line, npz arrays"""
    id_field: str = ""
    """name of the column, field or array that tells tracks apart (empty: id, track, trajectory or sequence, if there is
    one)"""
    missing: Literal["refuse", "allow"] = "refuse"
    """whether values may be missing (empty cells, null, NaN): refuse counts such tracks as bad and leaves them out"""


def read_tracks(files: Sequence[str], wanted: Wanted, problems: Problems) -> Tracks:
    """Stream the good tracks of files; what is wrong with the others goes to `problems`."""
    before: tuple[str, tuple[Feature, ...]] | None = None
    for file in files:
        features = known_features(file, wanted)
        if before is not None and [one.name for one in features] != [one.name for one in before[1]]:
            raise DataError(
                f"{file} has the features {', '.join(map(str, features))}, and {before[0]} has "
                f"{', '.join(map(str, before[1]))}. Name those that are to be read."
            )
        if before is not None and (other := differing(before[1], features)):
            raise DataError(f"{file} has {other[1]} where {before[0]} has {other[0]}. Bring them to one unit.")
        before = before or (file, features)
        reading = {"csv": read_table, "jsonl": read_track_lines, "npz": read_arrays}[kind_of(file, wanted.format)]
        yield from reading(file, wanted, problems)


def differing(some: Sequence[Feature], others: Sequence[Feature]) -> tuple[Feature, Feature] | None:
    """The first feature with another unit; one without a unit goes with any."""
    pairs = zip(some, others, strict=True)
    return next(((one, other) for one, other in pairs if one.unit and other.unit and one.unit != other.unit), None)


def refuse_units_other_than(features: Sequence[Feature], files: Sequence[str], wanted: Wanted) -> None:
    """A sentence where a file has another unit than the training data, which `features` are of."""
    for file in files:
        if other := differing(features, known_features(file, wanted)):
            raise DataError(f"{file} has {other[1]} where the training data has {other[0]}. Bring it to the same unit.")


def known_features(file: str, wanted: Wanted) -> tuple[Feature, ...]:
    """What is measured at each step of a file's tracks, with the units that it gives."""
    refuse_pipe(file)
    kind = kind_of(file, wanted.format)
    if kind == "csv":
        return columns_of(file, wanted).features
    return features_of(file, wanted) if kind == "jsonl" else features_in(file, wanted)


def described(file: str, wanted: Wanted) -> str:
    """How a file is read, in words."""
    kind = kind_of(file, wanted.format)
    if kind == "csv":
        return str(columns_of(file, wanted))
    return f"{SPELLED[kind]}, features {', '.join(map(str, known_features(file, wanted)))}"


def kind_of(file: str, format_: Format) -> str:
    if format_ != "auto":
        return format_
    name = Path(file).name.lower().removesuffix(".gz").removesuffix(".zst")
    if Path(name).suffix not in ENDINGS:
        raise DataError(f"It is not clear from its name what {file} holds. Set data.format to csv, jsonl or npz.")
    return ENDINGS[Path(name).suffix]
