"""Where pictures lie that a file names: in a folder, in a ZIP, or in an array."""

import os
import posixpath
import re
import zipfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dragoman.data.pictures import (
    ENDINGS,
    MOST_BYTES,
    BadPictureError,
    Fit,
    Pixels,
    Size,
    pixels_of,
    pixels_of_object,
    read_file,
    shape_in,
)
from dragoman.data.readers.arrays import Array, arrays_of
from dragoman.data.readers.lines import Problems
from dragoman.errors import DataError


def files_in(folder: Path) -> list[Path]:
    """What lies in the folder of a clip."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        raise BadPictureError("the folder of the clip is not there") from None
    except OSError as error:
        raise BadPictureError(f"a folder that cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class PictureFolder:
    """Names are relative to the folder, and none leads out of it."""

    folder: Path

    def key(self, name: str) -> str:
        """What a picture is known by, whatever it is called."""
        try:
            path = os.path.realpath(self.folder / name)
        except (OSError, ValueError):
            raise BadPictureError("no name of a file") from None
        if not Path(path).is_relative_to(self.root):
            raise BadPictureError("outside of the folder of pictures")
        return path

    @cached_property
    def root(self) -> str:
        return os.path.realpath(self.folder)

    def relative(self, name: str, root: str) -> str:
        """Where the picture lies as seen from a folder around this one, without detours and links: the same wherever
        that folder lies."""
        return os.path.relpath(self.key(name), root)

    def read(self, name: str) -> bytes:
        return read_file(Path(self.key(name)))

    def pixels(self, name: str, size: Size, fit: Fit = "pad") -> Pixels:
        return pixels_of(self.read(name), size, fit)

    def shape(self, name: str) -> tuple[int, int]:
        return shape_in(self.read(name))

    def within(self, name: str) -> list[str]:
        """What lies in a folder of it, as it is read."""
        found = files_in(Path(self.key(name)))
        for path in found:
            if path.is_symlink() and path.suffix.lower() in ENDINGS:  # whatever else it leads to is not read
                self.key(str(path))
        return list(map(str, found))


@dataclass(frozen=True)
class PictureZip:
    """Names are those of its members."""

    path: Path

    @cached_property
    def file(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{self.path} is no ZIP that can be read. Give a folder of pictures, or mend it."
            ) from error

    def key(self, name: str) -> str:
        return f"{self.path}/{name}"

    @cached_property
    def root(self) -> str:
        return os.path.realpath(self.path)

    def relative(self, name: str, root: str) -> str:
        """There is one ZIP for all files that name pictures."""
        return posixpath.normpath(name)

    def read(self, name: str) -> bytes:
        file = self.file
        try:
            with file.open(name) as member:
                return member.read(MOST_BYTES + 1)
        except KeyError:
            raise BadPictureError("not there") from None
        except Exception as error:  # damaged, encrypted, or packed in a way that is not known
            raise BadPictureError("a file that cannot be unpacked") from error

    def pixels(self, name: str, size: Size, fit: Fit = "pad") -> Pixels:
        return pixels_of(self.read(name), size, fit)

    def shape(self, name: str) -> tuple[int, int]:
        return shape_in(self.read(name))

    def within(self, name: str) -> list[str]:
        """The members that lie in a folder of it, and in none inside of that."""
        folder = f"{name.strip('/')}/" if name.strip("/") not in ("", ".") else ""
        inside = [member for member in self.members if member.startswith(folder)]
        if not inside:
            raise BadPictureError("the folder of the clip is not there")
        return [member for member in inside if "/" not in member[len(folder) :]]

    @cached_property
    def members(self) -> list[str]:
        return self.file.namelist()


@dataclass(frozen=True)
class PictureArray:
    """The entries of one array of a file of NumPy. The names are "strips.npz[0]", "strips.npz[1]" and so on."""

    path: Path
    array: str

    @cached_property
    def opened(self) -> ExitStack:
        """Keeps the file open for as long as images may be asked for."""
        return ExitStack()

    @cached_property
    def images(self) -> Array:
        arrays = arrays_of(str(self.path), self.opened)
        if self.array not in arrays:
            raise DataError(f"{self.path} has no array '{self.array}'. It has {', '.join(arrays)}.")
        images = arrays[self.array]
        bytes_of_colors = len(images.shape) == 3 or (len(images.shape) == 4 and images.shape[3] in (1, 3, 4))
        if images.kind != np.uint8 or not bytes_of_colors:
            raise DataError(
                f"{self.path}: {images} does not hold images. Save bytes: uint8, (images, rows, columns), or (images, "
                "rows, columns, 3) with colors, or 4 with opacity."
            )
        return images

    def name_of(self, entry: int) -> str:
        return f"{self.path.name}[{entry}]"

    def number(self, name: str) -> int:
        found = re.fullmatch(r".*\[(\d{1,18})\]", name, re.DOTALL)
        if found is None or int(found[1]) >= self.images.shape[0]:
            raise BadPictureError("not there")
        return int(found[1])

    def key(self, name: str) -> str:
        return f"{os.path.realpath(self.path)}[{self.number(name)}]"

    @cached_property
    def root(self) -> str:
        return os.path.realpath(self.path.parent)

    def relative(self, name: str, root: str) -> str:
        return os.path.relpath(self.key(name), root)

    def read(self, name: str) -> bytes:
        return self.images.at(self.number(name)).tobytes()

    def pixels(self, name: str, size: Size, fit: Fit = "pad") -> Pixels:
        return pixels_of_object(self.images.at(self.number(name)), size, fit)

    def shape(self, name: str) -> tuple[int, int]:
        rows, columns = self.images.shape[1:3]
        if not rows or not columns:
            raise BadPictureError("a picture without pixels")
        return rows, columns

    def within(self, name: str) -> list[str]:
        raise BadPictureError("the folder of the clip is not there")


Place = PictureFolder | PictureZip | PictureArray


def common_root(places: Iterable[Place]) -> str:
    """The innermost folder that all of them lie in: of one, itself."""
    return os.path.commonpath([place.root for place in places])


def advice(problems: Problems) -> str:
    """The next step where no picture was found at all."""
    if not problems.reasons or not all(reason.endswith("is not there") for reason in problems.reasons):
        return ""
    return (
        "\nPictures are looked for where data.pictures says, else beside the file that names them: name their folder, "
        "or their ZIP (data.pictures=…)."
    )


def place_for(file: str, pictures: str) -> Place:
    """As data.pictures says, else the folder that the file lies in."""
    if not pictures:
        return PictureFolder(Path(file).parent)
    path = Path(pictures)
    if path.is_dir():
        return PictureFolder(path)
    if path.is_file():
        return PictureZip(path)
    raise DataError(f"There is no folder and no ZIP {pictures} (data.pictures).")
