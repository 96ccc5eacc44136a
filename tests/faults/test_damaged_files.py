"""Any file of a run, damaged in any way, and every verb that reads it: a sentence that names the file, no traceback."""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_files import SETTINGS, STEPS, Broken

from command_line import Done
from dragoman.cli.main import run as run_command
from tiny import bits, words

CODES = (2, 3, 6)
OF_TRAINING = [
    "config.toml",
    "given.toml",
    "environment.json",
    "data.json",
    "status.json",
    "metrics.jsonl",
    "tokenizers/source.json",
    "data/train/store.json",
    "data/train/source.bin",
    "data/valid/lines.bin",
    "checkpoints/last.json",
    "checkpoints/step-6/MANIFEST.json",
    "checkpoints/step-6/state.json",
    "checkpoints/step-6/model.safetensors",
]
OF_MODEL = ["model/config.toml", "model/model.safetensors", "model/source.json", "model/target.json"]


class Canary:
    """Pickled, it would write a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def nested(path: Path) -> bytes:
    return b"a = " + b"[" * 100_000 if path.suffix == ".toml" else b"[" * 100_000


def newer(path: Path) -> bytes:
    """The same of a version to come; a seal would only tell that somebody wrote it by hand."""
    if path.suffix != ".json":
        return path.read_bytes().replace(b'"format_version":"1"', b'"format_version":"2"')
    record = json.loads(path.read_text())
    record.pop("seal", None)
    return json.dumps(record | {"format_version": 9}).encode()


DAMAGES: dict[str, Callable[[Path], bytes | None]] = {
    "empty": lambda path: b"",
    "half": lambda path: path.read_bytes()[: len(path.read_bytes()) // 2],
    "random": lambda path: bytes(range(256)) * 5,
    "list": lambda path: b"[]",
    "null": lambda path: b"null",
    "number": lambda path: b"3",
    "object": lambda path: b"{}",
    "huge": lambda path: b'{"step": 1e400, "finished": 1e400, "train": 1e400, "starts": [[1e400, 1, 1]]}',
    "nested": nested,
    "twice": lambda path: b'{"step": 1, "step": 2}',
    "nul": lambda path: path.read_bytes()[:-1] + b"\0",
    "newer": newer,
    "pickle": lambda path: pickle.dumps(Canary(path.with_name("canary"))),
    "missing": lambda path: None,
}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command line in this process, since there are hundreds of them."""

    def called(*given: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["dragoman", *map(str, given)])
        capsys.readouterr()
        code: Any = 0
        try:
            run_command()
        except SystemExit as end:
            code = end.code or 0
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return called


def damaged(path: Path, damage: str) -> None:
    content = DAMAGES[damage](path) if path.exists() else b"{"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)


def check(done: Done, path: Path) -> bool:
    """Whether it succeeded; if not, it has a documented code and one sentence that names the file."""
    assert "Traceback" not in done.err
    assert not path.with_name("canary").exists()
    if done.code == 0:
        return True
    assert done.code in CODES, done.err
    assert str(path) in done.err or path.parent.name in done.err
    assert path.name in done.err or "manifest" in done.err or "no run" in done.err
    return False


TABLE = [(name, damage) for name in OF_TRAINING for damage in DAMAGES]
OFTEN = [
    row for number, row in enumerate(TABLE) if number % 5 == 0
]  # every file and every damage; five and 14 are coprime
REFUSED = {"config.toml", "data.json"}


@pytest.mark.parametrize("rows", [OFTEN, pytest.param(TABLE, marks=pytest.mark.slow)], ids=["some", "all"])
def test_files_of_a_training(
    broken: Broken, tmp_path: Path, command: Callable[..., Done], rows: list[tuple[str, str]]
) -> None:
    """It is refused, or goes on to the very same end."""
    for number, (name, damage) in enumerate(rows):
        run = broken.copied(tmp_path / str(number))
        damaged(run / name, damage)
        if check(command(*words(broken.corpus, run, **SETTINGS)), run / name):
            assert bits(run, STEPS) == broken.bits, name
            assert name not in REFUSED or damage in ("newer", "nul"), (name, damage)
        else:
            assert name in REFUSED or (name, damage) == ("environment.json", "missing"), (name, damage)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", OF_MODEL)
def test_files_of_a_model(broken: Broken, tmp_path: Path, command: Callable[..., Done], name: str, damage: str) -> None:
    run = broken.copied(tmp_path / "run")
    pairs, lines = tmp_path / "pairs.tsv", tmp_path / "lines.txt"
    pairs.write_text("abc\tc b a\n")
    lines.write_text("abc\n")
    verbs = {
        "predict": ("predict", run, lines),
        "evaluate": ("evaluate", run, "--on", pairs),
        "score": ("score", run, pairs),
        "look": ("look", run, "abc"),
    }
    sound = {verb: command(*line).out for verb, line in verbs.items()}
    damaged(run / name, damage)
    for verb, line in verbs.items():
        done = command(*line)
        if check(done, run / name):
            assert damage == "newer", "a field that is not known is not used"
            assert name != "model/model.safetensors"
            assert verb == "evaluate" or done.out == sound[verb]
        else:
            assert done.out == ""


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_list_of_runs_shows_the_others(
    broken: Broken, tmp_path: Path, command: Callable[..., Done], damage: str
) -> None:
    names = ["status.json", "checkpoints/last.json", "model/model.safetensors", "environment.json", "config.toml"]
    broken.copied(tmp_path / "sound")
    for number, name in enumerate(names):
        damaged(broken.copied(tmp_path / f"broken-{number}") / name, damage)
    done = command("runs", tmp_path, "--json")
    assert (done.code, done.err) == (0, "")
    facts = {fact["run"]: fact for fact in map(json.loads, done.out.splitlines())}
    assert set(facts) == {"sound", *(f"broken-{number}" for number in range(len(names)))}
    assert (facts["sound"]["step"], facts["sound"]["state"]) == (6, "unfinished")
    if damage not in ("missing", "object", "newer", "half", "nul"):
        assert "status.json is damaged" in facts["broken-0"]["state"]
        assert "last.json is damaged" in facts["broken-1"]["state"]
        assert "model.safetensors is no safetensors file, or is damaged" in facts["broken-2"]["state"]
    assert command("runs", tmp_path).code == 0
