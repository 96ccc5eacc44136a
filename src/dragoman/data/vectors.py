"""Vectors on disk: a .npy file that grows row by row, in numpy's own format and without pickle."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dragoman.storage import growing_file

DTYPE = np.dtype("<f4")


@contextmanager
def growing_array(path: Path, width: int) -> Iterator[Callable[[NDArray[np.float32]], None]]:
    """What is given row by row becomes an array (rows, width) under this name once all is written."""
    rows = 0
    with growing_file(path) as file:
        write_header(file, 0, width)

        def append(row: NDArray[np.float32]) -> None:
            nonlocal rows
            file.write(row.astype(DTYPE, copy=False).tobytes())
            rows += 1

        yield append
        write_header(file, rows, width)


def write_header(file: BinaryIO, rows: int, width: int) -> None:
    """numpy leaves room for any number of rows, so that the header can be written again in its place."""
    file.seek(0)
    npy.write_array_header_1_0(file, {"descr": DTYPE.str, "fortran_order": False, "shape": (rows, width)})
