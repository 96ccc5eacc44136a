"""Settings of language models chosen from the texts: tokens, documents, sizes, dropout."""

from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.config import nest, read_toml, validate
from dragoman.data.readers.texts import Texts
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Given, as_table
from dragoman.defaults.texts import SAMPLED, TextSurvey, choose_for_texts, survey_texts
from dragoman.experiment import Experiment
from dragoman.experiment.choosing import settled
from dragoman.recipes import read_recipe
from dragoman.seeds import key

RECIPE = {"model.kind": "decoder_only", "model.decoder.kind": "rnn"}


def line(number: int) -> str:
    return " ".join(f"w{key(number, place) % 300}" for place in range(12))


def surveyed(characters: int, documents: int = 1, text: Any = line) -> TextSurvey:
    found = TextSurvey(files=1)
    for number in range(200):
        found.add(text(number), number == 0)
    found.characters, found.documents = characters, documents
    return found


def chosen(survey: TextSurvey, **given: Any) -> dict[str, Any]:
    known = {**RECIPE, **{name.replace("__", "."): value for name, value in given.items()}}
    return {one.key: one.value for one in choose_for_texts(survey, known, Budget.of(known))}


def test_sizes_grow_with_the_texts_and_epochs_shrink() -> None:
    tables = [chosen(surveyed(characters)) for characters in (100_000, 1_000_000, 20_000_000, 400_000_000)]
    for name in ("target.size", "model.decoder.width", "model.target.width"):
        values = [table[name] for table in tables]
        assert values == sorted(values)
        assert values[0] < values[-1], name
    epochs = [table["training.epochs"] for table in tables]
    assert epochs == sorted(epochs, reverse=True)
    assert [table["target.size"] for table in tables[:3]] == [1000, 1000, 2000]


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert chosen(surveyed(10_000, text=lambda number: "acgt" * 20))["target.kind"] == "characters"
    assert chosen(surveyed(10_000))["target.kind"] == "bpe"


def test_blank_lines_part_documents_or_paragraphs() -> None:
    assert chosen(surveyed(1_000_000, documents=7_000))["model.documents"] == "files"
    assert chosen(surveyed(20_000_000, documents=14))["model.documents"] == "blank_lines"


def test_dropout_is_for_texts_that_are_seen_often() -> None:
    survey = surveyed(1_000_000)
    found = [chosen(survey, training__epochs=epochs)["model.decoder.dropout"] for epochs in (1, 5, 10, 40)]
    assert found == sorted(found)
    assert (found[0], found[-1] > 0.2) == (0.0, True)


def test_only_recurrent_language_models_have_these_choices() -> None:
    survey = surveyed(10_000)
    assert choose_for_texts(survey, {"model.kind": "encoder_only"}, Budget()) == []
    assert choose_for_texts(survey, {**RECIPE, "model.decoder.kind": "transformer"}, Budget()) == []


@pytest.mark.parametrize("characters", [5_000, 2_000_000, 50_000_000])
def test_what_is_chosen_is_a_setting_and_counts_beside_the_recipe(characters: int) -> None:
    given = Given(read_recipe("language-model", None).table, nest({("data", "train"): ["book.txt"]}))
    choices = [
        one for one in choose_for_texts(surveyed(characters), given.known, Budget()) if given.leaves_open(one.key)
    ]
    assert all(one.reason for one in choices)
    found = settled(validate(Experiment, given.table), as_table(choices), given)
    assert found.model.decoder.width == as_table(choices)["model"]["decoder"]["width"]  # type: ignore[union-attr]


def test_the_survey_counts_texts_and_keeps_a_sample(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    found = survey_texts(validate(Texts, {"train": [str(tmp_path / "a.txt")]}), {}, lambda what, done: None)
    assert found is not None
    assert (found.lines, found.documents, found.characters, found.sample) == (3, 2, 14, ["one", "two", "three"])
    many = TextSurvey()
    for number in range(5 * SAMPLED // 1000):
        many.add("x" * 1000, number == 0)
    assert SAMPLED // 4 <= many.sampled <= SAMPLED
    (tmp_path / "none.txt").write_text("\n")
    data = validate(Texts, {"train": [str(tmp_path / "none.txt")]})
    assert survey_texts(data, {}, lambda what, done: None) is None


def test_a_book_is_trained_on_without_any_setting(tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "book.txt").write_text("\n".join(line(number) for number in range(300)) + "\n")
    out, book = tmp_path / "run", tmp_path / "book.txt"
    done = dragoman("train", "language-model", book, "--out", out, "--steps", 3, "training.threads=1")
    assert done.code == 0, done.err
    table = read_toml(out / "config.toml").table
    assert (table["model"]["carry"], table["target"]["kind"]) == ("state", "bpe")


def test_ngrams_have_vectors_where_texts_are_seen_a_few_times() -> None:
    often, rarely = chosen(surveyed(1_000_000)), chosen(surveyed(20_000_000))
    assert often["model.ngrams.longest"] == 1
    assert rarely["model.ngrams.longest"] == 4
    assert rarely["model.ngrams.buckets"] < chosen(surveyed(80_000_000))["model.ngrams.buckets"]


def test_a_wide_layer_has_a_lower_rate() -> None:
    small, large = chosen(surveyed(100_000)), chosen(surveyed(400_000_000))
    assert small["training.optimiser.rate"] == 8e-3
    assert large["model.decoder.width"] * large["training.optimiser.rate"] <= 384 * 8e-3
