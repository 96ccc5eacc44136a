"""The weights of CTranslate2, looked through before the engine trusts them: what they say of sizes must hold."""

import math
import struct
from pathlib import Path
from typing import BinaryIO

from dragoman.errors import StorageError

VERSION = 6  # of the format; others may lie otherwise
SPECIFICATION = "TransformerSpec"
ITEM_BYTES = (4, 1, 2, 4, 2, 2)  # float32, int8, int16, int32, float16, bfloat16
MOST_VARIABLES = 1_000_000
MOST_DIMENSIONS = 8


def check_weights(path: Path) -> None:
    """Every variable has the bytes of its shape, and the file ends where they end."""
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            read_variables(file, size)
            read_aliases(file)
            whole = file.tell() == size
        except (struct.error, UnicodeDecodeError, ValueError) as error:
            raise damaged(path) from error
    if not whole:
        raise damaged(path)


def read_variables(file: BinaryIO, size: int) -> None:
    if number(file, "I") != VERSION or string(file) != SPECIFICATION:
        raise ValueError("another format")
    number(file, "I")  # the revision, which the engine knows
    for _ in range(bounded(number(file, "I"), MOST_VARIABLES)):
        string(file)
        shape = [number(file, "I") for _ in range(bounded(number(file, "B"), MOST_DIMENSIONS))]
        kind, length = number(file, "B"), number(file, "I")
        if kind >= len(ITEM_BYTES) or math.prod(shape) * ITEM_BYTES[kind] != length or file.tell() + length > size:
            raise ValueError("a variable that is not as large as its shape")
        file.seek(length, 1)


def read_aliases(file: BinaryIO) -> None:
    for _ in range(bounded(number(file, "I"), MOST_VARIABLES)):
        string(file), string(file)


def number(file: BinaryIO, kind: str) -> int:
    found: int = struct.unpack(f"<{kind}", file.read(struct.calcsize(f"<{kind}")))[0]
    return found


def string(file: BinaryIO) -> str:
    """Its length, the letters, and a zero, which is counted."""
    length = number(file, "H")
    content = file.read(length)
    if length < 1 or len(content) != length or content[-1] != 0:
        raise ValueError("a name without an end")
    return content[:-1].decode()


def bounded(count: int, most: int) -> int:
    if count > most:
        raise ValueError("too many")
    return count


def damaged(path: Path) -> StorageError:
    return StorageError(f"{path} is damaged, or no model for CTranslate2. Export the run again, or copy it again.")
