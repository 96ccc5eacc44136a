"""Training that starts from another run's weights, vocabularies and settings."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import dragoman
from command_line import CommandLine
from dragoman.errors import ConfigError, StorageError
from dragoman.experiment import Experiment
from dragoman.recipes import compose
from dragoman.storage import hash_file
from dragoman.training.events import Finished, Resumed, Saved, Started, Validated, Warned
from dragoman.training.origin import taken_over
from tiny import Corpus, bits, of_kind, run_all, run_until, tiny


@pytest.fixture(scope="module")
def old(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty steps of spelling backwards."""
    out = tmp_path_factory.mktemp("old") / "run"
    run_all(tiny(corpus, training__steps=60, training__validate_every=60, model__decoder__dropout=0.0), out)
    return out


@pytest.fixture(scope="module")
def new(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Other data for the same symbols: words as they are, not backwards."""
    folder = tmp_path_factory.mktemp("new")
    for name, path in vars(corpus).items():
        words = [line.split("\t")[0] for line in path.read_text().splitlines()]
        (folder / f"{name}.tsv").write_text("".join(f"{word}\t{' '.join(word)}\n" for word in words))
    return Corpus(folder / "train.tsv", folder / "valid.tsv")


def from_old(old: Path, corpus: Corpus, out: Path | None = None, **settings: Any) -> Experiment:
    own = {name.replace("__", "."): value for name, value in settings.items()}
    files = (str(corpus.train),), (str(corpus.valid),)
    return compose(train=files[0], valid=files[1], settings=own, start=str(old), out=out).settings


def losses(events: list[Any]) -> list[float]:
    return [event.values["loss"] for event in of_kind(events, Validated)]


def test_it_begins_at_the_old_models_loss_and_learns_the_new_data(
    corpus: Corpus, new: Corpus, old: Path, tmp_path: Path
) -> None:
    before = json.loads((old / "metrics.jsonl").read_text().splitlines()[-1])["valid"]["loss"]
    still = from_old(old, corpus, training__steps=1, training__optimiser__rate=1e-12)
    events = run_all(still, tmp_path / "still")
    assert losses(events) == [pytest.approx(before, abs=1e-6)]
    assert of_kind(events, Started) == [Started(str(old), 60)]
    learned = run_all(from_old(old, new, training__steps=40, training__validate_every=20), tmp_path / "learned")
    anew = run_all(tiny(new, training__steps=20, training__validate_every=20, training__save_every=20), tmp_path / "a")
    assert losses(learned)[1] < losses(learned)[0] < losses(anew)[0]


def test_settings_and_vocabularies_are_taken_over(new: Corpus, old: Path, out: Path) -> None:
    settings = from_old(old, new, training__epochs=2, training__average=0.9)
    assert settings.model.decoder.width == 32
    assert settings.training.optimiser.rate == 0.008
    assert (settings.training.steps, settings.training.epochs) == (None, 2)  # the old limit has gone
    assert from_old(old, new).training.steps == 60
    assert settings.data.train == (str(new.train),)
    run_until(settings, out, lambda event: isinstance(event, Started))
    assert (out / "tokenizers/source.json").read_bytes() == (old / "tokenizers/source.json").read_bytes()
    record = json.loads((out / "origin.json").read_text())
    assert record["sha256"] == hash_file(old / "model/model.safetensors")


def test_nothing_of_the_old_data_is_taken_over() -> None:
    data = {
        "train": ["old.csv", "more.csv"],
        "valid": ["v.csv"],
        "test": ["t.csv"],
        "weights": [1.0, 2.5],
        "format": "csv",
        "source_field": "de",
        "target_field": "en",
        "hold_out": 0.1,
        "max_source_length": 50,
    }
    assert taken_over({"data": data}) == {"data": {"max_source_length": 50}}


def test_a_config_that_changed_is_no_origin(old: Path, new: Corpus, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(old, mine)
    config = mine / "config.toml"
    config.write_text(config.read_text().replace("rate = 0.008", "rate = 0.009"))
    with pytest.raises(StorageError, match=r"config\.toml has changed since dragoman wrote it"):
        from_old(mine, new)


def test_the_record_has_a_seal_and_knows_the_old_run_by_any_name(old: Path, new: Corpus, tmp_path: Path) -> None:
    mine, out, link = tmp_path / "mine", tmp_path / "run", tmp_path / "link"
    shutil.copytree(old, mine)
    link.symlink_to(mine)
    run_until(from_old(mine, new, training__steps=2), out, lambda event: isinstance(event, Saved))
    (mine / "model/model.safetensors").unlink()  # the record alone must do
    assert from_old(link, new, out, training__steps=2).training.steps == 2
    record = out / "origin.json"
    record.write_text(record.read_text().replace("0.008", "0.009"))
    with pytest.raises(StorageError, match=r"origin\.json is damaged: it has changed"):
        from_old(mine, new, out, training__steps=2)


def test_the_config_of_a_started_run_is_no_recipe(old: Path, new: Corpus, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_until(from_old(old, new, training__steps=2), out, lambda event: isinstance(event, Started))
    with pytest.raises(ConfigError) as raised:
        compose(str(out / "config.toml"), train=(str(new.train),))
    assert "config.toml, line " in str(raised.value)
    assert f"training.start = '{old}' is no setting of a recipe" in str(raised.value)
    assert f"give --from {old}" in str(raised.value)


def test_the_same_bits_after_a_crash_without_the_old_run(new: Corpus, old: Path, tmp_path: Path) -> None:
    mine, whole, broken = tmp_path / "mine", tmp_path / "whole", tmp_path / "broken"
    shutil.copytree(old, mine)
    own = {"training__steps": 12, "training__save_every": 5, "training__validate_every": 6}
    run_all(from_old(mine, new, **own), whole)
    run_until(from_old(mine, new, **own), broken, lambda event: getattr(event, "step", 0) == 8)
    shutil.rmtree(mine)
    events = run_all(from_old(mine, new, broken, **own), broken)
    assert len(of_kind(events, Resumed)) == 1
    assert of_kind(events, Finished) == [Finished(12, "steps")]
    assert bits(broken, 12) == bits(whole, 12)
    with pytest.raises(ConfigError, match="is no run of dragoman"):
        from_old(mine, new, **own)


def test_a_model_folder_is_enough(new: Corpus, old: Path, tmp_path: Path) -> None:
    settings = {"training.steps": 2, "training.threads": 1, "training.device": "cpu"}
    events = dragoman.train(out=tmp_path / "run", start=old / "model", pairs=new.train, settings=settings)
    assert isinstance(list(events)[-1], Finished)


def test_unknown_symbols_are_told(corpus: Corpus, old: Path, tmp_path: Path) -> None:
    mine = Corpus(tmp_path / "strange.tsv", corpus.valid)
    mine.train.write_text("xyz\ta b\n" * 20 + corpus.train.read_text())
    events = run_all(from_old(old, mine, training__steps=1), tmp_path / "run")
    [warned] = of_kind(events, Warned)
    assert warned.message.startswith("2.")
    assert f"of the source symbols are not in the vocabulary of {old}" in warned.message


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model__decoder__width": 64}, r"model\.decoder\.width: 32 → 64"),
        ({"source__kind": "bpe"}, r"source\.kind: characters → bpe"),
    ],
)
def test_another_model_is_refused(new: Corpus, old: Path, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as raised:
        from_old(old, new, **settings)
    assert "train without --from" in str(raised.value)
    assert from_old(old, new, model__decoder__dropout=0.5).model.decoder.dropout == 0.5


def test_mistakes_get_sentences(corpus: Corpus, new: Corpus, old: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    options = ["--out", tmp_path / "run", "training.steps=1", "training.device=cpu", "training.threads=1"]
    done = dragoman("train", "--from", tmp_path / "nowhere", new.train, *options)
    assert (done.code, "is no run of dragoman" in done.err) == (2, True)
    done = dragoman("train", "g2p", "--from", old, new.train, *options)
    assert (done.code, "leave the recipe g2p out" in done.err) == (2, True)
    done = dragoman("train", "--from", old, new.train, "--out", old)
    assert (done.code, "needs another --out" in done.err) == (2, True)
    assert dragoman("train", "--from", old, new.train, *options).code == 0
    other = tmp_path / "other"
    run_all(tiny(corpus, training__steps=1, training__validate_every=1), other)
    done = dragoman("train", "--from", other, new.train, *options)
    assert (done.code, f"was started from {old}, not from {other}" in done.err) == (2, True)
    done = dragoman("train", new.train, *options)
    assert (done.code, "training.start" in done.err) == (2, True)


def test_a_damaged_model_gets_a_sentence(new: Corpus, old: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    shutil.copytree(old, mine)
    weights = mine / "model/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(StorageError, match=r"model\.safetensors"):
        run_all(from_old(mine, new, training__steps=1), tmp_path / "run")
