"""A flipped bit in any file of a run is noticed, or changes nothing."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from run_files import SETTINGS, STEPS, Broken, answers, digest_of, files_of

from dragoman.config import read_sealed, validate
from dragoman.data.store import Store
from dragoman.errors import DamagedStoreError, DataError, DragomanError, StorageError
from dragoman.evaluation.pairs import evaluate
from dragoman.experiment import Experiment
from dragoman.pipeline import Pipeline
from dragoman.preparation.corpora import SIDES, intact_tokenizer, known_data
from dragoman.runs import Run, cut_back, facts_of, read_metadata
from dragoman.storage import read_record, write_record
from dragoman.training.checkpoints import Checkpoints, find_damage
from dragoman.training.events import Resumed, Warned
from tiny import Corpus, bits, of_kind, run_all, tiny

FLIPS = 1000
END_TO_END = 20
Facts = Callable[[], Any]  # all that is taken from a file


def flip(path: Path, chance: random.Random) -> int:
    content = bytearray(path.read_bytes())
    bit = chance.randrange(len(content) * 8)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    return bit


def facts_of_model(folder: Path) -> list[Any]:
    """Weights, tokenizers and settings: what answers are a function of. And what is said of them in a list of runs."""
    loaded = Pipeline.load(folder, "cpu")
    weights = [(name, tensor.numpy().tobytes()) for name, tensor in loaded.model.state_dict().items()]
    metadata = {name: value for name, value in read_metadata(folder / "model.safetensors").items() if len(value) < 64}
    return [weights, loaded.source, loaded.target, loaded.settings, metadata]


def facts_of_store(folder: Path, signature: str) -> list[bytes]:
    store = Store.open(folder, signature)
    if store is None:
        raise DamagedStoreError(folder, "it is encoded anew")
    chunks = [store.chunk(number) for number in range(store.chunks)]
    return [np.asarray(column).tobytes() for chunk in chunks for column in vars(chunk).values()]


def facts_of_checkpoint(folder: Path) -> list[bytes]:
    if damage := find_damage(folder):
        raise StorageError(damage)
    return [path.read_bytes() for path in files_of(folder)]


def facts_of_tokenizers(run: Run) -> list[str]:
    hashes = known_data(run)["tokenizers"]
    found = [intact_tokenizer(run.tokenizers / f"{side}.json", hashes[side]) for side in SIDES]
    if None in found:
        raise StorageError("it is learned again")
    return [tokenizer.hash for tokenizer in found if tokenizer is not None]


def facts_of_log(run: Run) -> None:
    """Nothing is taken from it, and it is still cut back."""
    cut_back(run.metrics, 4)


def reader(run: Run, path: Path) -> Facts:
    """How a file of a run is read."""
    match path.relative_to(run.path).parts:
        case ("model", _):
            return lambda: facts_of_model(run.model)
        case ("data", name, _):
            signature = read_record(run.stores / name / "store.json")["signature"]
            return lambda: facts_of_store(run.stores / name, signature)
        case ("checkpoints", "last.json"):
            return lambda: (read_record(path), Checkpoints(run.checkpoints, 2).newest().step)
        case ("checkpoints", step, _):
            return lambda: facts_of_checkpoint(run.checkpoints / step)
        case ("tokenizers", _):
            return lambda: facts_of_tokenizers(run)
        case ("config.toml",):
            return lambda: validate(Experiment, (document := read_sealed(path)).table, document)
        case ("data.json",):
            return lambda: known_data(run)
        case ("environment.json",) | ("status.json",):
            return lambda: read_record(path)
        case ("metrics.jsonl",) | ("given.toml",):
            return lambda: facts_of_log(run)
    raise AssertionError(f"nobody has said how {path} is read")


def test_a_thousand_flips(broken: Broken, tmp_path: Path) -> None:
    """Judged where the file is read: it raises a sentence, or what is read is what was written."""
    run = Run(broken.copied(tmp_path / "run"))
    write_record(run.status, {"step": 6, "finished": None, "at": "2026-11-16 04:00"})
    readers = {path: reader(run, path) for path in files_of(run.path)}
    contents = {path: path.read_bytes() for path in readers}
    expected = {path: read() for path, read in readers.items()}
    contents[run.metrics] = run.metrics.read_bytes()  # which reading has cut back
    chance, noticed = random.Random(11), Counter()
    paths = sorted(readers)
    for number in range(FLIPS):
        path = paths[number % len(paths)]
        bit = flip(path, chance)
        try:
            assert equal(readers[path](), expected[path]), f"bit {bit} of {path} changed what is read"
        except DragomanError:
            noticed[path.name] += 1
        path.write_bytes(contents[path])
    assert FLIPS * 0.7 < sum(noticed.values()) < FLIPS
    assert {"config.toml", "data.json", "model.safetensors", "store.json", "source.bin", "state.json"} <= set(noticed)


def equal(one: Any, two: Any) -> bool:
    return bool(one == two)


@pytest.mark.parametrize("seed", range(END_TO_END))
def test_a_flip_from_end_to_end(broken: Broken, tmp_path: Path, seed: int) -> None:
    """The whole training goes on with the same bits, or a sentence says why not; so do answers and the list of runs."""
    run = Run(broken.copied(tmp_path / "run"))
    chance, valid = random.Random(seed), str(broken.corpus.valid)
    path = chance.choice(files_of(run.path))
    flip(path, chance)
    assert facts_of(run)["step"] in (0, 6)
    said = refusal(lambda: [answers(run.path), list(evaluate(Pipeline.load(run.path, "cpu"), (valid,)).answers)])
    assert said is None or str(path) in said
    if said is None:
        assert answers(run.path) == broken.answers
    said = refusal(lambda: run_all(tiny(broken.corpus, **SETTINGS), run.path))
    assert said is None or str(path) in said
    if said is None:
        assert bits(run.path, STEPS) == broken.bits


def refusal(call: Callable[[], Any]) -> str | None:
    """What is said against it, or None."""
    try:
        call()
    except DragomanError as error:
        return str(error)
    return None


@pytest.mark.parametrize("store", ["train", "valid"])
@pytest.mark.parametrize("name", ["source.bin", "target_lengths.bin", "lines.bin", "store.json"])
def test_a_damaged_store_is_encoded_anew(broken: Broken, out: Path, store: str, name: str) -> None:
    run = broken.copied(out)
    path = run / "data" / store / name
    sound = path.read_bytes()
    flip(path, random.Random(1))
    events = run_all(tiny(broken.corpus, **SETTINGS), run)
    assert any(str(path.parent) in event.message for event in of_kind(events, Warned))
    assert path.read_bytes() == sound
    assert bits(run, STEPS) == broken.bits


def test_a_store_that_stays_damaged_ends_the_training(broken: Broken, out: Path, monkeypatch: Any) -> None:
    def damaged(*_: object, **__: object) -> None:
        raise DamagedStoreError(out / "data/train", "source.bin is damaged")

    monkeypatch.setattr("dragoman.data.columns.Columns.read", damaged)
    with pytest.raises(StorageError, match=r"source.bin is damaged. Delete .*data/train and run the same command"):
        run_all(tiny(broken.corpus, **SETTINGS), broken.copied(out))


def test_opening_a_store_reads_no_column(broken: Broken, out: Path) -> None:
    """However large it is: a flip is noticed when its chunk is read."""
    folder = broken.copied(out) / "data/train"
    signature = read_record(folder / "store.json")["signature"]
    flip(folder / "source.bin", random.Random(2))
    store = Store.open(folder, signature)
    assert store is not None
    with pytest.raises(DamagedStoreError, match=r"source.bin is damaged: it has changed since it was written"):
        store.chunk(0)


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("damage", ["symbol", "gone", "empty"])
def test_a_damaged_tokenizer_is_learned_again(broken: Broken, out: Path, side: str, damage: str) -> None:
    run = broken.copied(out)
    path = run / "tokenizers" / f"{side}.json"
    sound = path.read_text()
    if damage == "gone":
        path.unlink()
    else:
        path.write_text(sound.replace('"a"', '"x"') if damage == "symbol" else "")
    events = run_all(tiny(broken.corpus, **SETTINGS), run)
    assert f"{path} was damaged or missing. It was learned again" in of_kind(events, Warned)[0].message
    assert of_kind(events, Resumed) == [Resumed(6)]
    assert path.read_text() == sound
    assert bits(run, STEPS) == broken.bits


def test_a_tokenizer_that_comes_out_otherwise_is_refused(broken: Broken, out: Path, monkeypatch: Any) -> None:
    """As it may with another version of the library."""
    run = broken.copied(out)
    other = (run / "tokenizers/target.json").read_text()
    (run / "tokenizers/source.json").write_text("")
    monkeypatch.setattr("dragoman.preparation.pairs.train_tokenizer", lambda *_: loaded(out.with_name("t.json"), other))
    before = digest_of(run / "checkpoints")
    with pytest.raises(StorageError, match=r"source.json is damaged or missing, and learned again .* Restore it"):
        run_all(tiny(broken.corpus, **SETTINGS), run)
    assert digest_of(run / "checkpoints") == before


def loaded(path: Path, content: str) -> Any:
    path.write_text(content)
    return intact_tokenizer(path, None)


def test_damage_is_not_mended_from_other_data(broken: Broken, out: Path, tmp_path: Path) -> None:
    run = broken.copied(out)
    mine = Corpus(tmp_path / "train.tsv", broken.corpus.valid)
    mine.train.write_bytes(broken.corpus.train.read_bytes() + b"ab\tb a\n")
    (run / "tokenizers/source.json").write_text("")
    flip(run / "data/train/source.bin", random.Random(3))
    before = digest_of(run / "data")
    with pytest.raises(DataError, match=r"was begun with other train data"):
        run_all(tiny(mine, **SETTINGS), run)
    assert digest_of(run / "data") == before


def test_a_damaged_environment_is_written_anew(broken: Broken, out: Path) -> None:
    run = broken.copied(out)
    (run / "environment.json").write_text("{")
    warned = of_kind(run_all(tiny(broken.corpus, **SETTINGS), run), Warned)
    assert "environment.json is damaged: it is not valid JSON. It is written anew" in warned[0].message
    assert read_record(run / "environment.json")["torch"] == torch.__version__
    assert bits(run, STEPS) == broken.bits
