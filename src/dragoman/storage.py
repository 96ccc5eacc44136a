"""Files that are whole or not there: durable writes, bounded reads, and seals by which a changed byte is noticed."""

import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dragoman.errors import DragomanError, StorageError

LARGEST_JSON = 16_000_000  # bytes
MOST_VALUES = 4_000_000  # of a JSON file; each takes about seventy bytes of memory, though three in the file
TEMPORARY: set[str] = set()  # folders that are in use
BLANK = "0" * 64
ESCAPED = "backslashreplace"  # what cannot be encoded becomes \udcff, which is how JSON writes it
# A file may hold the sha256 of itself, taken with this place blank: in JSON, in the header of weights, in TOML.
SEAL = re.compile(rb'(?:"seal": ?"|^# seal: )([0-9a-f]{64})\b', re.MULTILINE)


def write_atomically(path: Path, content: bytes | str) -> None:
    """A file is the old one or the new one, whatever happens in between."""
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        write_durably(temporary, content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
        synchronise(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"Cannot write {path}: {error.strerror}.") from error


@contextmanager
def growing_file(path: Path) -> Iterator[BinaryIO]:
    """A file that is written as it comes, and stands under its name once it is whole."""
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        synchronise(path.parent)
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def synchronise(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk for good: a rename is durable only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    """A JSON object with a seal."""
    text = json.dumps({"seal": BLANK, **record}, indent=2, ensure_ascii=False) + "\n"
    write_atomically(path, sealed(text.encode("utf-8", ESCAPED)))


def read_json(path: Path, largest: int = LARGEST_JSON) -> Any:
    """JSON of bounded size, finite numbers and distinct keys; damage gets a sentence."""
    return parsed(path, read_bounded(path, largest))


def read_record(path: Path, largest: int = LARGEST_JSON) -> dict[str, Any]:
    """A JSON object whose seal is unbroken."""
    content = read_bounded(path, largest)
    record = parsed(path, content)
    if not isinstance(record, dict):
        raise StorageError(f"{path} is damaged: it is no JSON object.")
    if "seal" not in record or not is_intact(content):
        raise StorageError(f"{path} is damaged: it has changed since it was written.")
    return {name: value for name, value in record.items() if name != "seal"}


def read_bounded(path: Path, most: int, failure: type[DragomanError] = StorageError) -> bytes:
    try:
        refuse_endless(path, failure)
        with path.open("rb") as file:
            content = file.read(most + 1)
    except OSError as error:
        raise failure(f"Cannot read {path}: {error.strerror}.") from error
    if len(content) > most:
        raise failure(f"{path} has more than {most:,} bytes, which is too much for such a file.")
    return content


def refuse_endless(path: Path, failure: type[DragomanError] = StorageError) -> None:
    """Whoever opens a pipe waits until somebody writes into it, and a device may have no end."""
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise failure(f"{path} is no plain file but a pipe, a socket or a device. Put the file itself there.")


def parsed(path: Path, content: bytes) -> Any:
    if content.count(b",") > MOST_VALUES:
        raise StorageError(f"{path} holds more than {MOST_VALUES:,} values, which is too much for such a file.")
    try:
        return json.loads(content, object_pairs_hook=distinct, parse_float=finite, parse_constant=finite)
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: it is not valid JSON.") from error


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def sealed(content: bytes) -> bytes:
    """Content with a blank seal → the same with its seal filled in."""
    found = SEAL.search(content)
    assert found is not None and found[1] == BLANK.encode()  # noqa: S101, PT018 (of our own making)
    return content[: found.start(1)] + hashlib.sha256(content).hexdigest().encode() + content[found.end(1) :]


def is_intact(content: bytes) -> bool:
    """Whether the seal is unbroken; what has none is taken as it is."""
    found = SEAL.search(content)
    if found is None:
        return True
    blank = content[: found.start(1)] + BLANK.encode() + content[found.end(1) :]
    return hashlib.sha256(blank).hexdigest().encode() == found[1]


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Add one JSON line; a torn last line of a killed process is dropped when the file is next cut back."""
    try:
        with path.open("a", encoding="utf-8", errors=ESCAPED) as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror}.") from error


def is_utf8(name: str | Path) -> bool:
    """Whether a file can be named in a config, and opened by safetensors."""
    try:
        str(name).encode()
    except UnicodeEncodeError:
        return False
    return True


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"Cannot make the folder {path}: {error.strerror}. Move away what is there.") from error


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is gone in the end; who ends the process at once removes it first."""
    with tempfile.TemporaryDirectory() as name:
        TEMPORARY.add(name)
        try:
            yield Path(name)
        finally:
            TEMPORARY.discard(name)


def remove_folder(path: Path) -> None:
    """Rename first, so that a folder under its name is always whole."""
    trash = path.with_name(f".trash-{path.name}-{os.getpid()}")
    path.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)
