"""Baselines of a run: computed once, kept, and skipped with a sentence where their data is gone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.baselines.clock import OutOfTimeError
from dragoman.baselines.labels import label_baselines
from dragoman.baselines.predicted import Baselines, Predicted
from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside, run_around
from dragoman.evaluation.labels import evaluate_labels
from dragoman.experiment import train
from dragoman.inspection.report import as_json, gather, page, verdict
from dragoman.pipeline import Pipeline
from dragoman.runs import Run
from dragoman.training.events import Reported
from dragoman.watching import unwatched
from labels import small, written
from tiny import Corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return written(tmp_path_factory.mktemp("reviews"), "labels")


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    list(train(small(corpus, "labels"), out))
    return out


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run", ignore=shutil.ignore_patterns("baselines")))


def standing(run: Path, corpus: Corpus, seconds: float = 600.0) -> Standing:
    beside = Beside(run_around(run), seconds)
    found = evaluate_labels(Pipeline.load(run), [str(corpus.valid)], beside=beside).standing
    assert found is not None
    return found


def test_evaluate_shows_them_beside_the_model(run: Path, corpus: Corpus, dragoman: CommandLine) -> None:
    facts = json.loads(dragoman("evaluate", run, corpus.valid, "--json").out)["baselines"]
    assert (facts["metric"], facts["best"], facts["items"], facts["training_examples"]) == (
        "accuracy",
        "linear",
        60,
        320,
    )
    linear = facts["rows"]["linear"]["metrics"]["accuracy"]
    assert linear["low"] <= linear["value"] == linear["high"] == 100  # one word decides
    table = dragoman("evaluate", run, corpus.valid).out
    assert "most frequent label" in table
    assert "the best baseline (linear model over words): accuracy" in table
    without = dragoman("evaluate", run, corpus.valid, "--no-baselines")
    assert "baseline" not in without.out
    assert "baselines" not in json.loads(dragoman("evaluate", run, corpus.valid, "--json", "--no-baselines").out)


def test_they_are_computed_once(copied: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    first = standing(copied, corpus)
    [kept] = Run(copied).baselines.glob("*.json")

    def never(*_: object) -> list[Predicted]:
        raise AssertionError

    monkeypatch.setattr("dragoman.evaluation.beside.label_baselines", never)
    assert standing(copied, corpus) == first
    kept.write_text("{")  # damaged
    with pytest.raises(AssertionError):
        standing(copied, corpus)


def test_other_test_data_is_computed_anew(copied: Path, corpus: Corpus, tmp_path: Path) -> None:
    standing(copied, corpus)
    few = tmp_path / "few.tsv"
    few.write_text("".join(corpus.valid.read_text().splitlines(keepends=True)[:20]))
    assert standing(copied, Corpus(corpus.train, few)).items == 19
    assert len(list(Run(copied).baselines.glob("*.json"))) == 2


def test_training_data_that_is_gone_is_said(tmp_path: Path, dragoman: CommandLine) -> None:
    corpus = written(tmp_path, "labels", 60)
    list(train(small(corpus, "labels", training__steps=2), tmp_path / "run"))
    corpus.train.unlink()
    done = dragoman("evaluate", tmp_path / "run", corpus.valid)
    assert done.code == 0, done.err
    assert "Skipped baselines from training data, which is missing or has changed" in done.out
    corpus.train.write_text("sentence\tlabel\nother\tpos\n")
    facts = json.loads(dragoman("evaluate", tmp_path / "run", corpus.valid, "--json").out)["baselines"]
    assert (facts["rows"], facts["outcome"]) == ({}, None)
    assert "changed since the run began" in facts["note"]
    alone = Path(shutil.copytree(tmp_path / "run" / "model", tmp_path / "alone"))
    assert "Name the run" in dragoman("evaluate", alone, corpus.valid).out


def test_the_verdict_begins_with_them(copied: Path, corpus: Corpus) -> None:
    """This model was hardly trained, and one word decides."""
    facts = gather(Run(copied), (), 500, unwatched)
    first = verdict(facts)[0]
    assert first.startswith("The model is significantly worse than the best baseline (linear model over words): accura")
    found = as_json(facts)["measured"]["baselines"]
    assert (found["best"], found["items"]) == ("linear", 60)
    whole = page(facts)
    assert whole.index('id="metrics"') < whole.index('id="baselines"') < whole.index('id="learning"')
    assert "most frequent label" in whole
    without = gather(Run(copied), (), 500, unwatched, seconds=0.0)
    assert (without.standing, "best baseline" in " ".join(verdict(without))) == (None, False)


def test_training_ends_with_where_the_model_stands(tmp_path: Path) -> None:
    corpus = written(tmp_path, "labels")
    settings = {"training__steps": 120, "training__optimiser__rate": 0.03, "training__validate_every": 60}
    events = list(train(small(corpus, "labels", evaluation__report=60, **settings), tmp_path / "run"))
    [reported] = [event for event in events if isinstance(event, Reported)]
    assert "the best baseline (linear model over words): accuracy" in reported.verdict[0]
    short = small(corpus, "labels", evaluation__report=60, training__minutes=0.02, training__steps=None)
    [reported] = [event for event in train(short, tmp_path / "short") if isinstance(event, Reported)]
    assert Path(reported.path).is_file()  # with baselines or without, as time allows


def test_time_is_limited(copied: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed in time is shown, and not kept as if it were all."""
    found = standing(copied, corpus, seconds=-1.0)
    assert (found.rows, found.note.startswith("Skipped the baselines: they take more than")) == ((), True)

    def slow(train: Any, test: Any) -> Baselines:
        [majority, _] = label_baselines(train, test)
        yield majority
        raise OutOfTimeError

    monkeypatch.setattr("dragoman.evaluation.beside.label_baselines", slow)
    found = standing(copied, corpus)
    assert [row.name for row in found.rows] == ["majority"]
    assert found.note == "Skipped the other baselines: they take more than 600 s."
    assert not list(Run(copied).baselines.glob("*.json"))


def test_evaluate_and_compare_limit_their_time(run: Path) -> None:
    assert (Beside(Run(run)).seconds, Beside(Run(run), 5.0).late(False)) == (
        60.0,
        f"Skipped the baselines: they take more than 5 s. `dragoman report {run}` gives them more time.",
    )
