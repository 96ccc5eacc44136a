"""A training from nothing but a file: the data decides, what it decided stays, and a report is written at the end."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from command_line import CommandLine
from dragoman.config import read_toml, validate
from dragoman.data.tokenizers import Characters, train_tokenizer
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import Experiment, train
from dragoman.recipes import Composed, compose
from dragoman.training.events import Chosen, Event, Finished, Reported, Resumed, Saved, Surveyed, Validated, Warned
from tiny import Corpus, bits, of_kind

SMALL: dict[str, Any] = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.steps": 4,
    "training.save_every": 2,
    "training.estimate": False,
    "model.encoder.width": 8,
    "model.decoder.width": 12,
    "evaluation.report": 0,
}


def composed(corpus: Corpus, **settings: Any) -> Composed:
    own = {name.replace("__", "."): value for name, value in settings.items()}
    return compose(train=(str(corpus.train),), settings=SMALL | own)


def run_with(given: Composed, out: Path) -> list[Event]:
    return list(train(given.settings, out, given.given, undecided=given.undecided))


def settings_of(out: Path) -> Experiment:
    return validate(Experiment, read_toml(out / "config.toml").table)


def test_the_data_decides_what_the_user_left_open(corpus: Corpus, out: Path) -> None:
    events = run_with(composed(corpus), out)
    (chosen,) = of_kind(events, Chosen)
    values = {key: value for key, value, _ in chosen.choices}
    assert (values["source.kind"], values["target.kind"]) == ("characters", "words")
    assert "model.encoder.width" not in values
    assert "training.epochs" not in values
    settings = settings_of(out)
    assert (settings.model.encoder.width, settings.source.kind, settings.target.kind) == (8, "characters", "words")
    assert settings.training.batching.tokens == values["training.batching.tokens"]


@pytest.mark.parametrize("recipe", ["g2p", "translate", "vaswani2017"])
def test_the_data_decides_what_a_recipe_lists(recipe: str, corpus: Corpus, out: Path) -> None:
    """Of a few updates, a Transformer with two layers; what the recipe states stays, and kinds fit together."""
    small = {"training.steps": 2, "training.threads": 1, "training.device": "cpu", "evaluation.report": 0}
    given = compose(recipe, train=(str(corpus.train),), settings=small)
    (chosen,) = of_kind(run_with(given, out), Chosen)
    values = {key: value for key, value, _ in chosen.choices}
    settings = settings_of(out)
    assert values["training.batching.tokens"] == settings.training.batching.tokens == 256
    assert settings.objective.smoothing == 0.1
    if recipe == "vaswani2017":
        assert (values["model.encoder.layers"], settings.model.decoder.layers) == (2, 2)
        assert (settings.source.kind, settings.target.kind, settings.model.tie) == ("bpe", "shared", "all")
        assert settings.model.encoder.dropout == 0.0
    else:
        assert (settings.source.kind, settings.target.kind) == ("characters", "words")
        assert settings.model.encoder.width == values["model.encoder.width"] == 128


@pytest.mark.parametrize(
    "settings",
    [
        {"model.decoder.kind": "rnn", "model.decoder.bridge": "zeros", "model.tie": "none"},
        {"model.encoder.kind": "rnn"},
    ],
)
def test_a_recipe_of_transformers_may_have_one_recurrent_side(
    settings: dict[str, Any], corpus: Corpus, out: Path
) -> None:
    small = {"training.steps": 1, "training.threads": 1, "training.device": "cpu", "evaluation.report": 0}
    run_with(compose("vaswani2017", train=(str(corpus.train),), settings=small | settings), out)
    model = settings_of(out).model
    assert {model.encoder.kind, model.decoder.kind} == {"rnn", "transformer"}


def test_the_file_of_choices_is_a_recipe(corpus: Corpus, out: Path, tmp_path: Path) -> None:
    run_with(composed(corpus), out)
    again = compose(recipe=str(out / "defaults.toml"), train=(str(corpus.train),), settings=SMALL)
    list(train(again.settings, tmp_path / "again", again.given))
    assert bits(tmp_path / "again", 4) == bits(out, 4)


def test_some_pairs_are_held_out_where_there_is_no_validation_data(corpus: Corpus, out: Path) -> None:
    (survey,) = of_kind(run_with(composed(corpus), out), Surveyed)
    assert survey.summary["train"]["pairs"] + survey.summary["valid"]["pairs"] == 600
    assert survey.summary["valid"]["pairs"] > 20
    findings = {finding["name"] for split in survey.summary.values() for finding in split["findings"]}
    assert not [name for name in findings if "also in" in name or "overlap" in name]


def test_with_validation_data_nothing_is_held_out(corpus: Corpus, out: Path) -> None:
    given = compose(train=(str(corpus.train),), valid=(str(corpus.valid),), settings=SMALL)
    (chosen,) = of_kind(run_with(given, out), Chosen)
    assert "data.hold_out" not in [key for key, _, _ in chosen.choices]


def test_a_run_that_goes_on_keeps_its_choices(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = composed(corpus)
    whole = out.with_name("whole")
    run_with(given, whole)
    events = train(given.settings, out, given.given, undecided=given.undecided)
    while not (isinstance(event := next(events), Saved) and event.step == 2):
        pass
    events.close()  # type: ignore[attr-defined]

    def never(*arguments: object) -> None:
        raise AssertionError("chosen again")

    monkeypatch.setattr("dragoman.experiment.choosing.chosen", never)
    events_again = run_with(given, out)
    assert of_kind(events_again, Resumed)
    assert not of_kind(events_again, Chosen)
    assert bits(out, 4) == bits(whole, 4)


def test_a_report_is_written_at_the_end(corpus: Corpus, out: Path) -> None:
    events = run_with(composed(corpus, evaluation__report=20), out)
    assert [type(event) for event in events[-2:]] == [Reported, Finished]
    assert (out / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_the_command(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    words = [f"{name}={json.dumps(value)}" for name, value in SMALL.items()]
    done = dragoman("train", corpus.train, "--out", out, *words)
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.err.split("\n")]
    assert f"Chosen from the data ({out / 'defaults.toml'}):" in lines
    assert any(line.startswith("source.kind = characters single words, ") for line in lines)
    assert dragoman("train", corpus.train, "--out", out, *words).code == 2  # it is finished
    other = dragoman("train", corpus.train, "--out", out, *words, "model.encoder.width=9")
    assert "model.encoder.width: 8 → 9" in other.err


def test_standard_input_decides_too(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    words = [f"{name}={json.dumps(value)}" for name, value in SMALL.items()]
    done = dragoman("train", "-", "--out", out, *words, stdin=corpus.train.read_text())
    assert done.code == 0, done.err
    assert settings_of(out).source.kind == "characters"


def test_a_file_without_a_pair(tmp_path: Path, out: Path, dragoman: CommandLine) -> None:
    (tmp_path / "bad.tsv").write_text("a\t\nb\t\n")
    done = dragoman("train", tmp_path / "bad.tsv", "--out", out)
    assert done.code == 3
    assert "bad.tsv:1: empty target" in done.err


def test_choices_of_a_start_that_failed_are_forgotten(corpus: Corpus, tmp_path: Path, out: Path) -> None:
    rows = (" ".join(f"{letter}{n}" for letter in "abcdefghi") for n in range(100))
    sentences = "".join(f"{row}\t{row.upper()}\n" for row in rows)
    (tmp_path / "bad.tsv").write_text(sentences + "no tab\n" * 50)
    bad = compose(train=(str(tmp_path / "bad.tsv"),), settings=SMALL)
    with pytest.raises(DataError, match="nothing was done"):
        run_with(bad, out)
    assert read_toml(out / "defaults.toml").table["source"]["kind"] == "bpe"
    run_with(composed(corpus), out)
    assert read_toml(out / "defaults.toml").table["source"]["kind"] == "characters"
    assert str(corpus.train) in (out / "given.toml").read_text()


def test_a_monitored_metric_is_measured_on_what_is_held_out(corpus: Corpus, out: Path) -> None:
    events = run_with(composed(corpus, training__monitor="exact_match"), out)
    assert "exact_match" in of_kind(events, Validated)[-1].values


def test_a_run_is_not_bound_to_sampling_that_cannot_be(corpus: Corpus, tmp_path: Path, out: Path) -> None:
    path = tmp_path / "letters.json"
    path.write_text(train_tokenizer(Characters(), lambda: iter(["abcdefg"])).as_json())
    wrong = {"source__kind": "file", "source__path": str(path), "source__sampling": 0.1}
    with pytest.raises(ConfigError, match="sampl"):
        run_with(composed(corpus, **wrong), out)
    run_with(composed(corpus, **wrong | {"source__sampling": 0.0}), out)


def test_no_memory_for_a_report_takes_nothing_from_a_training(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def large(*arguments: object, **options: object) -> None:
        raise torch.OutOfMemoryError("out of memory")

    monkeypatch.setattr("dragoman.experiment.writing.gather", large)
    events = run_with(composed(corpus, evaluation__report=9), out)
    assert "memory ran out" in of_kind(events, Warned)[-1].message
    assert isinstance(events[-1], Finished)


def test_settings_of_a_kind_that_the_data_chooses(corpus: Corpus, out: Path) -> None:
    given = composed(corpus, training__schedule__warmup_share=0.2)
    run_with(given, out)
    schedule = settings_of(out).training.schedule
    assert (schedule.kind, schedule.warmup_share) == ("cosine", 0.2)  # type: ignore[union-attr]
    with pytest.raises(ConfigError, match=r"training\.schedule\.warmup_share belongs to"):
        composed(corpus, training__schedule__warmup_share=0.2, training__schedule__kind="constant")
    with pytest.raises(ConfigError, match=r"No setting is called 'training\.schedule\.warmup_shares'"):
        composed(corpus, training__schedule__warmup_shares=0.2)
    wrong = composed(corpus, model__source__grid=4)  # of images
    with pytest.raises(ConfigError, match=r"model\.source\.grid belongs to"):
        run_with(wrong, out.with_name("wrong"))


def test_letters_of_words_of_a_classifier(tmp_path: Path) -> None:
    rows = [f"{'good' if number % 2 else 'bad'} film {number % 7}\t{number % 2}" for number in range(200)]
    (tmp_path / "train.tsv").write_text("\n".join(["text\tlabel", *rows, ""]))
    small = {"training.steps": 2, "training.threads": 1, "training.estimate": False, "evaluation.report": 0}
    own = small | {"model.source.word_dropout": 0.3}
    given = compose("classify", train=(str(tmp_path / "train.tsv"),), settings=own)
    run_with(given, tmp_path / "run")
    assert settings_of(tmp_path / "run").model.source.word_dropout == 0.3  # type: ignore[union-attr]
