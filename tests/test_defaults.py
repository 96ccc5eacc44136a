"""Settings chosen from the data: the kind of tokenizer, sizes that grow with the data, and what the user decided."""

import tomllib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dragoman.config import merge, validate
from dragoman.data.readers.pairs import Pair
from dragoman.data.sides import SAMPLE, SAMPLE_CHARACTERS, Sample, sample_of
from dragoman.data.tokenizers import Words, train_tokenizer
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Choice, as_table, as_toml
from dragoman.defaults.pairs import averaging, choose_for_training, choose_settings, hold_out_of
from dragoman.defaults.tokenizers import limit_of
from dragoman.experiment import Experiment
from dragoman.models import build_model
from dragoman.seeds import key


def word(number: int) -> str:
    """A made-up word, of which there are very many."""
    digits = key(number, "word") % 10**6
    return "".join("bcdfghklmn"[int(digit)] + "aeiou"[int(digit) % 5] for digit in str(digits))


def common(number: int) -> str:
    """One of 40 words."""
    return word(number % 40)


def pairs_of(kind: str, size: int) -> Iterator[Pair]:
    for number in range(size):
        name = word(number)
        symbols = " ".join(name.upper())
        sentence = " ".join(word(number * 7 + place) for place in range(8))
        other = " ".join(word(10**6 + number * 7 + place) for place in range(8))
        spaceless = "".join(chr(0x4E00 + key(number, place) % 500) for place in range(20))
        features = ("V PST", "V PRS 3 SG", "N NOM PL")[number % 3]
        phrase = " ".join(common(number + place) for place in (0, 7, 13, 29, 31))
        texts = {
            "spelling": (name, symbols),
            "sentences": (sentence, other),
            "copies": (sentence, sentence.replace("ba", "bu")),
            "spaceless": (sentence, spaceless),
            "inflection": (f"{name}\t{features.replace(' ', ';')}", f"{name}{'aeiou'[number % 3]}s"),
            "tags in the text": (f"{name} {features}", f"{name}{'aeiou'[number % 3]}s"),
            "phrases": (phrase, phrase.upper()[::-1]),
            "respelled": (f"{phrase[:26]} {name}", f"{phrase[:26]} {name}".replace("ba", "bu")),
            "spaced": (symbols, " ".join(name)),
            "long": (" ".join([sentence] * 40), other),
        }
        yield Pair(*texts[kind], number + 1)


def chosen(kind: str, size: int = 400, given: dict[str, Any] | None = None) -> dict[str, Any]:
    choices = choose_settings(sample_of(pairs_of(kind, size)), given)
    return {choice.key: choice.value for choice in choices}


@pytest.mark.parametrize(
    ("kind", "source", "target", "metric"),
    [
        ("spelling", "characters", "words", "sequence_error_rate"),
        ("sentences", "bpe", "bpe", "bleu"),
        ("copies", "bpe", "shared", "bleu"),
        ("spaceless", "bpe", "characters", "exact_match"),
        ("inflection", "features", "characters", "exact_match"),
        ("tags in the text", "characters", "characters", "exact_match"),
        ("phrases", "words", "words", "sequence_error_rate"),
        ("respelled", "characters", "characters", "exact_match"),
        ("spaced", "words", "words", "sequence_error_rate"),
        ("long", "bpe", "bpe", "bleu"),
    ],
)
def test_the_kind_of_the_data_decides_the_tokenizers(kind: str, source: str, target: str, metric: str) -> None:
    found = chosen(kind)
    assert (found["source.kind"], found["target.kind"], found["evaluation.metrics"][0]) == (source, target, metric)


def test_sizes_grow_with_the_data_and_epochs_shrink() -> None:
    sample = sample_of(pairs_of("sentences", 200))
    sizes = [200, 20_000, 400_000, 2_000_000, 20_000_000]
    tables = [{choice.key: choice.value for choice in choose_settings(Sample(sample.pairs, size))} for size in sizes]
    for name in ("source.size", "model.decoder.width", "model.encoder.layers", "training.batching.tokens"):
        values = [table[name] for table in tables]
        assert values == sorted(values)
        assert values[0] < values[-1], name
    epochs = [table["training.epochs"] for table in tables]
    assert epochs == sorted(epochs, reverse=True)


def test_dropout_is_for_pairs_that_are_seen_often() -> None:
    limits: list[dict[str, Any]] = [{"training.epochs": 2}, {"training.epochs": 10}, {"training.epochs": 40}]
    assert [chosen("sentences", given=limit)["model.decoder.dropout"] for limit in limits] == [0.0, 0.1, 0.3]
    assert chosen("sentences", given={"training.steps": 5})["model.decoder.dropout"] == 0.0
    assert chosen("sentences", given={"training.minutes": 60})["model.decoder.dropout"] == 0.3


@pytest.mark.parametrize("kind", ["spelling", "sentences", "copies", "spaceless", "inflection", "respelled"])
def test_the_choices_are_valid_settings_each_with_a_reason(kind: str) -> None:
    choices = choose_settings(sample_of(pairs_of(kind, 300)))
    assert all(choice.reason for choice in choices)
    table = as_table(choices)
    assert tomllib.loads(as_toml(choices)) == table
    settings = validate(Experiment, merge(table, {"data": {"train": ["pairs.tsv"]}}))
    assert settings.training.epochs == table["training"]["epochs"]


def test_lengths_leave_room() -> None:
    found = chosen("sentences")
    longest = max(len(pair.source) for pair in pairs_of("sentences", 400))
    assert 50 <= found["data.max_source_length"] <= 2 * longest
    assert found["limits.ratio"] >= 1.2


@pytest.mark.parametrize(
    ("given", "gone", "there"),
    [
        ({"model.decoder.width": 100}, ["model.decoder.width"], ["model.encoder.width"]),
        ({"source.kind": "words"}, ["source.kind", "source.size"], ["target.kind", "target.size"]),
        ({"training.optimiser.kind": "sgd"}, ["training.optimiser.rate"], ["training.schedule.kind"]),
        ({"training.minutes": 5}, ["training.epochs"], ["training.schedule.kind"]),
    ],
)
def test_what_the_user_decided_is_not_chosen(given: dict[str, Any], gone: list[str], there: list[str]) -> None:
    found = chosen("sentences", given=given)
    assert not set(gone) & set(found)
    assert set(there) <= set(found)


def test_a_transformer_learns_at_a_lower_rate() -> None:
    given = {"model.encoder.kind": "transformer", "model.decoder.kind": "transformer"}
    assert chosen("sentences")["training.optimiser.rate"] == 0.004
    assert chosen("sentences", given=given)["training.optimiser.rate"] == 0.001
    assert not [key for key in chosen("sentences", given=given) if key.startswith(("model.encoder", "model.decoder"))]


@pytest.mark.parametrize(("steps", "layers", "dropout"), [(2_000, 2, 0.0), (200_000, 4, 0.3)])
def test_short_trainings_have_small_transformers(steps: int, layers: int, dropout: float) -> None:
    given = {"model.encoder.kind": "transformer", "model.decoder.kind": "transformer", "training.steps": steps}
    choices = choose_for_training(sample_of(pairs_of("sentences", 20_000)), given, Budget.of(given))
    found = {one.key: one.value for one in choices}
    for name in ("encoder", "decoder"):
        assert (found[f"model.{name}.layers"], found[f"model.{name}.dropout"]) == (layers, dropout)
    assert not any(key.endswith((".cell", ".attention.kind", ".readout_width")) for key in found)


@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_either_side_may_be_a_transformer(side: str) -> None:
    given = {f"model.{side}.kind": "transformer"}
    found = {one.key: one.value for one in choose_for_training(sample_of(pairs_of("sentences", 400)), given, Budget())}
    other = "decoder" if side == "encoder" else "encoder"
    assert (f"model.{side}.layers" in found, f"model.{side}.cell" in found) == (True, False)
    assert found[f"model.{other}.cell"] == "lstm"
    assert ("model.decoder.attention.kind" in found) == (side == "encoder")


def test_an_attention_that_is_given_in_part_stays() -> None:
    choices = chosen("sentences", given={"model.decoder.attention.width": 64})
    assert not [key for key in choices if key.startswith(("model.decoder.attention", "model.decoder.query"))]


@pytest.mark.parametrize("kind", ["sentences", "spelling"])
def test_only_an_additive_attention_gets_a_width(kind: str) -> None:
    given = {"model.decoder.attention.kind": "general"}
    choices = choose_for_training(sample_of(pairs_of(kind, 400)), given, Budget())
    assert "model.decoder.attention.width" not in {one.key for one in choices}


def test_steps_of_sentences_do_not_wait_for_attention() -> None:
    """A decoder that runs all steps in one call; few symbols keep the attention that enters the next state."""
    table = as_table(Choice(key, value, "") for key, value in chosen("sentences").items())
    settings = validate(Experiment, merge(table, {"data": {"train": ["pairs.tsv"]}}))
    assert build_model(settings.model, 50, 50).decoder.whole
    spelled = chosen("spelling")
    assert "model.decoder.query" not in spelled
    assert "model.decoder.attention.width" in spelled


def test_one_vocabulary_serves_both_sides_only_if_the_user_left_the_source_alone() -> None:
    assert chosen("copies", given={"source.kind": "bpe"})["target.kind"] == "bpe"


def test_a_sample_is_spread_over_the_corpus() -> None:
    sample = sample_of(Pair("a", "b", number) for number in range(1, 50_001))
    assert sample.size == 50_000
    assert SAMPLE / 2 <= len(sample.pairs) <= SAMPLE
    lines = [pair.line for pair in sample.pairs]
    assert lines[0] == 1
    assert {after - before for before, after in pairwise(lines)} == {sample.stride}
    assert lines[-1] > 50_000 - sample.stride


def test_a_sample_of_long_texts_is_smaller() -> None:
    sample = sample_of(Pair("a" * 15_000, "b" * 5_000, number) for number in range(1, 1_001))
    assert (sample.size, len(sample.pairs), sample.stride) == (1_000, 125, 8)
    assert sample.characters == 125 * 20_000 <= SAMPLE_CHARACTERS
    assert len(sample_of(Pair("a" * 3_000_000, "b" * 2_000_000, number) for number in (1, 2, 3)).pairs) == 1


@pytest.mark.parametrize(
    ("pairs", "share"),
    [(10, None), (200, 0.1), (10_000, 0.02), (1_000_000, 0.002), (300_000_000, 6.7e-06)],
)
def test_validation_data_is_kept_back(pairs: int, share: float | None) -> None:
    numbers = range(min(pairs, 500))
    found = hold_out_of(Sample([Pair(f"a {n}", "b", n + 1) for n in numbers], pairs, max(1, pairs // 500)))
    assert (found.value if isinstance(found, Choice) else None) == share


def test_nothing_is_kept_back_where_that_would_be_nothing_or_all() -> None:
    few = sample_of(Pair(("yes", "no")[number % 2], "b", number) for number in range(1, 200))
    assert hold_out_of(few) is None
    assert hold_out_of(Sample(few.pairs, 20_000, 100)) is None


@pytest.mark.parametrize(
    ("given", "longest"),
    [
        ({"source.kind": "bytes", "target.kind": "bytes"}, (130, 80)),
        ({"source.kind": "bytes", "target.kind": "shared"}, (130, 80)),
        ({"source.kind": "words", "target.size": 4_000}, (50, 50)),
        ({"target.kind": "file", "target.path": "nowhere.json"}, None),
        ({"source.kind": "bytes", "source.size": 3}, None),
    ],
)
def test_lengths_are_measured_with_the_tokenizers_of_the_user(
    given: dict[str, Any], longest: tuple[int, int] | None
) -> None:
    found = chosen("spaceless", 100, given)
    limits = ("data.max_source_length", "data.max_target_length")
    assert (found.get(limits[0]), found.get(limits[1])) == (longest or (None, None))
    assert ("limits.ratio" in found) == (longest is not None)


def test_one_vocabulary_is_shared_by_sub_words_only() -> None:
    """Targets of many words, most of which are among the single words of the sources."""
    texts = (
        " ".join(word(n * place % 300 + 1 if place < 6 else 999 * n + place) for place in range(8)) for n in range(300)
    )
    pairs = [Pair(word(n), text, n) for n, text in enumerate(texts, start=1)]
    values = {choice.key: choice.value for choice in choose_settings(sample_of(pairs))}
    assert (values["source.kind"], values["target.kind"]) == ("characters", "bpe")


@pytest.mark.parametrize(
    ("kind", "given", "kinds"),
    [
        ("copies", {"target.size": 4_000}, ("bpe", "bpe")),
        ("copies", {"source.size": 4_000}, ("bpe", "shared")),
        ("spelling", {"source.sampling": 0.1}, ("bpe", "words")),
        ("spelling", {"target.size": 40}, ("characters", "words")),
    ],
)
def test_a_kind_has_what_the_user_set_for_it(kind: str, given: dict[str, Any], kinds: tuple[str, str]) -> None:
    choices = choose_settings(sample_of(pairs_of(kind, 200)), given)
    table = merge(as_table(choices), as_table(Choice(key, value, "") for key, value in given.items()))
    settings = validate(Experiment, merge(table, {"data": {"train": ["pairs.tsv"]}}))
    assert (settings.source.kind, settings.target.kind) == kinds


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_handful_of_pairs_is_enough_to_choose_from(size: int) -> None:
    assert chosen("sentences", size)["source.kind"] in ("bpe", "characters")


def test_sub_words_that_would_be_rare_are_spelled() -> None:
    """Short texts of some new words, unlike their targets: of few pairs no sub-word is met often, of many they are."""
    texts = [" ".join([common(n), word(n * 7), common(n + 5), common(n // 3)]) for n in range(400)]
    pairs = [Pair(text, text[::-1].upper(), n) for n, text in enumerate(texts, start=1)]
    kinds = [
        {choice.key: choice for choice in choose_settings(Sample(pairs, size))}["source.kind"] for size in (400, 10**6)
    ]
    assert [choice.value for choice in kinds] == ["characters", "bpe"]
    assert "of sub-words would be met fewer than 20 times" in kinds[0].reason


def test_phonemes_keep_their_spaces() -> None:
    """Symbols of an accent or two more are single ones, a few of them new."""
    texts = ["k æ t", "t͡ʃ iː z", "kʷʰ a", "d ɔ ɡ", "ʃ iː p", "t æ k", "ɡ ɔ d"] * 3 + ["ŋ a"]
    sample = sample_of(Pair(f"w{n}", text, n) for n, text in enumerate(texts, start=1))
    table = {choice.key: choice.value for choice in choose_settings(sample)}
    assert table["target.kind"] == "words"
    tokenizer = train_tokenizer(Words(), lambda: iter(texts))
    assert [tokenizer.decode(row) for row in tokenizer.encode(texts)] == texts


def test_small_sets_are_seen_often_and_judged_by_errors() -> None:
    for size, epochs in ((100, 200), (800, 100), (3_600, 50), (200_000, 5)):
        sample = Sample([*pairs_of("spelling", 100)], size)
        table = {one.key: one.value for one in choose_for_training(sample, {"data.valid": ["v.tsv"]}, Budget())}
        assert (table["training.monitor"], table["training.epochs"]) == ("sequence_error_rate", epochs)
        assert bool(table["training.average"]) == (epochs > 12)


def test_nothing_but_the_loss_is_monitored_without_validation_data_or_for_sentences() -> None:
    few = sample_of(pairs_of("spelling", 40))
    assert not [one for one in choose_for_training(few, {}, Budget()) if one.key == "training.monitor"]
    sentences = sample_of(pairs_of("sentences", 100))
    assert not [one for one in choose_for_training(sentences, {}, Budget()) if one.key == "training.monitor"]


@pytest.mark.parametrize(("updates", "decay"), [(10, 0.9), (600, 0.99), (3_000, 0.998), (100_000, 0.999)])
def test_an_average_is_over_a_sixth_of_the_training(updates: int, decay: float) -> None:
    assert averaging(updates) == decay


def test_few_sentences_are_cut_anew_in_every_epoch() -> None:
    assert chosen("sentences", 300)["source.sampling"] == 0.1
    assert "target.sampling" not in chosen("sentences", 300)
    many = Sample([*pairs_of("sentences", 300)], 3_000)
    assert "source.sampling" not in {one.key for one in choose_settings(many)}


def test_few_inflected_forms_get_made_up_stems() -> None:
    assert 0 < chosen("inflection", 300)["data.hallucination"] < 1
    assert "data.hallucination" not in {
        one.key for one in choose_settings(Sample([*pairs_of("inflection", 300)], 9_000))
    }
    assert "data.hallucination" not in chosen("spelling", 300) | chosen("sentences", 300)
    assert "data.hallucination" not in chosen("inflection", 300, {"source.kind": "bpe"})


@pytest.mark.parametrize(
    ("kind", "given", "tie"),
    [
        ("copies", {}, "all"),
        ("sentences", {}, "target"),
        ("copies", {"target.kind": "bpe"}, "target"),
        ("spelling", {}, None),
        ("copies", {"model.decoder.readout_width": 100}, None),
        ("copies", {"model.source.width": 64}, None),
    ],
)
def test_tables_of_vectors_are_shared_where_vocabularies_are(kind: str, given: dict[str, Any], tie: str | None) -> None:
    choices = choose_settings(sample_of(pairs_of(kind, 200)), given)
    table = merge(as_table(choices), as_table(Choice(key, value, "") for key, value in given.items()))
    assert table["model"].get("tie") == tie
    settings = validate(Experiment, merge(table, {"data": {"train": ["pairs.tsv"]}}))
    build_model(settings.model, 50, 50)  # which refuses widths that do not fit


def test_a_few_endless_texts_decide_no_limit() -> None:
    few = np.array([8] * 60 + [400_000])
    assert limit_of(400_000.0, few, 50) == 2_000
    assert limit_of(24.0, few[:60], 50) == 50
    assert limit_of(9_000.0, np.array([6_000] * 9 + [9_000]), 50) == 11_250  # documents are all long
