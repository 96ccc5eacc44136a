"""Settings of classifiers that are chosen from the data: tokenizer, parts, task, and how long is trained."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.config import merge, validate
from dragoman.data.readers.example import Example
from dragoman.data.readers.labelled import Labelled
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import as_table
from dragoman.defaults.labels import Texts, buckets_for, choose_for_labels, described, survey_labels
from dragoman.experiment import Experiment
from dragoman.seeds import key
from labels import written


@cache
def word(number: int) -> str:
    """A made-up word, of which there are very many."""
    digits = key(number, "word") % 10**6
    return "".join("bcdfghklmn"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(digits))


def sentence(number: int, words: int = 8) -> str:
    return " ".join(word((number * 7 + place) % 900) for place in range(words)) + "."


def examples_of(kind: str, size: int) -> Iterator[Example]:
    for number in range(size):
        label = str(number % 5)
        texts: dict[str, tuple[tuple[str, ...], str]] = {
            "sentences": ((sentence(number),), f"topic-{label}"),
            "stars": ((sentence(number),), label),
            "measured": ((sentence(number),), f"{number % 37 / 7:.2f}"),
            "names": ((word(number),), label),
            "pairs": ((sentence(number), sentence(number + 1)), label),
            "long": ((sentence(number, 150 + number % 300),), label),
            "intents": ((sentence(number),), f"intent-{number % 70}"),
        }
        yield Example(texts[kind][0], (texts[kind][1],), number + 1)


def found(kind: str, size: int = 600) -> Texts:
    texts = described(examples_of(kind, size), two=kind == "pairs")
    assert texts is not None
    return texts


def chosen(kind: str, size: int = 600, given: dict[str, Any] | None = None) -> dict[str, Any]:
    choices = choose_for_labels(found(kind, size), given or {}, Budget.of(given or {}))
    return {choice.key: choice.value for choice in choices}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sentences", {"source.kind": "wordpunct", "model.source.kind": "ngrams", "model.encoder.kind": "rnn",
                       "model.head.kind": "labels", "training.monitor": "accuracy", "model.bag.word_ngrams": 2}),
        ("stars", {"model.head.kind": "labels", "training.monitor": "accuracy"}),
        ("measured", {"model.head.kind": "number", "objective.kind": "squared_error", "training.monitor": "pearson"}),
        ("names", {"source.kind": "characters", "model.source.kind": "tokens", "model.bag.letters": 0}),
        ("pairs", {"model.matches": "overlap", "training.monitor": "loss", "model.wide.kind": None,
                   "model.bag.letters": 0}),
        ("intents", {"model.wide.word_ngrams": 2, "model.bag.word_ngrams": 2, "objective.smoothing": 0.1}),
        ("long", {"model.encoder.kind": "cnn", "data.max_length": 450, "limits.source": 450}),
    ],
)  # fmt: skip
def test_what_follows_from_the_kind_of_data(kind: str, expected: dict[str, Any]) -> None:
    choices = chosen(kind)
    assert {name: choices.get(name) for name in expected} == expected
    table = {
        "data": {"kind": "labelled"},
        "model": {"kind": "encoder_only"},
        "training": {"optimiser": {"kind": "adam"}},
    }
    settings = validate(Experiment, merge(table, as_table(choose_for_labels(found(kind), {}, Budget())), table))
    assert settings.training.epochs == choices["training.epochs"]


def test_more_examples_are_seen_less_often_and_more_labels_more_often() -> None:
    epochs = [chosen("sentences", size)["training.epochs"] for size in (100, 2_000, 30_000)]
    assert epochs == [40, 30, 2]
    assert chosen("intents", 9_000)["training.epochs"] == 15
    assert [chosen("sentences", size)["training.batching.sentences"] for size in (100, 2_000)] == [8, 16]


def test_minutes_are_not_filled_with_what_is_learned_by_heart() -> None:
    updates = 9_000 // 32 + 1
    long, short = (chosen("sentences", 9_000, {"training.minutes": minutes}) for minutes in (600, 0.01))
    assert long["training.steps"] == short["training.steps"] == 7 * updates
    assert long["training.validate_every"] > short["training.validate_every"]
    assert "training.steps" not in chosen("sentences", 9_000, {"training.minutes": 600, "training.epochs": 50})


@pytest.mark.parametrize("of_words", [True, False])
def test_few_pairs_have_an_encoder_where_words_tell(of_words: bool) -> None:
    def example(number: int) -> Example:
        same = key(number, "same") % 2
        first = sentence(key(number, "first") % 1_000, 4)
        second = first if same else sentence(key(number, "second") % 1_000, 4)
        label = str(key(number, "label") % 2)
        told = f" {'good' if label == '1' else 'bad'}" if of_words else ""
        return Example((first, second + told), (label if of_words else str(same),), number + 1)

    texts = described(map(example, range(200)), two=True)
    assert texts is not None
    assert texts.words_tell == of_words
    choices = {one.key: one.value for one in choose_for_labels(texts, {}, Budget())}
    assert choices["model.encoder.kind"] == ("rnn" if of_words else "identity")
    assert (choices["model.bag.buckets"] == 1) != of_words
    own = {one.key: one.value for one in choose_for_labels(texts, {"model.encoder.kind": "rnn"}, Budget())}
    assert own["model.source.width"] == 32


def test_too_few_pairs_to_try_have_an_encoder() -> None:
    texts = described(examples_of("pairs", 4), two=True)
    assert texts is not None
    assert texts.words_tell


@pytest.mark.parametrize(("head", "consistency"), [("labels", 6.0), ("number", None)])
def test_two_passes_are_for_labels(head: str, consistency: float | None) -> None:
    examples = (Example((sentence(number),), (str(number % 10),), number + 1) for number in range(600))
    texts = described(examples, two=False)
    assert texts is not None
    choices = {one.key: one.value for one in choose_for_labels(texts, {"model.head.kind": head}, Budget())}
    assert choices.get("objective.consistency") == consistency
    assert "objective.consistency" not in chosen("intents", 70 * 500)


def test_what_is_given_counts() -> None:
    choices = chosen("stars", given={"model.head.kind": "number", "source.kind": "bpe"})
    assert choices["objective.kind"] == "squared_error"
    assert choices["model.source.kind"] == "tokens"
    assert choices["model.bag.letters"] == 0
    assert "model.source.word_dropout" not in choices
    assert chosen("stars", given={"objective.kind": "squared_error"})["model.head.kind"] == "number"
    assert "data.hold_out" in choices
    assert "data.hold_out" not in chosen("stars", given={"data.valid": ["valid.tsv"]})


def test_without_validation_data_nothing_is_monitored() -> None:
    assert "training.monitor" not in chosen("sentences", 12)
    assert chosen("sentences", 12, {"data.valid": ["valid.tsv"]})["training.monitor"] == "accuracy"


def test_a_pretrained_body_brings_its_settings_along() -> None:
    assert chosen("long", given={"training.start": "runs/bert"}) == {"data.hold_out": 0.2}


def test_tables_have_room_for_the_ngrams_of_the_data() -> None:
    assert [buckets_for(count) for count in (0, 1_025, 40_000, 10**7)] == [1_024, 2_048, 65_536, 65_536]


@pytest.mark.parametrize(
    ("text", "two"),
    [
        ("sentence1\tsentence2\tlabel\na b\tc d\tyes\n", True),
        ("a b,c d,3.5\ne f,g h,1.0\n", True),
        ("a b\tyes\nc d\tno\n", False),
        ("sentence\tlabel\na b\tyes\n", False),
    ],
)
def test_pairs_of_texts_are_found(tmp_path: Path, text: str, two: bool) -> None:
    file = tmp_path / ("data.csv" if "," in text else "data.tsv")
    file.write_text(text)
    texts = survey_labels(Labelled(train=(str(file),)), {}, lambda what, done: None)
    assert texts is not None
    assert texts.two == two


def test_a_training_without_settings_says_what_was_chosen_and_learns(tmp_path: Path, dragoman: CommandLine) -> None:
    corpus = written(tmp_path, "labels", 400)
    done = dragoman("train", "classify", corpus.train, "--valid", corpus.valid, "--out", tmp_path / "run",
                    "--epochs", "4", "training.threads=1", "evaluation.report=0")  # fmt: skip
    assert "model.bag.kind = bag" in done.out + done.err
    assert "training.epochs" not in (tmp_path / "run" / "defaults.toml").read_text()
    assert dragoman("predict", tmp_path / "run", stdin="a lovely film\nso awful it was\n").out == "pos\nneg\n"
