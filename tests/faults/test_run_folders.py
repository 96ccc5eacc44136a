"""Run folders that are elsewhere, not whole, not ours or not to be written."""

import os
import shutil
from pathlib import Path

import pytest
from run_files import SETTINGS, STEPS, Broken, answers

from dragoman.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.runs import Run, facts_of, find_runs
from dragoman.storage import read_record, write_record
from dragoman.training.events import Resumed, Saved
from dragoman.training.progress import Progress
from tiny import Corpus, bits, of_kind, run_all, tiny

ROOT = os.getuid() == 0


def go_on(broken: Broken, run: Path) -> list:
    return run_all(tiny(broken.corpus, **SETTINGS), run)


def test_a_moved_run_goes_on_and_answers(broken: Broken, tmp_path: Path) -> None:
    broken.copied(tmp_path / "here")
    (tmp_path / "far" / "away").mkdir(parents=True)
    run = (tmp_path / "here").rename(tmp_path / "far/away/rün 2")
    assert answers(run) == broken.answers
    assert of_kind(go_on(broken, run), Resumed) == [Resumed(6)]
    assert bits(run, STEPS) == broken.bits


def test_a_model_folder_alone_answers(broken: Broken, tmp_path: Path) -> None:
    shutil.copytree(broken.folder / "model", tmp_path / "shipped")
    assert answers(tmp_path / "shipped") == broken.answers


def test_a_link_to_a_run(broken: Broken, tmp_path: Path) -> None:
    broken.copied(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert answers(tmp_path / "link") == broken.answers
    go_on(broken, tmp_path / "link")
    assert bits(tmp_path / "run", STEPS) == broken.bits


def read_only(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_a_run_that_may_only_be_read_answers(broken: Broken, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = broken.copied(out)
    read_only(run)
    opened = Path.open

    def reading(path: Path, mode: str = "r", *rest: object, **more: object) -> object:
        assert mode in ("r", "rb"), f"{path} was opened to be written"
        return opened(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", reading)
    assert answers(run) == broken.answers
    assert facts_of(Run(run))["step"] == 6
    monkeypatch.undo()
    if not ROOT:
        with pytest.raises(StorageError, match=r"Cannot write into .*: Permission denied"):
            go_on(broken, run)


def test_a_file_where_a_folder_should_be(broken: Broken, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file is a file, not a folder\. Choose another --out"):
        go_on(broken, tmp_path / "file")
    with pytest.raises(ConfigError, match="is no run of dragoman"):
        Pipeline.load(tmp_path / "file")


@pytest.mark.parametrize("name", ["checkpoints", "tokenizers", "data", "model"])
def test_a_file_in_the_place_of_a_part(broken: Broken, out: Path, name: str) -> None:
    run = broken.copied(out)
    shutil.rmtree(run / name)
    (run / name).write_text("in the way")
    with pytest.raises(StorageError, match=rf"Cannot make the folder .*{name}: File exists. Move away what is there"):
        go_on(broken, run)


def test_a_loop_of_links(broken: Broken, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    with pytest.raises(DragomanError, match="one"):
        Pipeline.load(tmp_path / "one")
    with pytest.raises(DragomanError, match="one"):
        go_on(broken, tmp_path / "one")
    broken.copied(tmp_path / "run")
    assert [run.path.name for run in find_runs(tmp_path)] == ["run"]


@pytest.mark.skipif(ROOT, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_entered(broken: Broken, out: Path) -> None:
    run = broken.copied(out)
    run.chmod(0)
    try:
        with pytest.raises(DragomanError, match="Permission denied"):
            go_on(broken, run)
        assert find_runs(out.parent) == []
    finally:
        run.chmod(0o755)


@pytest.mark.parametrize("name", ["config.toml", "data.json"])
def test_what_checkpoints_depend_on_is_not_made_up(broken: Broken, out: Path, name: str) -> None:
    run = broken.copied(out)
    (run / name).unlink()
    left = sorted(run.rglob("*"))
    with pytest.raises(StorageError, match=rf"{name} is missing, though .* was trained. Restore it .* --fresh"):
        go_on(broken, run)
    assert sorted(run.rglob("*")) == left


def test_a_run_without_its_mark_is_no_run(broken: Broken, out: Path) -> None:
    run = broken.copied(out)
    (run / "environment.json").unlink()
    with pytest.raises(ConfigError, match=r"is no run, and holds .* \(a run has an environment.json\). Choose another"):
        go_on(broken, run)


def test_settings_changed_by_hand(broken: Broken, out: Path) -> None:
    """Of a run they are refused as other settings; of a model they count once the seal is off."""
    run = broken.copied(out)
    text = (run / "config.toml").read_text().replace("clip = 1.0", "clip = 2.0")
    (run / "config.toml").write_text(text)
    with pytest.raises(StorageError, match="delete the line '# seal: …' at its top"):
        go_on(broken, run)
    (run / "config.toml").write_text("".join(line for line in text.splitlines(True) if "seal" not in line))
    with pytest.raises(ConfigError, match=r"training.clip: 2.0 → 1.0"):
        go_on(broken, run)
    config = run / "model/config.toml"
    text = config.read_text().replace("width = 5", "width = 2")
    config.write_text("".join(line for line in text.splitlines(True) if not line.startswith("# seal")))
    assert Pipeline.load(run).settings.search.width == 2


def test_a_finished_run_with_a_damaged_status_ends_as_it_was(broken: Broken, out: Path) -> None:
    run = broken.copied(out)
    go_on(broken, run)
    for content in ("", "[]", '{"finished": "stepz"}', '{"finished": "steps", "step": "x"}'):
        (run / "status.json").write_text(content)
        go_on(broken, run)
        assert bits(run, STEPS) == broken.bits
        assert read_record(run / "status.json")["finished"] == "steps"


def test_a_newer_data_record(broken: Broken, out: Path) -> None:
    run = broken.copied(out)
    record = read_record(run / "data.json")
    write_record(run / "data.json", record | {"format_version": 2})
    with pytest.raises(StorageError, match=r"data.json has format 2, and this version of dragoman reads 1"):
        go_on(broken, run)


def test_data_that_changes_while_training(broken: Broken, out: Path, tmp_path: Path) -> None:
    """What was encoded at the start is learned from to the end; the next start notices."""
    mine = Corpus(tmp_path / "train.tsv", broken.corpus.valid)
    mine.train.write_bytes(broken.corpus.train.read_bytes())
    training = train(tiny(mine, **SETTINGS), out)
    next(event for event in training if event == Saved(2))
    mine.train.write_bytes(broken.corpus.train.read_bytes()[:-20])
    list(training)
    assert bits(out, STEPS) == broken.bits
    with pytest.raises(DataError, match=r"train.tsv changed since .* was begun .* Restore the data, choose another"):
        run_all(tiny(mine, **SETTINGS | {"training__steps": STEPS + 2}), out)
    assert bits(out, STEPS) == broken.bits


@pytest.mark.parametrize(
    ("change", "said"), [({"cuts": None}, "'cuts' is missing"), ({"magic": 3}, "'magic' is not known here")]
)
def test_a_state_of_another_version(change: dict[str, int | None], said: str) -> None:
    changed = Progress(step=6).as_state() | change
    state = {name: value for name, value in changed.items() if name not in change or value is not None}
    with pytest.raises(StorageError, match=rf"checkpoints/step-6/state.json was written by another .*: {said}. Go on"):
        Progress.from_state(state)
