"""A checkpoint is whole or it does not exist."""

import errno
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from command_line import CommandLine
from dragoman.errors import ConfigError, StorageError
from dragoman.experiment import train
from dragoman.experiment.writing import export
from dragoman.runs import read_metadata
from dragoman.storage import read_record
from dragoman.training import checkpoints as module
from dragoman.training.checkpoints import Checkpoint, Checkpoints, find_damage
from dragoman.training.events import Event, Finished, Resumed, Saved, Stepped, Validated, Warned
from tiny import Corpus, bits, of_kind, run_all, run_until, tiny, words

FILES = ("model.safetensors", "optimiser.safetensors", "state.json", "MANIFEST.json")


def checkpoint(step: int, value: float = 1.0) -> Checkpoint:
    return Checkpoint(step, {"weight": torch.full((2, 3), value)}, {"0.step": torch.tensor(5.0)}, {"step": step})


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoints:
    """Two checkpoints, and what is reported about them."""
    reports: list[str] = []
    kept = Checkpoints(tmp_path / "checkpoints", 2, reports.append)
    kept.reports = reports
    kept.save(checkpoint(1))
    kept.save(checkpoint(2))
    return kept


def test_what_is_saved_is_read_back(kept: Checkpoints) -> None:
    found = kept.newest()
    assert found is not None
    assert (found.step, found.state["step"]) == (2, 2)
    assert torch.equal(found.model["weight"], torch.ones(2, 3))
    assert torch.equal(found.optimiser["0.step"], torch.tensor(5.0))
    assert read_record(kept.folder / "last.json") == {"step": 2}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "cut", [lambda n: 0, lambda n: 1, lambda n: n // 2, lambda n: n - 1], ids=["0", "1", "½", "-1"]
)
def test_a_cut_file_is_noticed(kept: Checkpoints, name: str, cut: Callable[[int], int]) -> None:
    path = kept.folder / "step-2" / name
    content = path.read_bytes()
    path.write_bytes(content[: cut(len(content))])
    found = kept.newest()
    assert found is not None
    assert found.step == 1
    assert "step-2 cannot be used" in kept.reports[0]
    assert ("manifest" if name == "MANIFEST.json" else name) in kept.reports[0]


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_bit_is_noticed(kept: Checkpoints, name: str) -> None:
    path = kept.folder / "step-2" / name
    content = path.read_bytes()
    bits_of_file = random.Random(1).sample(range(len(content) * 8), 200)
    for bit in bits_of_file:
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert find_damage(path.parent) is not None, f"bit {bit}"
    path.write_bytes(content)
    assert find_damage(path.parent) is None


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_noticed(kept: Checkpoints, name: str) -> None:
    (kept.folder / "step-2" / name).unlink()
    found = kept.newest()
    assert found is not None
    assert found.step == 1


@pytest.mark.parametrize("hint", [None, "", "{}", '{"step": 99}', "null"])
def test_last_json_is_only_a_hint(kept: Checkpoints, hint: str | None) -> None:
    (kept.folder / "last.json").unlink() if hint is None else (kept.folder / "last.json").write_text(hint)
    found = kept.newest()
    assert found is not None
    assert found.step == 2
    kept.save(checkpoint(3))
    assert read_record(kept.folder / "last.json") == {"step": 3}


def test_another_steps_folder_is_damage(kept: Checkpoints) -> None:
    shutil.copytree(kept.folder / "step-2", kept.folder / "step-7")
    assert find_damage(kept.folder / "step-7") == "its manifest does not fit"


def test_the_best_and_the_newest_are_kept(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path, keep=1)
    for step in range(1, 6):
        kept.save(checkpoint(step), best_step=min(step, 2))
    assert kept.steps() == [5, 2]


def test_a_damaged_one_is_no_spare(tmp_path: Path) -> None:
    """Two are kept; if the second is damaged, the third stays until there are two that are whole."""
    kept = Checkpoints(tmp_path, keep=3)
    for step in (1, 2, 3):
        kept.save(checkpoint(step))
    (tmp_path / "step-3/state.json").write_text("{}")
    kept = Checkpoints(tmp_path, keep=2)
    kept.save(checkpoint(4))
    assert kept.steps() == [4, 3, 2]
    kept.save(checkpoint(5))
    assert kept.steps() == [5, 4]


def test_what_a_dead_process_left_is_swept(kept: Checkpoints) -> None:
    for name in (".tmp-3-beef", ".trash-step-1-77"):
        (kept.folder / name).mkdir()
        (kept.folder / name / "model.safetensors").write_bytes(b"half")
    (kept.folder / ".tmp-last.json-77").write_text("{")
    again = Checkpoints(kept.folder, 2)
    assert sorted(path.name for path in kept.folder.iterdir()) == ["last.json", "step-1", "step-2"]
    assert again.steps() == [2, 1]


def test_a_crash_between_the_two_renames_of_a_replacement(tmp_path: Path) -> None:
    Checkpoints(tmp_path, 1).save(checkpoint(2))
    (tmp_path / "step-2").rename(tmp_path / ".trash-step-2-77")
    found = Checkpoints(tmp_path, 1).newest()
    assert found is not None
    assert found.step == 2


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_saved(kept: Checkpoints, bad: float) -> None:
    with pytest.raises(StorageError, match="Step 3 is not saved: 'weight' holds numbers that are not finite"):
        kept.save(checkpoint(3, bad))
    assert kept.steps() == [2, 1]
    assert list(kept.folder.glob(".tmp-*")) == []


def test_saving_a_step_again_replaces_it(kept: Checkpoints) -> None:
    kept.save(checkpoint(2, 9.0))
    found = kept.newest()
    assert found is not None
    assert found.model["weight"][0, 0] == 9


def test_too_little_space_is_noticed_before_writing(kept: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(kept.folder)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage._replace(free=100))
    with pytest.raises(StorageError, match="too little space"):
        kept.save(checkpoint(3))
    assert kept.steps() == [2, 1]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A disk that fails the numbered writes of checkpoint files, counted from 1."""
    failing: list[int] = []
    written = 0
    write = module.write_durably

    def writes(path: Path, content: bytes) -> None:
        nonlocal written
        written += 1
        if written in failing:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, content)

    monkeypatch.setattr(module, "write_durably", writes)
    return failing


@pytest.mark.parametrize("write", [5, 6, 7, 8], ids=FILES)
def test_a_full_disk_is_borne(corpus: Corpus, out: Path, full_disk: list[int], write: int) -> None:
    """A save is four writes; the second save, at step 2, fails."""
    full_disk.append(write)
    events = run_all(tiny(corpus, training__steps=6, training__save_every=2), out)
    warned = of_kind(events, Warned)
    assert "step-2: No space left on device. Training goes on" in warned[0].message
    assert [event.step for event in of_kind(events, Saved)] == [0, 4, 6, 6]
    assert list((out / "checkpoints").glob(".tmp-*")) == []


def test_a_disk_that_stays_full_ends_the_training(corpus: Corpus, out: Path, full_disk: list[int]) -> None:
    full_disk.extend(range(5, 99))
    training = train(tiny(corpus, training__steps=20, training__save_every=2), out)
    seen = []
    with pytest.raises(StorageError, match="No space left on device") as raised:
        seen.extend(iter(lambda: next(training), None))
    assert raised.value.exit_code == 6
    assert find_damage(out / "checkpoints/step-0") is None
    assert list((out / "checkpoints").glob(".tmp-*")) == []


@pytest.fixture
def failing_exports(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Models that cannot be handed out, by their numbers from 1."""
    failing: list[int] = []
    calls = 0

    def exports(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls in failing:
            raise StorageError("Cannot write model.safetensors: No space left on device.")
        export(*arguments)

    monkeypatch.setattr("dragoman.experiment.training.export", exports)
    return failing


def test_a_model_that_cannot_be_handed_out_is_borne(corpus: Corpus, out: Path, failing_exports: list[int]) -> None:
    """The last one is tried once more, and knows what was measured of it."""
    failing_exports.extend([1, 2])
    events = run_all(tiny(corpus, training__steps=3, training__validate_every=2), out)
    assert ["No space left" in event.message for event in of_kind(events, Warned)] == [True, True]
    assert of_kind(events, Finished) == [Finished(3, "steps")]
    found = read_metadata(out / "model/model.safetensors")
    assert (found["step"], float(found["value"])) == ("3", of_kind(events, Validated)[-1].values["loss"])


def test_no_training_is_finished_without_a_model(corpus: Corpus, out: Path, failing_exports: list[int]) -> None:
    """Good saves of checkpoints in between do not hide that; the same command makes up for it."""
    failing_exports.extend([1, 2, 3])
    settings = tiny(corpus, training__steps=6, training__save_every=1, training__validate_every=3)
    with pytest.raises(StorageError, match=r"Cannot write model\.safetensors"):
        run_all(settings, out)
    assert not (out / "status.json").exists()
    assert of_kind(run_all(settings, out), Finished) == [Finished(6, "steps")]
    assert read_metadata(out / "model/model.safetensors")["step"] == "6"


def test_each_save_on_a_full_disk_counts_once(
    corpus: Corpus, out: Path, full_disk: list[int], failing_exports: list[int]
) -> None:
    """Saves at steps 1, 2 (with a model) and 3: the third failure is at step 3."""
    full_disk.extend(range(5, 99))
    failing_exports.extend([1, 2, 3])
    events: list[Event] = []
    with pytest.raises(StorageError, match="No space left on device"):
        events.extend(train(tiny(corpus, training__save_every=1, training__validate_every=2), out))
    assert len(of_kind(events, Warned)) == 2
    assert of_kind(events, Stepped)[-1].step == 3


def test_two_trainers_in_one_folder(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    training = train(tiny(corpus), out)
    next(event for event in training if isinstance(event, Stepped))
    done = dragoman(*words(corpus, out))
    assert done.code == 2
    assert f"Another process is training in {out}" in done.err
    assert "Traceback" not in done.err
    with pytest.raises(ConfigError, match="Another process"):
        next(train(tiny(corpus), out))
    assert list(training)[-1] == Finished(20, "steps")


@pytest.mark.parametrize("name", FILES)
def test_training_goes_on_from_the_one_before(corpus: Corpus, tmp_path: Path, name: str) -> None:
    settings = tiny(corpus, training__steps=9, training__save_every=3)
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", lambda event: event == Saved(6))
    (tmp_path / "broken/checkpoints/step-6" / name).write_bytes(b"")
    events = run_all(settings, tmp_path / "broken")
    assert of_kind(events, Resumed) == [Resumed(3)]
    assert "step-6 cannot be used" in of_kind(events, Warned)[0].message
    assert bits(tmp_path / "broken", 9) == bits(tmp_path / "whole", 9)


def test_no_checkpoint_is_left(corpus: Corpus, tmp_path: Path) -> None:
    """Then nothing is deleted or begun anew: they may be another version's, or the disk may be failing."""
    settings = tiny(corpus, training__steps=6, training__save_every=3)
    run_until(settings, tmp_path / "run", lambda event: event == Saved(3))
    for manifest in (tmp_path / "run/checkpoints").glob("*/MANIFEST.json"):
        manifest.write_text(manifest.read_text().replace('"format_version": 1', '"format_version": 2'))
    before = sorted(path for path in (tmp_path / "run/checkpoints").rglob("*"))
    with pytest.raises(StorageError, match="none was touched: it has format 2, and this version of dragoman reads 1"):
        run_all(settings, tmp_path / "run")
    assert sorted(path for path in (tmp_path / "run/checkpoints").rglob("*")) == before


def test_best_and_last_of_a_training(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """keep = 1, and a validation that is best at its second time."""
    values = iter([3.0, 1.0, 2.0, 2.0])
    monkeypatch.setattr(
        "dragoman.experiment.training.validation_loss", lambda *_: {"loss": next(values), "perplexity": 1.0}
    )
    run_all(tiny(corpus, training__steps=8, training__keep=1, training__validate_every=2), out)
    record = json.loads((out / "checkpoints/step-8/state.json").read_text())
    assert record["best_step"] == 4
    assert {path.name for path in (out / "checkpoints").glob("step-*")} == {"step-4", "step-8"}
