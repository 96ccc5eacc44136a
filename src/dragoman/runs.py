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
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor

from dragoman.errors import ConfigError, StorageError

FORMAT_VERSION = 1
LARGEST_JSON = 16_000_000  # bytes


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
        if not self.path.exists():
            return None
        names = (self.path.with_name(f"{self.path.name}.old-{number}") for number in count(1))
        with self.lock():  # never from under a trainer
            return self.path.rename(next(name for name in names if not name.exists()))


def find_runs(folder: Path) -> list[Run]:
    """The run folders directly inside a folder, the newest last."""
    paths = [path for path in folder.iterdir() if (path / "config.toml").is_file() and (path / "data.json").exists()]
    return [Run(path) for path in sorted(paths, key=lambda path: (path / "config.toml").stat().st_mtime)]


def write_atomically(path: Path, content: bytes | str) -> None:
    """A file is the old one or the new one, whatever happens in between."""
    temporary = path.with_name(f".tmp-{path.name}-{os.getpid()}")
    try:
        write_durably(temporary, content.encode() if isinstance(content, str) else content)
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"Cannot write {path}: {error.strerror}.") from error


def write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """A rename is durable only once its folder is."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    write_atomically(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """JSON of bounded size; damage gets a sentence."""
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise StorageError(f"{path} has {path.stat().st_size:,} bytes; at most {LARGEST_JSON:,} are read.")
        return json.loads(path.read_text("utf-8"))
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


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def weight_bytes(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Tensors as a safetensors file; equal tensors give equal bytes."""
    plain = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    content: bytes = tensors_to_bytes(plain, dict(metadata) if metadata else None)
    # The library writes the metadata in an order that changes from call to call; ours is alphabetical.
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return content[:8] + header.encode().ljust(end - 8) + content[end:]


def read_metadata(path: Path) -> dict[str, str]:
    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def read_tensors(path: Path) -> dict[str, Tensor]:
    """All tensors of a safetensors file of our own (its manifest is verified by the caller)."""
    try:
        with safe_open(path, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def read_weights(path: Path, expected: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Weights whose names, shapes and types are those of the model, checked before any of them is read."""
    try:
        with safe_open(path, "pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            wanted = {name: tuple(tensor.shape) for name, tensor in expected.items()}
            if found != wanted:
                raise StorageError(f"{path} does not fit its config: {first_mismatch(found, wanted)}.")
            return {name: file.get_tensor(name) for name in found}
    except (OSError, SafetensorError) as error:
        raise not_safetensors(path) from error


def first_mismatch(found: Mapping[str, tuple[int, ...]], wanted: Mapping[str, tuple[int, ...]]) -> str:
    for name, shape in wanted.items():
        if found.get(name) != shape:
            return f"'{name}' should have shape {shape} and has {found.get(name, 'none')}"
    return f"it holds '{next(name for name in found if name not in wanted)}', which the model has not"


def not_safetensors(path: Path) -> StorageError:
    if not path.is_file():
        return StorageError(f"There is no {path}.")
    return StorageError(f"{path} is no safetensors file, or is damaged. Pickled weights (.pt, .bin) are never loaded.")


def load_weights(module: torch.nn.Module, path: Path) -> None:
    """Give a module, which may still be on the meta device, the weights of a file that fits it."""
    module.load_state_dict(read_weights(path, module.state_dict()), assign=True)


def remove_folder(path: Path) -> None:
    """Rename first, so that a folder under its name is always whole."""
    trash = path.with_name(f".trash-{path.name}-{os.getpid()}")
    path.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)
