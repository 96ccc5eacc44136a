"""A model folder from a stranger is data: refused with a sentence, at once, in bounded memory, and nothing runs.

What a broken file of a run does is in tests/faults; here is what somebody meant to do.
"""

import json
import os
import pickle
import resource
import shutil
import signal
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import tomlkit
import torch

from command_line import CommandLine
from dragoman.config import flatten, nest, read_toml
from dragoman.data.tokenizers import Tokenizer
from dragoman.data.tokenizers.file import GUARD
from dragoman.errors import ConfigError, DragomanError, StorageError
from dragoman.pipeline import MODEL_FILES, Pipeline
from dragoman.runs import Run, facts_of
from dragoman.weights import read_tensors, weight_bytes
from tiny import Corpus, run_all, tiny

SECONDS = 2.0
KILOBYTES = 300_000
HUGE = 100_000_000_000  # bytes of a file with nothing in it
OPENED: list[str] | None = None  # by Python, while somebody looks


def watch_opening(event: str, arguments: tuple[Any, ...]) -> None:
    if OPENED is not None and event == "open":
        OPENED.append(str(arguments[0]))


sys.addaudithook(watch_opening)  # which cannot be taken off again


@contextmanager
def opened() -> Iterator[list[str]]:
    global OPENED
    OPENED = names = []
    try:
        yield names
    finally:
        OPENED = None


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Whoever opens a pipe would wait for ever."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sound") / "run"
    run_all(tiny(corpus, training__steps=2, training__validate_every=2), out)
    return out


@pytest.fixture
def folder(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run / "model", tmp_path / "model"))


class Canary:
    """Unpickled, it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def settings(folder: Path, **changes: Any) -> None:
    """model__encoder__layers=1000 in an unsealed config.toml, as a stranger would write it."""
    flat = flatten(read_toml(folder / "config.toml").table)
    flat |= {name.replace("__", "."): value for name, value in changes.items()}
    table = nest({tuple(name.split(".")): value for name, value in flat.items()})
    (folder / "config.toml").write_text(tomlkit.dumps(table))


def weights(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    """Other weights under a good seal."""
    tensors = read_tensors(folder / "model.safetensors")
    change(tensors)
    (folder / "model.safetensors").write_bytes(weight_bytes(tensors, {"format_version": "1"}))


def header(folder: Path, change: Callable[[str], str]) -> None:
    content = (folder / "model.safetensors").read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    plain = json.loads(content[8:end])
    del plain["__metadata__"]
    text = change(json.dumps(plain)).encode()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + content[end:])


def tokenizer(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "source.json").read_text())
    (folder / "source.json").write_text(json.dumps(content | changes))


def replaced(folder: Path, name: str, make: Callable[[Path], object]) -> None:
    (folder / name).unlink()
    make(folder / name)


def sparse(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(HUGE)


def unigram(*symbols: str) -> dict[str, Any]:
    specials = ["<pad>", "<unk>", "<s>", "</s>"]
    vocabulary = [[symbol, -1.0] for symbol in (*specials, *symbols)]
    rule = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"model": {"type": "Unigram", "unk_id": 1, "vocab": vocabulary}, "pre_tokenizer": rule}


def growing(times: int, part: str = "normalizer") -> dict[str, Any]:
    rule = {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 10}
    inner = {"normalizer": "normalizers", "decoder": "decoders"}[part]
    return {part: {"type": "Sequence", inner: [rule] * times}, "pre_tokenizer": GUARD}


PADDING = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"} | {
    "pad_to_multiple_of": None
}
FIRST = "source.embedding.weight"


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.pkl", bytes(10_000_000))


def doubled(text: str) -> str:
    entry = json.dumps(json.loads(text)[FIRST])
    return f'{text[:-1]}, "{FIRST}": {entry}}}'


def set_first(value: float) -> Callable[[dict[str, torch.Tensor]], None]:
    return lambda tensors: tensors[FIRST].view(-1)[:1].fill_(value) and None


def as_doubles(tensors: dict[str, torch.Tensor]) -> None:
    tensors[FIRST] = tensors[FIRST].double()


Attack = tuple[Callable[[Path], object], type[DragomanError], str]
ATTACKS: dict[str, Attack] = {
    "a weight that is no number": (lambda f: weights(f, set_first(float("nan"))), StorageError, "that are not finite"),
    "an infinite weight": (lambda f: weights(f, set_first(float("-inf"))), StorageError, "that are not finite"),
    "numbers of another type": (lambda f: weights(f, as_doubles), StorageError, "of the type F64, not torch.float32"),
    "a tensor twice": (lambda f: header(f, doubled), StorageError, "not valid JSON"),
    "metadata twice": (
        lambda f: header(f, lambda text: text[:-1] + ', "__metadata__": {"a": "1", "a": "2"}}'),
        StorageError,
        "not valid JSON",
    ),
    "a zip file": (lambda f: replaced(f, "model.safetensors", zipped), StorageError, "is no safetensors file"),
    "a hundred gigabytes of zeros behind": (
        lambda f: sparse(f / "model.safetensors"),
        StorageError,
        "is no safetensors file",
    ),
    "endless settings": (lambda f: sparse(f / "config.toml"), ConfigError, "has more than 1,000,000 bytes"),
    "an endless vocabulary": (lambda f: sparse(f / "source.json"), ConfigError, "has more than 64,000,000 bytes"),
    "millions of values": (
        lambda f: (f / "source.json").write_text("[" + "[]," * 20_000_000 + "[]]"),
        ConfigError,
        "holds more than 4,000,000 values",
    ),
    "a symbol of a million letters": (lambda f: tokenizer(f, **unigram("a", "a" * 10**6)), ConfigError, "so long that"),
    "long symbols and rules": (
        lambda f: tokenizer(f, **unigram("a", "a" * 3000) | growing(2)),
        ConfigError,
        "so many and so long",
    ),
    "rules that multiply": (lambda f: tokenizer(f, **growing(12)), ConfigError, "make a text more than 1,000 times"),
    "rules that multiply answers": (lambda f: tokenizer(f, **growing(12, "decoder")), ConfigError, "its rules make"),
    "padding": (
        lambda f: tokenizer(f, padding=PADDING, pre_tokenizer=GUARD),
        ConfigError,
        "it has a padding, which dragoman leaves out",
    ),
    "layers": (lambda f: settings(f, model__encoder__layers=1000), StorageError, r"encoder.layers = 1,000, and it"),
    "layers without end": (lambda f: settings(f, model__decoder__layers=10**12), ConfigError, "at most 1000"),
    "a width": (lambda f: settings(f, model__encoder__width=10**9), ConfigError, "at most 65536"),
    "a width that is allowed": (lambda f: settings(f, model__encoder__width=65_536), StorageError, "not fit its conf"),
    "a negative width": (lambda f: settings(f, model__encoder__width=-4), ConfigError, "at least 1"),
    "a vocabulary": (lambda f: settings(f, source__size=10**12), ConfigError, "at most 10000000"),
    "a beam": (lambda f: settings(f, search__width=10**9), ConfigError, "at most 10000"),
    "endless answers": (lambda f: settings(f, limits__answer=10**12), ConfigError, "at most 1000000"),
    "code": (lambda f: settings(f, model__kind="os.system"), ConfigError, "os.system"),
    "a folder for a file": (lambda f: replaced(f, "target.json", Path.mkdir), StorageError, "is no plain file"),
    "a folder for weights": (lambda f: replaced(f, "model.safetensors", Path.mkdir), StorageError, "no plain file"),
    **{
        f"a pipe for {name}": (lambda f, name=name: replaced(f, name, os.mkfifo), StorageError, "is no plain file")
        for name in MODEL_FILES
    },
}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_refused_quickly_and_in_little_memory(folder: Path, dragoman: CommandLine, name: str) -> None:
    attack, kind, said = ATTACKS[name]
    attack(folder)
    before, started_at = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with no_longer_than(20), pytest.raises(DragomanError, match=said) as raised:
        Pipeline.load(folder, "cpu")
    assert time.process_time() - started_at < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KILOBYTES
    assert type(raised.value) is kind
    done = dragoman("predict", folder, "--device", "cpu", stdin="abc\n")
    assert (done.code, done.out, done.err) == (kind.exit_code, "", f"dragoman: {raised.value}\n")
    assert str(folder) in done.err or "config.toml" in done.err


def test_the_folder_itself_is_sound(run: Path, folder: Path) -> None:
    """So that the refusals above are for their reasons; and what an attack looks like in small is allowed."""
    settings(folder)
    weights(folder, lambda tensors: None)
    assert Pipeline.load(folder, "cpu").predict("abc") == Pipeline.load(run, "cpu").predict("abc")
    sound = (folder / "source.json").read_text()
    for content in (unigram("a", "a" * 1000), growing(2), growing(2, "decoder")):
        (folder / "source.json").write_text(sound)
        tokenizer(folder, **content)
        Tokenizer.load(folder / "source.json")


def numbers_of(folder: Path) -> Iterator[tuple[str, Any]]:
    sampling = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 1}
    flat = flatten(read_toml(folder / "config.toml").table)
    flat |= {f"sampling.{name}": value for name, value in sampling.items()}
    for name, value in flat.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield from ((name, extreme) for extreme in (10**30, 10**9, -1))
            yield from ((name, extreme) for extreme in (1e308,) if isinstance(value, float))


def test_no_number_in_the_settings_is_more_than_a_sentence(folder: Path) -> None:
    """Every number there is, one after the other, absurd: the model answers, or says why not."""
    sound, refused = (folder / "config.toml").read_text(), 0
    numbers = list(numbers_of(folder))
    started_at = time.process_time()
    for name, extreme in numbers:
        (folder / "config.toml").write_text("".join(line for line in sound.splitlines(True) if "# seal" not in line))
        if name.startswith("sampling."):
            table = read_toml(folder / "config.toml").table
            table["search"] = {"kind": "sampling", name.removeprefix("sampling."): extreme}
            (folder / "config.toml").write_text(tomlkit.dumps(table))
        else:
            settings(folder, **{name: extreme})
        try:
            Pipeline.load(folder, "cpu").predict(["abc", "de"], alignments=False)
        except DragomanError:
            refused += 1
    assert len(numbers) > 100
    assert refused > len(numbers) / 2
    assert time.process_time() - started_at < 15


def test_links_that_were_given_are_followed(run: Path, tmp_path: Path) -> None:
    expected = Pipeline.load(run, "cpu").predict("abc")
    (tmp_path / "disk").symlink_to(run.parent)
    (tmp_path / "to-run").symlink_to(run)
    (tmp_path / "to-model").symlink_to(run / "model")
    for path in (tmp_path / "disk" / run.name, tmp_path / "disk" / run.name / "model", tmp_path / "to-run"):
        assert Pipeline.load(path, "cpu").predict("abc") == expected
    assert Pipeline.load(tmp_path / "to-model", "cpu").predict("abc") == expected


def test_a_link_that_stays_inside_is_followed(run: Path, folder: Path) -> None:
    (folder / "target.json").rename(folder / "words.json")
    (folder / "target.json").symlink_to("words.json")
    assert Pipeline.load(folder, "cpu").predict("abc") == Pipeline.load(run, "cpu").predict("abc")


@pytest.mark.parametrize("name", MODEL_FILES)
@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_that_leads_out_is_refused(
    folder: Path, tmp_path: Path, dragoman: CommandLine, name: str, absolute: bool
) -> None:
    (folder / name).rename(tmp_path / "private")
    (folder / name).symlink_to(tmp_path / "private" if absolute else Path("..") / "private")
    with pytest.raises(ConfigError, match=rf"{name} is a link that leads out of .*model, .* never read. Put what it"):
        Pipeline.load(folder, "cpu")
    done = dragoman("predict", folder, stdin="abc\n")
    assert done.code == 2
    assert "Traceback" not in done.err


def test_a_run_does_not_lead_to_the_model_of_another(run: Path, folder: Path, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "model").symlink_to(folder)
    with pytest.raises(
        ConfigError, match=r"stranger/model is a link that leads out of .*stranger, .* or name the fold"
    ):
        Pipeline.load(stranger, "cpu")
    (stranger / "model").unlink()
    shutil.copytree(folder, stranger / "kept")
    (stranger / "model").symlink_to("kept")
    assert Pipeline.load(stranger, "cpu").predict("abc") == Pipeline.load(run, "cpu").predict("abc")


def test_devices_and_loops(folder: Path) -> None:
    for target in ("/dev/zero", "/dev/stdin", "target.json"):
        replaced(folder, "target.json", lambda path, target=target: path.symlink_to(target))
        with no_longer_than(5), pytest.raises(DragomanError, match=r"target\.json"):
            Pipeline.load(folder, "cpu")


def test_nothing_else_in_a_folder_is_opened(folder: Path, tmp_path: Path) -> None:
    """No settings, templates, code or weights of another kind, whatever they are called."""
    canary = tmp_path / "canary"
    names = ("pytorch_model.bin", "optimizer.pt", "rng.pkl", "model.ckpt")
    code = ("__init__.py", "modeling.py", "sitecustomize.py", "conftest.py")
    for name in names:
        (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    for name in code:
        (folder / name).write_text(f"open({str(canary)!r}, 'w')")
    auto = {"auto_map": {"AutoModel": "modeling.Model"}, "chat_template": "{{ ''.__class__ }}", "custom_code": True}
    for name in ("config.json", "tokenizer_config.json", "tokenizer.json", "export.json"):
        (folder / name).write_text(json.dumps(auto))
    with opened() as found:
        Pipeline.load(folder, "cpu").predict("abc")
    inside = {Path(name).name for name in found if name.startswith(str(folder))}
    assert {"config.toml", "source.json"} <= inside <= set(MODEL_FILES)
    assert not canary.exists()


def test_a_file_that_settings_name_is_not_opened(folder: Path, tmp_path: Path) -> None:
    """A tokenizer that came from a file was copied when the run began."""
    for path in (str(tmp_path / "pipe"), "/etc/passwd", "../../secret.json", "\\\\host\\share\\x", "C:\\x", "CON"):
        table = read_toml(folder / "config.toml").table
        table["source"] = {"kind": "file", "path": path}
        (folder / "config.toml").write_text(tomlkit.dumps(table))
        if not (tmp_path / "pipe").exists():
            os.mkfifo(tmp_path / "pipe")
        with opened() as found, no_longer_than(10):
            Pipeline.load(folder, "cpu")
        assert path not in found


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_pickled_weights_alone_are_refused(tmp_path: Path, dragoman: CommandLine, name: str) -> None:
    """There is no second way in when the first is closed."""
    folder, canary = tmp_path / "theirs", tmp_path / "canary"
    folder.mkdir()
    (folder / "config.json").write_text('{"auto_map": {"AutoModel": "modeling.Model"}}')
    (folder / name).write_bytes(pickle.dumps(Canary(canary)))
    done = dragoman("predict", folder, stdin="abc\n")
    assert done.code == 2
    assert f"It holds {name}, and pickled weights are never loaded" in done.err
    assert not canary.exists()


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "\udcff"])
def test_names_that_cannot_be(path: str) -> None:
    with pytest.raises(DragomanError, match=r"is no run of dragoman|Cannot read"):
        Pipeline.load(path)


@pytest.fixture
def unprivileged(run: Path) -> Iterator[Path]:
    """A copy of the model where somebody may go who is not allowed everything."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(shutil.copytree(run / "model", Path(place) / "model"))


@contextmanager
def as_nobody() -> Iterator[None]:
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("name", [*MODEL_FILES, "."])
def test_what_may_not_be_read(unprivileged: Path, name: str) -> None:
    (unprivileged / name).chmod(0)
    try:
        with as_nobody(), pytest.raises(DragomanError, match=r"Cannot read .*: Permission denied"):
            Pipeline.load(unprivileged, "cpu")
    finally:
        (unprivileged / name).chmod(0o755)


@pytest.mark.parametrize("name", ["status.json", "model/model.safetensors", "checkpoints/last.json"])
def test_a_list_of_runs_waits_for_no_pipe(run: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    if name != "status.json":
        (copy / "status.json").unlink()
    replaced(copy, name, os.mkfifo)
    with no_longer_than(5):
        assert "is no plain file but a pipe" in facts_of(Run(copy))["state"]
