"""Sources of several columns: trained without a recipe, resumed to the bit, asked and measured."""

import json
from pathlib import Path
from typing import Any

import pytest

import dragoman as dg
from command_line import CommandLine
from dragoman.errors import DataError
from dragoman.experiment import train
from dragoman.recipes import Composed, compose
from dragoman.seeds import key
from dragoman.training.events import Saved
from tiny import bits

SMALL: dict[str, Any] = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.steps": 6,
    "training.save_every": 3,
    "training.estimate": False,
    "model.encoder.width": 8,
    "model.decoder.width": 12,
    "evaluation.report": 0,
}
SUFFIXES = {"V;PST": "ed", "V;PRS;3;SG": "s", "V;V.PTCP;PRS": "ing"}


def inflected(numbers: range) -> list[tuple[str, str, str]]:
    """(lemma, form, features)"""
    rows = []
    for number in numbers:
        lemma = "".join("bdgklmnprst"[key(number, place) % 11] + "aeiou"[key(place, number) % 5] for place in range(3))
        features = list(SUFFIXES)[number % 3]
        rows.append((lemma, lemma + SUFFIXES[features], features))
    return rows


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("inflection")
    for name, numbers in (("train", range(300)), ("valid", range(300, 330))):
        (folder / f"{name}.tsv").write_text("".join("\t".join(row) + "\n" for row in inflected(numbers)))
    return str(folder / "train.tsv"), str(folder / "valid.tsv")


def composed(files: tuple[str, str]) -> Composed:
    return compose(train=(files[0],), valid=(files[1],), settings=SMALL)


@pytest.fixture(scope="module")
def trained(files: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    given, out = composed(files), tmp_path_factory.mktemp("columns") / "run"
    list(train(given.settings, out, given.given, undecided=given.undecided))
    return out


def test_features_are_tokens_where_the_data_decides(trained: Path) -> None:
    pipeline = dg.load(trained)
    assert (pipeline.source.kind, pipeline.target.kind) == ("features", "characters")
    [row] = pipeline.source.encode(["bada\tV;PRS;3;SG"])
    assert pipeline.source.symbols(row) == ("b", "a", "d", "a", "⇥V", ";PRS", ";3", ";SG")


def test_a_run_that_was_broken_off_goes_on_to_the_bit(files: tuple[str, str], trained: Path, tmp_path: Path) -> None:
    given, out = composed(files), tmp_path / "run"
    begun = train(given.settings, out, given.given, undecided=given.undecided)
    next(event for event in begun if isinstance(event, Saved))
    begun.close()
    list(train(given.settings, out, given.given, undecided=given.undecided))
    assert bits(out, 6) == bits(trained, 6)


def test_predicted_from_columns_json_and_python(trained: Path, dragoman: CommandLine) -> None:
    rows = inflected(range(400, 403))
    columns = dragoman("predict", trained, stdin="".join(f"{lemma}\t{features}\n" for lemma, _, features in rows))
    named = "".join(json.dumps({"1": lemma, "3": features}) + "\n" for lemma, _, features in rows)
    assert (columns.code, len(columns.out.splitlines()), columns.err) == (0, 3, "")
    assert dragoman("predict", trained, stdin=named).out == columns.out
    answers = [dg.load(trained).predict({"1": lemma, "3": features}) for lemma, _, features in rows]
    assert [answer.text for answer in answers] == columns.out.splitlines()


def test_a_line_with_other_columns_is_refused(trained: Path, dragoman: CommandLine) -> None:
    found = dragoman("predict", trained, stdin="bada\tbadaed\tV;PST\n")
    assert found.code == 3
    assert "standard input:1 has 3 columns, and this model reads 2: 1<TAB>3." in found.err
    with pytest.raises(DataError, match="no field '3'"):
        dg.load(trained).predict({"1": "bada"})


def test_measured_on_a_file_like_its_own(files: tuple[str, str], trained: Path, dragoman: CommandLine) -> None:
    found = dragoman("evaluate", trained, "--on", files[1], "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out)["items"] == 30
    assert "exact_match" in json.loads(found.out)["metrics"]


def test_the_survey_says_what_a_training_would_choose(files: tuple[str, str], dragoman: CommandLine) -> None:
    found = dragoman("data", files[0])
    assert "lemma, form and features (source = column 1 and 3, target = column 2)" in found.err
    assert "Tokens are features of the sources, characters of the targets, as a training without a recipe" in found.err
