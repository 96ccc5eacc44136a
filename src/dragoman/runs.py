"""The run folder: what lies where in it, and how it is written so that nothing is ever half there.

RUN/
  given.toml         the settings as given          config.toml   all settings, as resolved
  environment.json   versions and machine           data.json     files, hashes and counts of the data
  status.json        where the run stands
  metrics.jsonl      a line a log point             bad_lines.jsonl, bad_batches.jsonl   what was left out, and why
  tokenizers/        source.json, target.json       data/         the corpus, encoded
  checkpoints/       step-N/: to go on from         model/        config.toml, model.safetensors, tokenizers: to serve
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from safetensors import SafetensorError, safe_open

from dragoman.errors import ConfigError, StorageError
from dragoman.storage import write_atomically

FORMAT_VERSION = 1


class Run:
    """A run folder by the names of its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.given = path / "given.toml"
        self.config = path / "config.toml"
        self.environment = path / "environment.json"
        self.data_record = path / "data.json"
        self.status = path / "status.json"
        self.metrics = path / "metrics.jsonl"
        self.bad_lines = path / "bad_lines.jsonl"
        self.bad_batches = path / "bad_batches.jsonl"
        self.tokenizers = path / "tokenizers"
        self.stores = path / "data"
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"

    @property
    def exists(self) -> bool:
        return self.config.is_file()

    def refuse_strangers(self) -> None:
        """A folder with other things in it is never written into, renamed or swept."""
        if self.environment.is_file() or not self.path.exists():
            return
        if not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file, not a folder. Choose another --out.")
        if strangers := sorted(path.name for path in self.path.iterdir() if not path.name.startswith((".", "stdin."))):
            raise ConfigError(f"{self.path} is no run, and holds {', '.join(strangers[:3])}. Choose another --out.")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """One trainer a run: the second is refused at once, and a lock dies with its process."""
        try:
            file = (self.path / ".lock").open("a+")
        except OSError as error:
            raise StorageError(f"Cannot write into {self.path}: {error.strerror}.") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise ConfigError(
                    f"Another process is training in {self.path}. Wait for it, or choose --out."
                ) from error
            yield

    def set_aside(self) -> Path | None:
        """Make room for a fresh run; the old one is kept under another name."""
        self.refuse_strangers()
        if not self.path.exists():
            return None
        path = self.path.resolve()
        names = (path.with_name(f"{path.name}.old-{number}") for number in count(1))
        with self.lock():  # never from under a trainer
            return path.rename(next(name for name in names if not name.exists()))


def find_runs(folder: Path) -> list[Run]:
    """The run folders directly inside a folder, the newest last."""
    paths = [path for path in folder.iterdir() if os.access(path, os.X_OK) and (path / "environment.json").is_file()]
    paths = [path for path in paths if (path / "config.toml").is_file()]
    return [Run(path) for path in sorted(paths, key=lambda path: (path / "config.toml").stat().st_mtime)]


def cut_back(path: Path, last_step: int) -> None:
    """Drop the records after a step, so that a resumed run writes them anew."""
    if not path.exists():
        return
    kept = []
    for line in path.read_text("utf-8").split("\n"):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if record.get("step", 0) <= last_step:
            kept.append(line + "\n")
    write_atomically(path, "".join(kept))


def read_metadata(path: Path) -> dict[str, str]:
    """What a safetensors file says of itself, without reading a tensor."""
    try:
        with safe_open(path, "np") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def not_safetensors(path: Path) -> StorageError:
    if not path.is_file():
        return StorageError(f"There is no {path}.")
    return StorageError(f"{path} is no safetensors file, or is damaged. Pickled weights (.pt, .bin) are never loaded.")
