"""Arrays of NumPy (.npz), read entry by entry: nothing that is pickled, and never a whole array."""

import lzma
import math
import sys
import zipfile
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.lines import opened
from dragoman.data.readers.track import MOST
from dragoman.errors import DataError

LONGEST = 4_000  # bytes of a text: an id, a label, a caption or the name of a feature
MOST_BYTES = 16 * MOST  # that are read at once
DAMAGES = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
NUMBERS = "fiub"  # kinds of arrays that are numbers, as NumPy calls them: no texts, times or complex numbers


@dataclass
class Array:
    """One array of the file, of which the next entries can be read."""

    file: str
    name: str
    stream: zipfile.ZipExtFile
    shape: tuple[int, ...]
    kind: np.dtype[Any]
    start: int = 0  # of its first entry in the stream

    def take(self, entries: int) -> NDArray[Any]:
        """The next entries along the first axis."""
        each = math.prod(self.shape[1:])
        if entries * each > MOST:
            raise DataError(f"{self.file}: '{self.name}' has entries of more than {MOST:,} numbers. Cut them.")
        if self.kind.itemsize > LONGEST or entries * each * self.kind.itemsize > MOST_BYTES:
            raise DataError(
                f"{self.file}: {self} has texts that are too long: at most {LONGEST:,} bytes each and {MOST_BYTES:,} "
                "together are read. Shorten them."
            )
        size = entries * each * self.kind.itemsize
        try:
            found = self.stream.read(size)
        except DAMAGES as error:
            raise self.damaged() from error
        if len(found) != size:
            raise DataError(f"{self.file} is damaged: '{self.name}' ends too early. Save it again.")
        if self.kind.kind == "U" and (np.frombuffer(found, f"{self.kind.str[0]}u4") > sys.maxunicode).any():
            raise DataError(f"{self.file} is damaged: '{self.name}' holds what is no text. Save it again.")
        return np.frombuffer(found, self.kind).reshape(entries, *self.shape[1:])

    def at(self, entry: int) -> NDArray[Any]:
        """One entry of any number. Going back in a compressed file reads it again from its beginning."""
        try:
            self.stream.seek(self.start + entry * math.prod(self.shape[1:]) * self.kind.itemsize)
        except DAMAGES as error:
            raise self.damaged() from error
        return cast(NDArray[Any], self.take(1)[0])

    def damaged(self) -> DataError:
        return DataError(f"{self.file} is damaged: '{self.name}' cannot be read. Save it again.")

    @property
    def is_numeric(self) -> bool:
        return self.kind.kind in NUMBERS

    def __str__(self) -> str:
        return f"'{self.name}' {self.shape} of {self.kind}"


def arrays_of(file: str, stack: ExitStack) -> dict[str, Array]:
    """All arrays of a file with their shapes; an object array would be pickled, and is refused."""
    stream = stack.enter_context(opened(file))
    try:
        archive = stack.enter_context(zipfile.ZipFile(stream))
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        found = {name.removesuffix(".npy"): array_in(file, archive, name, stack) for name in names[:1_000]}
    except (*DAMAGES, ValueError, NotImplementedError, RuntimeError) as error:
        raise DataError(
            f"{file} is no .npz file that can be read ({str(error)[:80]}). Save it with np.savez."
        ) from error
    if not found:
        raise DataError(f"{file} holds no arrays. Save it with np.savez.")
    return found


def array_in(file: str, archive: zipfile.ZipFile, member: str, stack: ExitStack) -> Array:
    name = member.removesuffix(".npy")
    stream = cast(zipfile.ZipExtFile, stack.enter_context(archive.open(member)))
    version = np.lib.format.read_magic(stream)
    reading = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, kind = reading(stream)
    if kind.hasobject:
        raise DataError(
            f"{file}: '{name}' holds Python objects, which are pickled and never loaded: they may run code. Save plain "
            "arrays of numbers or texts; sequences of different lengths as one long array with an array of lengths."
        )
    if not kind.itemsize or any(size < 0 for size in shape):
        raise DataError(f"{file} is damaged: '{name}' has the shape {shape} of {kind}. Save it again.")
    if fortran and len(shape) > 1:
        raise DataError(f"{file}: '{name}' is stored column by column. Save np.ascontiguousarray of it.")
    return Array(file, name, stream, shape, kind, stream.tell())
