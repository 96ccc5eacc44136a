"""Pictures of one shape on disk: any of them is at hand by its number, and next to nothing is in memory."""

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BufferedWriter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.data.chunk import Ids
from dragoman.data.pictures import Pixels, Size, shape_of
from dragoman.errors import DamagedStoreError, StorageError
from dragoman.storage import read_record, write_record

FORMAT_VERSION = 2
FACTS, PIXELS, SUMS = "gallery.json", "pixels.bin", "sums.bin"
COLOURS = 3


@dataclass(frozen=True)
class Gallery:
    """`pixels` has one picture behind the other, rows × columns × colours, a byte each; `sums` a checksum of each."""

    folder: Path
    shape: tuple[int, int]  # rows and columns of pixels
    count: int
    store: Path | None = None  # the folder that is made anew where this one is damaged

    @property
    def bytes_of_one(self) -> int:
        return self.shape[0] * self.shape[1] * COLOURS

    @cached_property
    def file(self) -> "Opened":
        return Opened(self.folder / PIXELS)

    @cached_property
    def sums(self) -> NDArray[np.uint32]:
        return np.fromfile(self.folder / SUMS, np.uint32)

    def read(self, numbers: Ids | Sequence[int]) -> NDArray[np.uint8]:
        """These pictures, (pictures, rows, columns, colours); plain reads, since the pages of a memory map would add to
        the resident memory. What differs from its checksum is damage."""
        found = np.empty((len(numbers), *self.shape, COLOURS), np.uint8)
        for row, number in enumerate(np.asarray(numbers).tolist()):
            content = self.file.read(self.bytes_of_one, number * self.bytes_of_one)
            if len(content) != self.bytes_of_one or zlib.crc32(content) != self.sums[number]:
                raise DamagedStoreError(
                    self.store or self.folder,
                    f"{self.folder / PIXELS} is damaged: picture {number} has changed since it was written",
                )
            found[row] = np.frombuffer(content, np.uint8).reshape(found.shape[1:])
        return found

    @staticmethod
    def open(folder: Path, store: Path | None = None) -> "Gallery | None":
        """The gallery in this folder if it is whole."""
        try:
            facts = read_record(folder / FACTS)
            shape = int(facts["rows"]), int(facts["columns"])
            gallery = Gallery(folder, shape, int(facts["count"]), store)
            sizes = (folder / PIXELS).stat().st_size, (folder / SUMS).stat().st_size
        except (StorageError, OSError, ValueError, KeyError, TypeError):
            return None
        whole = sizes == (gallery.count * gallery.bytes_of_one, gallery.count * 4)
        return gallery if whole and facts.get("format_version") == FORMAT_VERSION else None


class Opened:
    """A file that is open as long as somebody holds it."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDONLY)

    def read(self, size: int, place: int) -> bytes:
        return os.pread(self.descriptor, size, place)

    def __del__(self) -> None:
        os.close(self.descriptor)


@dataclass
class Hanging:
    """A gallery that is being filled."""

    shape: tuple[int, int]
    pixels: BufferedWriter
    sums: BufferedWriter
    count: int = 0

    def add(self, picture: Pixels) -> int:
        """The number of a picture that is hung behind all others."""
        if picture.shape != (*self.shape, COLOURS):
            raise ValueError(
                f"a picture of the shape {picture.shape} in a gallery of {self.shape[0]} × {self.shape[1]}"
            )
        content = np.ascontiguousarray(picture, np.uint8).tobytes()
        self.pixels.write(content)
        self.sums.write(np.uint32(zlib.crc32(content)).tobytes())
        self.count += 1
        return self.count - 1


@contextmanager
def hanging(folder: Path, size: Size) -> Iterator[Hanging]:
    """A new gallery in a folder that is no other's: a draft, which takes its place as a whole."""
    folder.mkdir(parents=True)
    with (folder / PIXELS).open("wb") as pixels, (folder / SUMS).open("wb") as sums:
        made = Hanging(shape_of(size), pixels, sums)
        yield made
        for file in (pixels, sums):
            file.flush()
            os.fsync(file.fileno())
    rows, columns = made.shape
    facts = {"format_version": FORMAT_VERSION, "rows": rows, "columns": columns, "count": made.count}
    write_record(folder / FACTS, facts)
