"""What can go wrong for a user: one class an exit code, and sentences that say what is allowed and what is nearest."""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import ClassVar, TypeVar

Value = TypeVar("Value")


class DragomanError(Exception):
    """A mistake or misfortune that a sentence explains; anything else is a defect of ours and keeps its traceback."""

    exit_code: ClassVar[int] = 1


class ConfigError(DragomanError):
    """A setting, an option or a run folder that does not fit."""

    exit_code: ClassVar[int] = 2


class DataError(DragomanError):
    """Data that cannot be read, or should not be trained on."""

    exit_code: ClassVar[int] = 3


class NumericalError(DragomanError):
    """Training that no longer gives finite numbers."""

    exit_code: ClassVar[int] = 4


class OutOfMemoryError(DragomanError):
    """A single example that does not fit into memory."""

    exit_code: ClassVar[int] = 5


class StorageError(DragomanError):
    """A disk that is full, a folder that cannot be written, a file that is damaged."""

    exit_code: ClassVar[int] = 6


class DamagedStoreError(StorageError):
    """Encoded data that differs from what was written; it can be made again from the corpus."""

    def __init__(self, folder: Path, damage: str) -> None:
        super().__init__(f"{damage}. Delete {folder} and run the same command: it is encoded anew.")
        self.folder = folder


def nearest(name: str, known: Iterable[str]) -> str:
    """The sentence "Did you mean 'additive'?", or nothing when no known name is close."""
    matches = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f" Did you mean '{matches[0]}'?" if matches else ""


def unknown(what: str, name: str, known: Iterable[str], where: str = "") -> ConfigError:
    """No attention is called 'additiv' (train.toml, line 14). Did you mean 'additive'? Known: additive, dot."""
    names = sorted(known)
    place = f" ({where})" if where else ""
    return ConfigError(f"No {what} is called '{name}'{place}.{nearest(name, names)} Known: {', '.join(names)}.")


def choose(what: str, name: str, known: dict[str, Value], where: str = "") -> Value:
    """Look a name up; a miss names the nearest and all that are known."""
    if name not in known:
        raise unknown(what, name, known, where)
    return known[name]
