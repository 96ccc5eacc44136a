"""Checkpoints that are whole or do not exist: temporary folder, hash and fsync each file, manifest last, rename."""

import hashlib
import json
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dragoman.errors import StorageError
from dragoman.runs import FORMAT_VERSION
from dragoman.storage import (
    hash_file,
    make_folder,
    read_json,
    remove_folder,
    synchronise,
    write_durably,
    write_record,
)
from dragoman.weights import first_mismatch, read_tensors, weight_bytes, weights_of

MANIFEST = "MANIFEST.json"
TENSOR_FILES = ("model", "optimiser")
SPARE = 2.2  # free space that a save needs, in sizes of a checkpoint: the new one, its neighbour, and some air


@dataclass(frozen=True)
class Checkpoint:
    """All that training needs to go on."""

    step: int
    model: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    state: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run. The caller holds the run's lock."""

    def __init__(self, folder: Path, keep: int, report: Callable[[str], None] = lambda message: None) -> None:
        self.folder, self.keep, self.report = folder, keep, report
        self.verified: set[int] = set()  # steps seen whole by this process, so that none is hashed at every save
        make_folder(folder)
        self.sweep()

    def sweep(self) -> None:
        """Remove what a dead process left half done; if it was replacing its only checkpoint, the old one is back."""
        for trash in self.folder.glob(".trash-step-*"):
            if not self.steps():
                trash.rename(self.folder / "-".join(trash.name.removeprefix(".trash-").split("-")[:2]))
        for path in [*self.folder.glob(".tmp-*"), *self.folder.glob(".trash-*")]:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def steps(self) -> list[int]:
        return steps_in(self.folder)

    def save(self, checkpoint: Checkpoint, best_step: int | None = None, anchors: Sequence[int] = ()) -> Path:
        """Write, verify nothing is infinite, rename into place, point at it, prune."""
        refuse_non_finite(checkpoint)
        final = self.folder / f"step-{checkpoint.step}"
        temporary = self.folder / f".tmp-{checkpoint.step}-{secrets.token_hex(4)}"
        try:
            self.write(temporary, checkpoint)
            if final.exists():
                remove_folder(final)
            temporary.rename(final)
            synchronise(self.folder)
            write_record(self.folder / "last.json", {"step": checkpoint.step})
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            raise StorageError(f"Cannot save {final}: {error.strerror or error}.") from error
        except StorageError:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        self.verified.add(checkpoint.step)
        try:
            self.prune(best_step, anchors)
        except OSError as error:
            self.report(f"An old checkpoint in {self.folder} cannot be removed: {error.strerror or error}.")
        return final

    def write(self, folder: Path, checkpoint: Checkpoint) -> None:
        contents = {
            "model.safetensors": weight_bytes(checkpoint.model),
            "optimiser.safetensors": weight_bytes(checkpoint.optimiser),
            "state.json": json.dumps({"format_version": FORMAT_VERSION, **checkpoint.state}, indent=1).encode(),
        }
        size = sum(len(content) for content in contents.values())
        if shutil.disk_usage(self.folder).free < SPARE * size:
            raise StorageError(f"{self.folder} has too little space left to save a checkpoint of {size:,} bytes.")
        folder.mkdir()
        files: dict[str, Any] = {}
        for name, content in contents.items():
            write_durably(folder / name, content)
            files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest = {"format_version": FORMAT_VERSION, "step": checkpoint.step, "files": files}
        write_durably(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
        synchronise(folder)

    def newest(self, at_most: int | None = None) -> Checkpoint | None:
        """The newest one (up to a step) that verifies; `last.json` is a hint for people and never believed.

        Where none does, nothing is begun anew on top of them: they may come from a newer version, or a failing disk.
        """
        steps = [step for step in self.steps() if at_most is None or step <= at_most]
        for step in steps:
            folder = self.folder / f"step-{step}"
            if damage := find_damage(folder):
                self.report(f"Checkpoint {folder.name} cannot be used ({damage}); an older one is looked for.")
                continue
            model, optimiser = (read_tensors(folder / f"{name}.safetensors") for name in TENSOR_FILES)
            return Checkpoint(step, model, optimiser, read_json(folder / "state.json"))
        if steps:
            raise StorageError(
                f"No checkpoint in {self.folder} can be used, and none was touched: {find_damage(folder)} in "
                f"{folder.name}. Restore one, or give --fresh to set the run aside."
            )
        return None

    def is_whole(self, step: int) -> bool:
        if step not in self.verified and find_damage(self.folder / f"step-{step}") is None:
            self.verified.add(step)
        return step in self.verified

    def prune(self, best_step: int | None, anchors: Sequence[int] = ()) -> None:
        """Keep the newest that verify, the best, and what a rollback goes to; only what is older than these goes."""
        whole = 0
        for step in self.steps():
            if step == best_step:
                continue
            if whole >= self.keep and step not in anchors:
                remove_folder(self.folder / f"step-{step}")
            else:
                whole += self.is_whole(step)


def steps_in(folder: Path) -> list[int]:
    """The steps that have a folder, newest first; whether it is whole is another question."""
    names = (path.name.removeprefix("step-") for path in folder.glob("step-*"))
    return sorted((int(name) for name in names if name.isascii() and name.isdigit()), reverse=True)


def find_damage(folder: Path) -> str | None:
    """What is wrong with a checkpoint folder, in words, or None."""
    try:
        manifest = read_json(folder / MANIFEST)
        files: Mapping[str, Mapping[str, Any]] = manifest["files"]
        expected = {f"{name}.safetensors" for name in TENSOR_FILES} | {"state.json"}
        if manifest["format_version"] != FORMAT_VERSION:
            return f"it has format {manifest['format_version']}, and this version of dragoman reads {FORMAT_VERSION}"
        if (f"step-{manifest['step']}", set(files)) != (folder.name, expected):
            return "its manifest does not fit"
        for name, record in files.items():
            path = folder / name
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != record["bytes"] or hash_file(path) != record["sha256"]:
                return f"{name} has changed"
    except (StorageError, OSError, KeyError, TypeError, AttributeError):
        return "its manifest cannot be read"
    return None


def refuse_misfit(checkpoint: Checkpoint, model: nn.Module) -> None:
    """Checkpoints that were copied from another run fit their manifests, but not this model."""
    found, wanted = (
        {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        for tensors in (checkpoint.model, weights_of(model))
    )
    if found != wanted:
        raise StorageError(
            f"checkpoints/step-{checkpoint.step} is of another model: {first_mismatch(found, wanted)}. Restore the "
            "checkpoints of this run, or give --fresh to set it aside."
        )


def refuse_non_finite(checkpoint: Checkpoint) -> None:
    for name, tensor in [*checkpoint.model.items(), *checkpoint.optimiser.items()]:
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise StorageError(f"Step {checkpoint.step} is not saved: '{name}' holds numbers that are not finite.")
