"""The run folder: what lies where in it, and how it is written so that nothing is ever half there.

RUN/
  given.toml         the settings as given          config.toml   all settings, as resolved
  defaults.toml      those chosen from the data, each with its reason
  environment.json   versions and machine           data.json     files, hashes and counts of the data
  status.json        where the run stands
  metrics.jsonl      a line a log point             bad_lines.jsonl, bad_batches.jsonl   what was left out, and why
  tokenizers/        source.json, target.json       data/         the corpus, encoded
  checkpoints/       step-N/: to go on from         model/        config.toml, model.safetensors, tokenizers: to serve
  baselines/         what baselines predict, by a hash of training and test data
"""

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from dragoman.errors import ConfigError, StorageError
from dragoman.storage import is_intact, is_utf8, read_record, refuse_endless, write_atomically

FORMAT_VERSION = 1
LIMITS = ("steps", "epochs", "minutes")  # of a training
REASONS = (*LIMITS, "patience")  # why a run is finished
# Settings that belong to the files of a run: with --from, new ones have a format, columns and weights of their own.
OF_THE_DATA = (
    "train",
    "valid",
    "test",
    "weights",
    "format",
    "source_field",
    "target_field",
    "hold_out",
    "hold_out_test",
    "text_field",
    "second_field",
    "label_field",
    "id_field",
)
LARGEST_HEADER = 8_000_000  # bytes; a tensor takes about a hundred


class Run:
    """A run folder by the names of its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.given = path / "given.toml"
        self.defaults = path / "defaults.toml"
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
        self.baselines = path / "baselines"

    @property
    def exists(self) -> bool:
        return self.config.is_file()

    def refuse_incomplete(self) -> None:
        """Once there are checkpoints, nothing that they depend on may be missing: it would be made up anew."""
        if not any(self.checkpoints.glob("step-*")):
            return
        for path in (self.config, self.data_record):
            if not path.is_file():
                raise StorageError(
                    f"{path} is missing, though {self.path} was trained. Restore it from a copy, or give --fresh to "
                    "set the run aside and begin anew."
                )

    @property
    def has_begun(self) -> bool:
        """Whether data was made ready or weights were learned; what is there before that may be replaced."""
        return self.data_record.exists() or self.checkpoints.exists()

    def refuse_strangers(self) -> None:
        """A folder with other things in it is never written into, renamed or swept."""
        if not is_utf8(self.path):
            raise ConfigError(
                f"The name of {self.path} is not UTF-8: no model could be read there. Choose another --out."
            )
        if self.environment.is_file() or not self.path.exists():
            return
        if not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file, not a folder. Choose another --out.")
        own = (".", "stdin.")
        if strangers := sorted(path.name for path in self.path.iterdir() if not path.name.startswith(own)):
            raise ConfigError(
                f"{self.path} is no run, and holds {', '.join(strangers[:3])} (a run has an environment.json). "
                "Choose another --out."
            )

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


def status_of(run: Run) -> dict[str, Any]:
    """Where the run ended. If that is damaged, it goes on from its checkpoint, and says anew where it ends."""
    try:
        status = read_record(run.status) if run.status.exists() else {}
    except StorageError:
        return {}
    return status if status.get("finished") in REASONS and isinstance(status.get("step"), int) else {}


def find_runs(folder: Path) -> list[Run]:
    """The run folders directly inside a folder, damaged ones too, the newest last."""
    paths = [path for path in folder.iterdir() if os.access(path, os.R_OK | os.X_OK) and looks_like_a_run(path)]
    return [Run(path) for path in sorted(paths, key=last_begun)]


def looks_like_a_run(path: Path) -> bool:
    config, known = (path / "config.toml").is_file(), (path / "environment.json").is_file()
    return (config and known) or ((config or known) and (path / "checkpoints").is_dir())


def last_begun(path: Path) -> float:
    config = path / "config.toml"
    return (config if config.exists() else path).stat().st_mtime


def facts_of(run: Run) -> dict[str, Any]:
    """Name, step, state and best value of a run from its own files; what is damaged is the state of a damaged one."""
    facts: dict[str, Any] = {
        "run": run.path.name,
        "step": 0,
        "state": "",
        "monitor": "",
        "best": None,
        "best_step": None,
    }
    try:
        weights = run.model / "model.safetensors"
        best = read_metadata(weights) if weights.exists() else {}
        status = read_record(run.status) if run.status.exists() else {}
        last = run.checkpoints / "last.json"
        step = status.get("step") or (read_record(last).get("step", 0) if last.exists() else 0)
        return facts | {
            "step": int(step),
            "state": f"finished ({status['finished']})" if status.get("finished") else "unfinished",
            "monitor": best.get("monitor", ""),
            "best": float(best["value"]) if "value" in best else None,
            "best_step": int(best["step"]) if "step" in best else None,
        }
    except StorageError as error:
        return facts | {"state": f"broken: {error}"}
    except (ValueError, TypeError, OverflowError):
        reason = f"{run.path} is damaged: its status.json, last.json or weights hold no numbers."
        return facts | {"state": f"broken: {reason}"}


def cut_back(path: Path, last_step: int) -> None:
    """Drop the records after a step, so that a resumed run writes them anew."""
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            kept = [line for line in file if line.endswith(b"\n") and step_of(line) <= last_step]
    except OSError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror}.") from error
    write_atomically(path, b"".join(kept))


def step_of(line: bytes) -> float:
    """The step of a record; a line that is damaged belongs to none and goes."""
    try:
        return float(json.loads(line).get("step", 0))
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return math.inf


def read_header(path: Path) -> bytes:
    """The length and the header of a safetensors file, unchanged since they were written."""
    try:
        refuse_endless(path)
        with path.open("rb") as file:
            length = file.read(8)
            size = int.from_bytes(length, "little")
            header = length + file.read(min(size, LARGEST_HEADER))
    except PermissionError as error:
        raise StorageError(f"Cannot read {path}: {error.strerror}.") from error
    except OSError as error:
        raise not_safetensors(path) from error
    if len(header) != size + 8 or not header[8:9] == b"{":
        raise not_safetensors(path)
    if not is_intact(header):
        raise changed(path)
    return header


def read_metadata(path: Path) -> dict[str, str]:
    """What a safetensors file says of itself, without reading a tensor."""
    read_header(path)
    try:
        with safe_open(path, "np") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def not_safetensors(path: Path) -> StorageError:
    if not path.is_file():
        return StorageError(
            f"There is no {path}. Train until the first validation, or copy the whole model folder again."
        )
    if not is_utf8(path):
        return StorageError(f"The name of {path} is not UTF-8, and safetensors cannot open it. Rename the folder.")
    return StorageError(
        f"{path} is no safetensors file, or is damaged. Copy it again, or train on: the next best model replaces it. "
        "Pickled weights (.pt, .bin) are never loaded."
    )


def changed(path: Path) -> StorageError:
    return StorageError(
        f"{path} is damaged: it has changed since it was written. Copy it again, or train on: the next best model "
        "replaces it."
    )


def without_limits(table: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Limits of a recipe or of an old run go when one is given: five epochs more are not 2,000 steps as well."""
    if not any(name in given.get("training", {}) for name in LIMITS):
        return table
    training = {name: value for name, value in table.get("training", {}).items() if name not in LIMITS}
    return {**table, "training": training}
