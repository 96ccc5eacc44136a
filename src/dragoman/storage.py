"""Files that are whole or not there: durable writes, bounded reads."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.errors import StorageError

LARGEST_JSON = 16_000_000  # bytes


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


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path, largest: int = LARGEST_JSON) -> Any:
    """JSON of bounded size; damage gets a sentence."""
    try:
        with path.open("rb") as file:
            content = file.read(largest + 1)
        if len(content) > largest:
            raise StorageError(f"{path} has more than the {largest:,} bytes that are read.")
        return json.loads(content.decode())
    except OSError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise StorageError(f"{path} is damaged: it is not valid JSON.") from error


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Add one JSON line; a torn last line of a killed process is dropped when the file is next cut back."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror}.") from error


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_folder(path: Path) -> None:
    """Rename first, so that a folder under its name is always whole."""
    trash = path.with_name(f".trash-{path.name}-{os.getpid()}")
    path.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)
