"""Images with captions: tables with named columns (TSV, CSV) or JSON lines, which name image files, or arrays of NumPy,
which hold the pixels."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt, field_validator, model_validator

from dragoman.data.pictures import BadPictureError
from dragoman.data.readers.arrays import Array, arrays_of
from dragoman.data.readers.files import FilesWithAnswers
from dragoman.data.readers.formats import Wanted as Format
from dragoman.data.readers.formats import (
    delimiter_of,
    field_of,
    has_field,
    kind_of,
    listed,
    missing_field,
    parsed,
    paths_of,
    readable_lines,
    refuse_pipe,
    rows_of,
    usual_length,
)
from dragoman.data.readers.lines import Problems, checked_lines
from dragoman.data.readers.pair import one_line, unreadable
from dragoman.data.readers.pairs import SplitName
from dragoman.data.readers.picture_places import PictureArray, Place, common_root, place_for
from dragoman.data.readers.tables import records
from dragoman.errors import DataError

PICTURES = ("picture", "image", "file", "filename", "file_name", "path", "image_path", "picture_path", "image_file")
IMAGES = ("images", "pictures", *PICTURES, "x")  # of arrays
CAPTIONS = ("caption", "captions", "text", "description", "sentence", "sentences", "title")


class Captions(FilesWithAnswers):
    """Pictures with one or several captions each, from tables with named columns (TSV, CSV) or JSON lines that name the
    files of the pictures (PNG, JPEG, WebP, GIF, BMP); or from arrays of NumPy (NPZ): images (uint8) and captions."""

    kind: Literal["captions"] = "captions"
    pictures: str = ""
    """folder, or ZIP, that the names of pictures are relative to (empty: the folder of the file that names them)"""
    format: Literal["auto", "tsv", "csv", "jsonl", "npz"] = "auto"
    """how the files hold their examples; auto looks at their names and first lines"""
    picture_field: str = ""
    """name, or number from 1, of the column or field that names the picture, or of the array of images (empty: found
    out)"""
    caption_field: tuple[str, ...] = ()
    """the same of the caption; several for several captions of a picture. A field of JSON may hold a list of them"""
    tag_field: str = ""
    """the same of a tag, such as the language of the caption, by which answers are asked for (empty: none)"""
    tags: Literal["none", "columns"] = "none"
    """columns: the name of a caption's column is its tag"""
    max_target_length: PositiveInt = 100
    """tokens of the longest caption, its tag counted"""
    longer: Literal["drop", "truncate"] = "drop"
    """what becomes of a longer one"""

    @field_validator("picture_field", "tag_field", mode="before")
    @classmethod
    def _a_number_is_a_column(cls, given: Any) -> Any:
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    @field_validator("caption_field", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        several = given if isinstance(given, list | tuple) else (given,)
        return tuple(str(one) if isinstance(one, int) else one for one in several if one != "")

    @model_validator(mode="after")
    def _one_kind_of_tag(self) -> "Captions":
        if self.tag_field and self.tags == "columns":
            raise ValueError("tag_field and tags = 'columns' both say what the tag of a caption is; leave one out")
        return self

    @property
    def tagged(self) -> bool:
        return bool(self.tag_field) or self.tags == "columns"


@dataclass(frozen=True)
class Captioned:
    """A picture and what is said of it, and the line that it stands on, counted over all files."""

    picture: str  # as it is named
    place: Place
    captions: tuple[tuple[str, str], ...]  # tag, or nothing, and text
    line: int  # 1-based
    root: str  # the folder around all pictures that are read

    @property
    def together(self) -> str:
        """What is held out as a whole: the picture, whatever it is called and whichever file names it; no absolute
        path, or splits would depend on the machine."""
        return self.place.relative(self.picture, self.root)


@dataclass(frozen=True)
class Columns:
    """Where the picture, the tag (or nothing) and the captions stand: columns from 0, or names of fields."""

    kind: str  # tsv, csv, jsonl or npz
    picture: int | str
    captions: tuple[int | str, ...]
    tag: int | str | None = None
    header: tuple[str, ...] = ()
    columns: int = 0
    delimiter: str = "\t"

    def named(self, field: int | str) -> str:
        return self.header[field] if self.header and isinstance(field, int) else str(field)

    def __str__(self) -> str:
        """TSV with header, picture = 'file', caption = 'en'"""

        def shown(field: int | str) -> str:
            return repr(self.named(field)) if self.header or isinstance(field, str) else f"column {field + 1}"

        table = f"{self.kind.upper()} with{'' if self.header else 'out'} header"
        kind = {"jsonl": "JSON lines", "npz": "arrays of NumPy"}.get(self.kind, table)
        tag = "" if self.tag is None else f", tag = {shown(self.tag)}"
        return f"{kind}, picture = {shown(self.picture)}, caption = {' and '.join(map(shown, self.captions))}{tag}"


def read_captions(data: Captions, files: Sequence[str], problems: Problems) -> Iterator[Captioned]:
    """Stream the good examples of files; bad lines go to `problems`. No picture is opened yet."""
    layouts = [columns_of(file, data) for file in files]
    places = [place_of(*one, data) for one in zip(files, layouts, strict=True)]
    root = common_root(places) if places else ""
    for file, columns, place in zip(files, layouts, places, strict=True):
        before = problems.begin(file, 0)
        rows = rows_of_arrays(columns, place, problems) if isinstance(place, PictureArray) else None
        for number, reason, record in rows or rows_in(file, columns, problems):
            found = record if reason else captioned(record, columns, data)
            if isinstance(found, str) or reason:
                problems.add(file, number, reason or str(found))
                continue
            picture, captions = found
            try:
                place.key(picture)
            except BadPictureError as error:
                problems.add(file, number, f"the picture is {error}")
                continue
            yield Captioned(picture, place, captions, before + number, root)


def read_captions_split(data: Captions, name: SplitName, problems: Problems) -> Iterator[Captioned]:
    """The examples of a split; what is held out depends on where pictures lie within their common folder."""
    examples = read_captions(data, data.files(name), problems)
    return (one for one in examples if data.keeps(one.together, name))


def place_of(file: str, columns: Columns, data: Captions) -> Place:
    return PictureArray(Path(file), str(columns.picture)) if columns.kind == "npz" else place_for(file, data.pictures)


Record = Any  # the cells of a row, or an object of JSON


def rows_in(file: str, columns: Columns, problems: Problems) -> Iterator[tuple[int, str, Record]]:
    """(line, why it is no example, what it holds)"""
    lines = problems.counted(checked_lines(file, "one picture with its caption"))
    if columns.kind == "jsonl":
        for line in lines:
            record = parsed(line.text) if line.text.strip() else None
            why = "" if isinstance(record, dict) else "no JSON object" if line.text.strip() else "empty line"
            yield line.number, line.reason or why, record
        return
    tsv = ((line.number, line.text.split("\t"), line.reason) for line in lines)
    headed = bool(columns.header)
    for number, cells, reason in records(lines, columns.delimiter) if columns.kind == "csv" else tsv:
        if headed and any(cell.strip() for cell in cells):
            headed = False
        elif not reason and not any(cell.strip() for cell in cells):
            yield number, "empty line", cells
        elif not reason and len(cells) != columns.columns:
            yield number, f"too {'few' if len(cells) < columns.columns else 'many'} columns", cells
        else:
            yield number, reason, cells


def rows_of_arrays(columns: Columns, place: PictureArray, problems: Problems) -> Iterator[tuple[int, str, Record]]:
    """The same from arrays: each image with its captions, one or several."""
    names = [str(name) for name in (*columns.captions, *([] if columns.tag is None else [columns.tag]))]
    with ExitStack() as stack:
        arrays = arrays_of(str(place.path), stack)
        images = place.images.shape[0]
        for name in names:
            refuse_no_texts(arrays[name], images, 1 if name == columns.tag else 2)
        for entry in range(images):
            problems.lines += 1
            texts = {name: arrays[name].take(1)[0].tolist() for name in names}
            yield entry + 1, "", {str(columns.picture): place.name_of(entry), **texts}


def refuse_no_texts(array: Array, images: int, dimensions: int) -> None:
    if array.kind.kind != "U" or len(array.shape) not in range(1, dimensions + 1) or array.shape[0] != images:
        several = ", or several side by side" if dimensions > 1 else ""
        raise DataError(
            f"{array.file}: {array} does not give one text for each of {images:,} images{several}. Save texts: "
            "np.array([…], dtype=str)."
        )


def captioned(record: Record, columns: Columns, data: Captions) -> str | tuple[str, tuple[tuple[str, str], ...]]:
    """The picture with its captions, or why there is none."""
    try:
        picture = field(record, columns.picture)
        tag = "" if columns.tag is None else field(record, columns.tag)
        values = [(columns.named(one), field(record, one)) for one in columns.captions]
    except KeyError as error:
        return f"no field '{error.args[0]}'"
    texts = [(name, text) for name, value in values for text in (value if isinstance(value, list) else [value])]
    if not isinstance(picture, str) or not isinstance(tag, str) or not all(isinstance(text, str) for _, text in texts):
        return "a field is no text"
    if reason := unreadable(picture, tag, *(text for _, text in texts)):
        return reason
    if not picture.strip():
        return "caption without a picture"
    kept = [(name if data.tags == "columns" else tag.strip(), one_line(text).strip()) for name, text in texts]
    kept = [(name, text) for name, text in kept if text]
    if not kept:
        return "empty caption"
    if data.tagged and not all(is_tag(name) for name, _ in kept):
        return "a tag has a space or a bracket in it" if all(name for name, _ in kept) else "empty tag"
    return picture.strip(), tuple(kept)


def is_tag(name: str) -> bool:
    return bool(name) and not any(character.isspace() or character in "<>" for character in name)


def field(record: Record, name: int | str) -> Any:
    return record[name] if isinstance(name, int) else field_of(record, name)


def columns_of(file: str, data: Captions) -> Columns:
    """Where pictures and captions stand: as the settings say, else by usual names, else in order."""
    if data.format == "npz" or (data.format == "auto" and Path(file).suffix.lower() == ".npz"):
        with ExitStack() as stack:
            return in_records(file, dict(arrays_of(file, stack)), data, "npz")
    refuse_pipe(file)
    lines = readable_lines(file, "one picture with its caption")
    kind = kind_of(file, lines, Format(data.format))
    if kind == "jsonl":
        first = next((record for line in lines if isinstance(record := parsed(line), dict)), {})
        return in_records(file, first, data)
    if kind == "text":
        raise DataError(
            f"{file} holds lines of plain text without tabs, so that there are no captions. Give a table such as "
            "picture<TAB>caption, or set data.format."
        )
    delimiter = delimiter_of(lines) if kind == "csv" else "\t"
    rows = rows_of(lines, delimiter) if kind == "csv" else [line.split("\t") for line in lines]
    return in_table(file, [[cell.strip() for cell in row] for row in rows], data, kind, delimiter)


def in_records(file: str, first: dict[str, Any], data: Captions, kind: str = "jsonl") -> Columns:
    """In fields of JSON, or in arrays, by their names."""
    known = list(paths_of(first))
    for name in filter(None, (data.picture_field, data.tag_field, *(data.caption_field if kind == "npz" else ()))):
        if not has_field(first, name):
            raise missing_field(file, name, known)
    picture = data.picture_field or usual(known, IMAGES if kind == "npz" else PICTURES)
    captions = data.caption_field or usual(known, CAPTIONS)
    if not picture or not captions:
        raise unclear_arrays(file, known) if kind == "npz" else unclear(file, known)
    return Columns(kind, picture, (captions,) if isinstance(captions, str) else captions, data.tag_field or None)


def in_table(file: str, rows: list[list[str]], data: Captions, kind: str, delimiter: str) -> Columns:
    """A header is what holds the names that are asked for, or usual ones."""
    first, columns = rows[0] if rows else [], usual_length(rows) if rows else 0
    wanted = [name for name in (data.picture_field, data.tag_field, *data.caption_field) if name]
    named = [name for name in wanted if not name.isdecimal()]
    for name in named:
        if name not in first:
            raise missing_field(file, name, first)
    for name in wanted:
        if name.isdecimal() and not 1 <= int(name) <= columns:
            raise DataError(f"{file} has {columns} columns: a field must be 1 to {columns}, not {name}.")
    headed = bool(named) or bool(usual(first, PICTURES) and usual(first, CAPTIONS))
    if not headed and not (data.picture_field and data.caption_field) and columns != 2:
        raise unclear(file, first)
    if data.tags == "columns" and not headed:
        raise DataError(f"{file} has no header, so that no column has a name to be a tag (data.tags = 'columns').")
    picture = data.picture_field or (usual(first, PICTURES) if headed else "1")
    captions = data.caption_field or ((usual(first, CAPTIONS),) if headed else ("2",))
    if not picture or not all(captions):
        raise unclear(file, first)

    def place(name: str) -> int:
        return int(name) - 1 if name.isdecimal() and name not in named else first.index(name)

    tag = place(data.tag_field) if data.tag_field else None
    header = tuple(first) if headed else ()
    return Columns(kind, place(picture), tuple(map(place, captions)), tag, header, columns, delimiter)


def array_of_images(file: str, field: str = "", usually: str = "") -> PictureArray:
    """The array of images of a file of NumPy: the one that is named, else the one `usually` taken, else by its name."""
    with ExitStack() as stack:
        known = list(arrays_of(file, stack))
    only = known[0] if len(known) == 1 else ""
    name = field or (usually if usually in known else "") or usual(known, IMAGES) or only
    if name not in known:
        raise missing_field(file, name, known) if name else unclear_arrays(file, known)
    return PictureArray(Path(file), name)


def usual(known: Sequence[str], names: Sequence[str]) -> str:
    """The first usual name that is there, as it is written there."""
    lowered = {name.lower(): name for name in reversed(known)}
    return next((lowered[name] for name in names if name in lowered), "")


def unclear(file: str, known: list[str]) -> DataError:
    return DataError(
        f"It is not clear which columns of {file} hold the names of pictures and the captions{listed(known)}. Name "
        "them, or number them from 1: data.picture_field=1 data.caption_field=2."
    )


def unclear_arrays(file: str, known: list[str]) -> DataError:
    return DataError(
        f"It is not clear which arrays of {file} hold the images and the captions{listed(known)}. Name them: "
        "data.picture_field=images data.caption_field=captions."
    )
