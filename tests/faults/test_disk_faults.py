"""A disk that fails in the middle of a save: the old checkpoint stays, nothing half done is left, training goes on."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from run_files import SETTINGS, STEPS, Broken

from dragoman.errors import StorageError
from dragoman.storage import write_atomically
from dragoman.training import checkpoints as module
from dragoman.training.checkpoints import Checkpoint, Checkpoints, find_damage
from dragoman.training.events import Warned
from tiny import bits, of_kind, run_all, tiny

FAULTS = {"full": errno.ENOSPC, "input/output error": errno.EIO, "read-only": errno.EROFS, "quota": errno.EDQUOT}


def checkpoint(step: int) -> Checkpoint:
    weights = {"weight": torch.full((20, 30), float(step))}
    return Checkpoint(step, weights, {"0.step": torch.tensor(5.0)}, {"step": step})


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    kept = Checkpoints(tmp_path / "checkpoints", 2)
    kept.save(checkpoint(1))
    return kept


def unharmed(kept: Checkpoints) -> None:
    """Only the old checkpoint is there, and it is whole; the next save succeeds."""
    assert sorted(path.name for path in kept.folder.iterdir()) == ["last.json", "step-1"]
    assert find_damage(kept.folder / "step-1") is None


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("percent", range(0, 100, 10))
def test_a_save_that_breaks_off(kept: Checkpoints, monkeypatch: pytest.MonkeyPatch, percent: int, fault: str) -> None:
    """The disk takes so much of a checkpoint and no more."""
    left = size_of(kept.folder / "step-1") * percent // 100
    write = module.write_durably

    def writes(path: Path, content: bytes) -> None:
        nonlocal left
        if len(content) > left:
            path.write_bytes(content[:left])
            raise OSError(FAULTS[fault], os.strerror(FAULTS[fault]))
        left -= len(content)
        write(path, content)

    monkeypatch.setattr(module, "write_durably", writes)
    with pytest.raises(StorageError, match=rf"Cannot save .*step-2: {os.strerror(FAULTS[fault])}"):
        kept.save(checkpoint(2))
    unharmed(kept)
    monkeypatch.undo()
    kept.save(checkpoint(2))
    assert kept.steps() == [2, 1]


@pytest.mark.parametrize("name", ["mkdir", "rename"])
def test_a_folder_that_cannot_be_made_or_named(kept: Checkpoints, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def fails(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, name, fails)
    with pytest.raises(StorageError, match="Read-only file system"):
        kept.save(checkpoint(2))
    monkeypatch.undo()
    unharmed(kept)


def test_a_disk_that_does_not_synchronise(kept: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(StorageError, match="Input/output error"):
        kept.save(checkpoint(2))
    unharmed(kept)


def test_an_old_one_that_cannot_be_removed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[str] = []
    kept = Checkpoints(tmp_path, 1, reports.append)
    kept.save(checkpoint(1))

    def fails(path: Path) -> None:
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(module, "remove_folder", fails)
    kept.save(checkpoint(2))
    assert kept.steps() == [2, 1]
    assert "An old checkpoint in" in reports[0]
    assert "Permission denied" in reports[0]


@pytest.mark.parametrize("name", ["step-²", "step-x", "step-", "step--1"])
def test_a_folder_with_an_odd_name_is_no_checkpoint(kept: Checkpoints, name: str) -> None:
    (kept.folder / name).mkdir()
    found = kept.newest()
    assert found is not None
    assert found.step == 1


def test_a_file_in_the_place_of_a_checkpoint(kept: Checkpoints) -> None:
    (kept.folder / "step-9").write_text("")
    found = kept.newest()
    assert found is not None
    assert found.step == 1


@pytest.mark.parametrize("write", ["open", "fsync", "replace"])
def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: str) -> None:
    path = tmp_path / "status.json"
    write_atomically(path, "old")

    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path if write == "open" else os, write, fails)
    with pytest.raises(StorageError, match=r"Cannot write .*status.json: No space left on device"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert [file.name for file in tmp_path.iterdir()] == ["status.json"]
    assert path.read_text() == "old"


CUTS: dict[str, Callable[[int], int]] = {
    "0": lambda size: 0,
    "1": lambda size: 1,
    "half": lambda size: size // 2,
    "all but one": lambda size: size - 1,
}


@pytest.mark.parametrize("cut", CUTS)
def test_training_goes_on_from_the_one_before_a_cut_one(broken: Broken, out: Path, cut: str) -> None:
    run = broken.copied(out)
    path = run / "checkpoints/step-6/optimiser.safetensors"
    os.truncate(path, CUTS[cut](path.stat().st_size))
    events = run_all(tiny(broken.corpus, **SETTINGS), run)
    assert "step-6 cannot be used (optimiser.safetensors has changed)" in of_kind(events, Warned)[0].message
    assert bits(run, STEPS) == broken.bits


def test_checkpoints_of_another_run(broken: Broken, out: Path, tmp_path: Path) -> None:
    run, other = broken.copied(out), tmp_path / "other"
    run_all(tiny(broken.corpus, **SETTINGS, model__encoder__width=12), other)
    shutil.rmtree(run / "checkpoints")
    shutil.copytree(other / "checkpoints", run / "checkpoints")
    with pytest.raises(StorageError, match=r"checkpoints/step-8 is of another model: .* should have shape"):
        run_all(tiny(broken.corpus, **SETTINGS), run)


def test_a_manifest_that_names_other_files(kept: Checkpoints) -> None:
    """Nothing outside the folder is read, whatever the manifest says."""
    path = kept.folder / "step-1/MANIFEST.json"
    manifest = json.loads(path.read_text())
    manifest["files"]["../../secret"] = manifest["files"].pop("state.json")
    path.write_text(json.dumps(manifest))
    assert find_damage(kept.folder / "step-1") == "its manifest does not fit"
