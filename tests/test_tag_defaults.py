"""Settings of taggers chosen from the data: what a survey counts, and what follows for small, large and odd data."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.config import dotted, merge, nest, validate
from dragoman.data.readers.example import Example
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Given, as_table
from dragoman.defaults.tags import Sentences, choose_for_tags, counted
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment, train
from dragoman.recipes import compose, read_recipe
from dragoman.training.events import Chosen
from labels import small, written
from tiny import bits

BIO, PLAIN = ("B-x", "I-x", "O"), ("DET", "NOUN", "VERB")


def sentences(size: int, tags: tuple[str, ...] = BIO, length: int = 3, word: str = "Wort{}") -> list[Example]:
    """Each sentence has one new word; the others are common."""
    rows = [[word.format(n), *(word.format(f"x{place}") for place in range(length - 1))] for n in range(size)]
    return [Example(tuple(row), tuple(tags[n % len(tags)] for n in range(length)), 1) for row in rows]


def survey(examples: Iterable[Example]) -> Sentences:
    found = counted(examples)
    assert found is not None
    return found


def chosen(examples: Iterable[Example], recipe: str = "tag", **given: Any) -> dict[str, Any]:
    """What is chosen beside the recipe and what is given, all of which must make an experiment."""
    user = nest({dotted(name.replace("__", ".")): value for name, value in given.items()})
    own = Given(read_recipe(recipe, None).table if recipe else {}, user)
    found = choose_for_tags(survey(examples), own.known, Budget.of(own.known))
    open_ = [choice for choice in found if own.leaves_open(choice.key)]
    assert all(choice.reason for choice in open_)
    validate(Experiment, merge(own.whole, as_table(open_), own.table))
    return {choice.key: choice.value for choice in open_}


def test_a_survey_counts() -> None:
    found = survey([Example(("The", "dog"), ("D", "N"), 1), Example(("the", "cat", "slept"), ("D", "N", "V"), 4)])
    assert (found.sentences, found.words, found.longest, found.capital) == (2, 5, 3, 1)
    assert (found.tags, found.has_spans, found.rare) == (("D", "N", "V"), False, pytest.approx(3 / 5))
    assert (found.letters(0.5), found.letters(0.99)) == (3, 5)
    assert counted([]) is None


def test_without_validation_data_nothing_is_monitored() -> None:
    assert "training.monitor" not in chosen(sentences(10))
    assert chosen(sentences(10), data__valid=["valid.conll"])["training.monitor"] == "span_f1"
    assert "training.monitor" not in chosen(sentences(60), data__hold_out=0.0)


def test_a_body_reads_as_much_as_it_has_learned_to() -> None:
    long, given = survey(sentences(30, length=400)), {"training.start": "run"}
    assert "data.max_length" in {one.key for one in choose_for_tags(long, {}, Budget.of({}))}
    assert "data.max_length" not in {one.key for one in choose_for_tags(long, given, Budget.of(given))}


def test_what_is_monitored_follows_from_the_tags() -> None:
    assert chosen(sentences(60, BIO))["training.monitor"] == "span_f1"
    assert chosen(sentences(60, PLAIN))["training.monitor"] == "accuracy"
    assert "training.monitor" not in chosen(sentences(60), training__monitor="macro_f1")


def test_words_are_read_with_their_letters() -> None:
    found = chosen(sentences(60, word="Donaudampfschiff{}"))
    assert (found["source.lowercase"], found["model.source.letters"]) == (True, len("Donaudampfschiff99") + 2)
    assert "source.lowercase" not in chosen(sentences(60, word="語{}"))
    assert chosen(sentences(60), model__source__word_dropout=0.3)["model.source.letters"] == 12


def test_without_a_recipe_the_same_model_is_chosen() -> None:
    alone = chosen(sentences(60), "", data__kind="tagged")
    assert chosen(sentences(60)).items() <= alone.items()
    assert (alone["model.source.kind"], alone["training.schedule.kind"]) == ("spelled", "cosine")
    constant = chosen(sentences(60), "", data__kind="tagged", training__schedule__kind="constant")
    assert not [key for key in constant if key.startswith("training.schedule.")]


def test_a_tokenizer_of_parts_has_no_letters() -> None:
    found = chosen(sentences(60), source__kind="bpe", model__source__kind="tokens")
    assert not {"model.source.letters", "model.source.word_dropout", "source.minimum_count"} & set(found)
    with pytest.raises(ConfigError, match=r"reads the letters of words, and source\.kind = 'bpe' has none: set"):
        compose("tag", settings={"source.kind": "bpe"})


def test_many_tags_have_no_crf() -> None:
    many = tuple(f"T{number}" for number in range(301))
    few, found = chosen(sentences(60)), chosen(sentences(5, many, 301))
    assert (few["model.head.kind"], few["objective.kind"]) == ("crf", "crf")
    assert (found["model.head.kind"], found["objective.kind"]) == ("tags", "cross_entropy")
    assert chosen(sentences(60), model__head__kind="tags")["objective.kind"] == "cross_entropy"


def test_the_plan_follows_from_size_and_budget() -> None:
    little, much = chosen(sentences(100)), chosen(sentences(40_000))
    assert little["training.epochs"] > much["training.epochs"]
    assert little["training.batching.tokens"] < much["training.batching.tokens"]
    short, long = (chosen(sentences(4_000), training__epochs=epochs) for epochs in (2, 40))
    assert short["model.source.dropout"] < long["model.source.dropout"]
    assert "training.epochs" not in chosen(sentences(60), training__minutes=1)


def test_sentences_are_held_out_and_long_ones_are_kept() -> None:
    assert chosen(sentences(500))["data.hold_out"] == 0.1
    assert "data.hold_out" not in chosen(sentences(500), data__valid=["valid.tsv"])
    assert "data.hold_out" not in chosen(sentences(5))
    assert "data.max_length" not in chosen(sentences(60))
    assert chosen(sentences(30, length=450))["data.max_length"] == 450


def test_a_training_chooses_and_prints(tmp_path: Path, dragoman: CommandLine) -> None:
    corpus, out = written(tmp_path, "chunks"), tmp_path / "run"
    done = dragoman("train", "tag", corpus.train, "--out", out, "--steps", "60", "evaluation.report=0")
    assert done.code == 0, done.err
    chosen = tomllib.loads((out / "defaults.toml").read_text())
    assert (chosen["training"]["monitor"], chosen["model"]["head"]["kind"]) == ("span_f1", "crf")
    assert "tags mark spans" in (out / "defaults.toml").read_text()
    for line in ("training.monitor", "model.head.kind", "data.hold_out"):
        assert line in done.err
    assert dragoman("predict", out, stdin="the dog was\n").out == "B-NP I-NP O\n"


def test_fine_tuning_chooses_what_no_body_brings(tmp_path: Path) -> None:
    """The monitor follows from the tags; tokenizer, frontend and encoder are those of the run that is started from."""
    corpus, own = written(tmp_path, "chunks"), {"training.steps": 4, "evaluation.report": 0}
    list(train(small(corpus, "tags", training__steps=2), tmp_path / "old"))
    files, start = ((str(corpus.train),), (str(corpus.valid),)), str(tmp_path / "old")
    composed = compose("tag", None, *files, settings=own, start=start)
    events = list(train(composed.settings, tmp_path / "new", composed.given, undecided=composed.undecided))
    [told] = [event for event in events if isinstance(event, Chosen)]
    settings = {key: value for key, value, _ in told.choices}
    assert settings["training.monitor"] == "span_f1"
    assert not [key for key in settings if key.startswith(("source.", "model."))]


def test_the_same_bits_after_a_crash(tmp_path: Path) -> None:
    """With all that the data decides: letters, word dropout and a CRF."""
    corpus = written(tmp_path, "chunks")
    own = {"training.steps": 12, "training.save_every": 4, "training.threads": 1, "evaluation.report": 0}
    composed = compose("tag", None, (str(corpus.train),), (str(corpus.valid),), settings=own)
    whole, broken = (
        train(composed.settings, tmp_path / name, composed.given, undecided=composed.undecided)
        for name in ("whole", "broken")
    )
    list(whole)
    next(event for event in broken if getattr(event, "step", 0) >= 8)
    broken.close()
    list(train(composed.settings, tmp_path / "broken", composed.given, undecided=composed.undecided))
    assert bits(tmp_path / "broken", 12) == bits(tmp_path / "whole", 12)
