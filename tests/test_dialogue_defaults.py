"""Settings of conversations chosen from the data: lengths, sizes, dropout, what is held out."""

from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.config import nest, read_toml, validate
from dragoman.data.readers.pairs import Pair
from dragoman.data.sides import Sample, sample_of
from dragoman.data.tokenizers.conversation import as_text
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Given, as_table
from dragoman.defaults.dialogue import choose_for_conversations
from dragoman.experiment import Experiment
from dragoman.experiment.choosing import settled
from dragoman.recipes import read_recipe
from dragoman.seeds import key
from talks import write_talks

RECIPE = {"model.encoder.kind": "rnn", "model.decoder.kind": "rnn"}


def turn(number: int, words: int) -> str:
    return " ".join(f"w{key(number, place) % 500}" for place in range(words))


def sampled(turns: int = 3, words: int = 6) -> Sample:
    histories = (as_text(turn(number * 7 + place, words) for place in range(turns)) for number in range(200))
    return sample_of(Pair(history, turn(number, words), number + 1) for number, history in enumerate(histories))


def chosen(sample: Sample, **given: Any) -> dict[str, Any]:
    known = {**RECIPE, **{name.replace("__", "."): value for name, value in given.items()}}
    return {one.key: one.value for one in choose_for_conversations(sample, known, Budget.of(known))}


def test_lengths_follow_from_the_turns() -> None:
    short, long = chosen(sampled(words=4)), chosen(sampled(words=40))
    assert short["conversation.turn_length"] < long["conversation.turn_length"]
    assert short["data.max_target_length"] == short["limits.answer"]
    assert short["conversation.length"] == 2 * (short["conversation.turn_length"] + 1)
    assert chosen(sampled(turns=1))["conversation.turns"] == 1
    assert chosen(sampled(), training__epochs=2)["conversation.turns"] == 1  # no time for more


def test_sizes_grow_with_the_data_and_epochs_shrink() -> None:
    pairs = sampled().pairs
    tables = [chosen(Sample(pairs, size)) for size in (200, 100_000, 5_000_000)]
    for name in ("source.size", "model.decoder.width", "model.source.width"):
        values = [table[name] for table in tables]
        assert values == sorted(values)
        assert values[0] < values[-1], name
    epochs = [table["training.epochs"] for table in tables]
    assert epochs == sorted(epochs, reverse=True)
    assert epochs[0] > epochs[-1]


def test_dropout_is_for_turns_that_are_seen_often() -> None:
    found = [chosen(sampled(), training__epochs=epochs)["model.decoder.dropout"] for epochs in (1, 5, 10, 40)]
    assert found == [0.0, 0.1, 0.2, 0.3]


def test_conversations_are_held_out_where_no_others_are_given() -> None:
    assert chosen(sampled())["data.hold_out"] == 0.1
    assert "data.hold_out" not in chosen(sampled(), data__valid=["dev.jsonl"])


@pytest.mark.parametrize("encoder", ["hierarchical", "transformer"])
def test_other_models_have_no_such_choices(encoder: str) -> None:
    assert choose_for_conversations(sampled(), {**RECIPE, "model.encoder.kind": encoder}, Budget()) == []


def test_what_is_chosen_is_a_setting_and_counts_beside_the_recipe() -> None:
    given = Given(read_recipe("dialogue", None).table, nest({("data", "train"): ["talks.jsonl"]}))
    found = choose_for_conversations(sampled(), given.known, Budget())
    choices = [one for one in found if given.leaves_open(one.key)]
    assert all(one.reason for one in choices)
    settings = settled(validate(Experiment, given.table), as_table(choices), given)
    assert settings.model.decoder.width == as_table(choices)["model"]["decoder"]["width"]  # type: ignore[union-attr]
    assert settings.conversation.turns == 2


def test_talks_are_trained_on_without_any_setting(tmp_path: Path, dragoman: CommandLine) -> None:
    file, out = write_talks(tmp_path / "talks.jsonl", range(60)), tmp_path / "run"
    done = dragoman("train", "dialogue", file, "--out", out, "--steps", 3, "training.threads=1")
    assert done.code == 0, done.err
    table = read_toml(out / "config.toml").table
    assert (table["conversation"]["turns"], table["target"]["kind"]) == (
        1,
        "shared",
    )  # three steps are no time for more


def test_a_short_training_has_a_smaller_model_with_ngrams() -> None:
    pairs = Sample(sampled().pairs, 100_000)
    short, long = chosen(pairs, training__minutes=3, training__threads=1), chosen(pairs, training__epochs=20)
    assert short["model.decoder.width"] < long["model.decoder.width"]
    assert (short["model.ngrams.longest"], long["model.ngrams.longest"]) == (4, 1)
    assert short["training.batching.counts"] == "both"
