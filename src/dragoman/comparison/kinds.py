"""Which kind of data a comparison is of: what was said, what the recipes learn from, or what a file looks like."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile, is_zipfile

from dragoman.comparison.conversations import CONVERSATIONS
from dragoman.comparison.kind import Kind
from dragoman.comparison.ladder import Contender, data_kind
from dragoman.comparison.pictures import CAPTIONS
from dragoman.comparison.series import CLIPS, FRAMES
from dragoman.comparison.texts import PAIRS
from dragoman.comparison.tracks import TRACKS
from dragoman.config import Table, merge
from dragoman.data.pictures import ENDINGS
from dragoman.data.readers.captions import CAPTIONS as CAPTION_COLUMNS
from dragoman.data.readers.captions import PICTURES as PICTURE_COLUMNS
from dragoman.data.readers.clips import CLIPS as CLIP_COLUMNS
from dragoman.data.readers.clips import PICTURES as FRAME_COLUMNS
from dragoman.data.readers.conversations import TURNS
from dragoman.data.readers.formats import delimiter_of, first_lines, parsed, rows_of
from dragoman.data.readers.series import LABELS
from dragoman.data.readers.track import IDS, number_of
from dragoman.errors import ConfigError, DragomanError
from dragoman.experiment import Experiment
from dragoman.experiment.settings import value_at
from dragoman.recipes import read_recipe
from dragoman.served import require_source

KINDS = {kind.name: kind for kind in (PAIRS, CONVERSATIONS, CAPTIONS, TRACKS, FRAMES, CLIPS)}
LISTED = "pairs, conversations, captions, tracks, frames or clips"
ROWS = 20  # of a file that are looked at


def named_kind(given: Table, files: Sequence[Any]) -> str:
    """Where no recipe is named: as data.kind says, else as the first file looks."""
    said = value_at(given, ("data", "kind"))
    if said is not None:
        return str(said)
    return looks_like(files[0]) if files and isinstance(files[0], str) else PAIRS.name


def kind_of(found: Sequence[Contender], given: Table) -> Kind:
    """The one kind of data that all contenders learn from."""
    names = {one.name: data_kind(merge(read_recipe(one.recipe, one.scale).table, one.changes, given)) for one in found}
    for one in found:
        if names[one.name] not in KINDS:
            refuse(one, names[one.name])
    first = found[0].name
    other = next((name for name in names if names[name] != names[first]), None)
    if other is not None:
        raise ConfigError(
            f"{first} learns from {KINDS[names[first]].learns_from} (data.kind = '{names[first]}') and {other} from "
            f"{KINDS[names[other]].learns_from} ('{names[other]}'), and a comparison is of one kind of data. Name "
            "recipes of one kind, or say which it is for all: data.kind=…"
        )
    return KINDS[names[first]]


def refuse(contender: Contender, kind: str) -> None:
    """What cannot be compared by training."""
    model = read_recipe(contender.recipe, contender.scale).table.get("model", {})
    named = str(model.get("kind", "")) if isinstance(model, dict) else ""
    require_source(named, f"A comparison, in which {contender.name} would take part,")
    raise no_ladder(kind)


def no_ladder(kind: str) -> ConfigError:
    return ConfigError(
        f"A comparison is of {LISTED}, and data.kind is '{kind}'. Train models of it one by one, and set finished runs "
        "side by side with `dragoman compare --table`."
    )


def refuse_other_measures(kind: Kind, settings: dict[str, Experiment]) -> None:
    """All are measured on the same: what decides that must be equal."""
    first, *others = settings
    dumped = {name: one.model_dump(mode="json") for name, one in settings.items()}
    for setting in kind.same:
        path = setting.split(".")
        for other in others:
            values = [value_at(dumped[name], path) for name in (first, other)]
            if values[0] != values[1]:
                raise ConfigError(
                    f"{first} has {setting} = {values[0]!r} and {other} has {values[1]!r}, so that they would not be "
                    f"measured on the same. Give one for all: {setting}=…, or compare them one by one."
                )


def looks_like(file: str) -> str:
    """The kind of data that a file holds, where its names leave no doubt; else pairs."""
    if Path(file).suffix == ".npz":
        return of_arrays(file)
    if not Path(file).is_file():
        return PAIRS.name
    try:
        lines = first_lines(file, "one example")[:ROWS]
    except DragomanError:  # which is said where it is read
        return PAIRS.name
    records = [record for line in lines if line.lstrip().startswith("{") and isinstance(record := parsed(line), dict)]
    return of_record(records[0]) if records else of_table(lines)


def of_arrays(file: str) -> str:
    """By the names of arrays, which are those of the files in a ZIP."""
    if not is_zipfile(file):  # which is said where it is read
        return TRACKS.name
    with ZipFile(file) as archive:
        names = {Path(name).stem.lower() for name in archive.namelist()}
    return FRAMES.name if names & {*LABELS} else TRACKS.name


def of_record(record: dict[str, Any]) -> str:
    names = {name.lower(): value for name, value in record.items()}
    if any(isinstance(names.get(name), list) for name in TURNS):
        return CONVERSATIONS.name
    if is_picture(names, PICTURE_COLUMNS) and any(name in names for name in CAPTION_COLUMNS):
        return CAPTIONS.name
    rows = next((value for value in names.values() if is_points(value)), None)
    if rows is None:
        return PAIRS.name
    return FRAMES.name if any(name in names for name in LABELS) else TRACKS.name


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
        return PAIRS.name
    delimiter = "\t" if "\t" in lines[0] else delimiter_of(list(lines))
    header, *rows = rows_of(list(lines), delimiter)
    titles = [title.strip().lower() for title in header]
    same = [row for row in rows if len(row) == len(titles)]
    if not same:
        return PAIRS.name
    cells = dict(zip(titles, (cell.strip() for cell in same[0]), strict=True))
    label = any(name in cells for name in LABELS)
    if is_picture(cells, PICTURE_COLUMNS) and any(name in cells for name in CAPTION_COLUMNS):
        return CAPTIONS.name
    if label and (is_picture(cells, FRAME_COLUMNS) or {*titles} <= {*CLIP_COLUMNS, *LABELS}):
        return CLIPS.name
    numbers = [name for name in titles if name not in (*IDS, *LABELS)]
    if any(name in cells for name in IDS) and numbers and all(is_number(cells[name]) for name in numbers):
        return FRAMES.name if label else TRACKS.name
    return PAIRS.name


def is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True
