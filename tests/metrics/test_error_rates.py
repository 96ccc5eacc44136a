"""Edits, matches and their intervals, on corpora that fit on a line."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dragoman.errors import ConfigError, DataError
from dragoman.metrics import METRICS, measure, measure_perplexity, perplexity
from dragoman.metrics.edit_distance import edit_distance


def value(name: str, hypotheses: list[str], references: list[tuple[str, ...]]) -> float:
    [measured] = measure([name], hypotheses, references, resamples=10)
    return measured.value


def by_the_table(first: str, second: str) -> int:
    row = list(range(len(second) + 1))
    for here, symbol in enumerate(first, start=1):
        above, row = row, [here]
        for there, other in enumerate(second, start=1):
            row.append(min(above[there] + 1, row[-1] + 1, above[there - 1] + (symbol != other)))
    return row[-1]


@given(some.text("abc", max_size=90), some.text("abcd", max_size=90))
def test_edit_distance_is_that_of_the_table(first, second):
    assert edit_distance(first, second) == by_the_table(first, second)


@given(some.text("ab", max_size=6), some.text("ab", max_size=6))
def test_edit_distance_of_short_ones(first, second):
    assert edit_distance(first, second) == by_the_table(first, second)


def test_phonemes_against_the_nearest_reference():
    references = [("T AH M EY T OW", "T AH M AA T OW"), ("K AE T",)]
    assert value("phoneme_error_rate", ["T AH M AA T OW", "K AE"], references) == pytest.approx(100 * 1 / 9)
    assert value("word_error_rate", ["T AH M AA T", "K AE T S"], references) == pytest.approx(100 * 2 / 9)


def test_the_longer_among_equally_near_references():
    assert value("word_error_rate", ["a b"], [("a", "a b c")]) == pytest.approx(100 / 3)
    assert value("word_error_rate", ["a b"], [("a b c", "a")]) == pytest.approx(100 / 3)


def test_characters_count_spaces():
    assert value("character_error_rate", ["ab c"], [("abc",)]) == pytest.approx(100 / 3)


def test_matches():
    hypotheses, references = ["a", "b", "c", "d"], [("a",), ("x", "b"), ("x",), ("d", "y")]
    assert value("exact_match", hypotheses, references) == 75
    assert value("sequence_error_rate", hypotheses, references) == 25


def test_empty_texts():
    assert value("word_error_rate", [""], [("a b",)]) == 100
    assert value("word_error_rate", [""], [("",)]) == 0
    assert value("word_error_rate", ["a b"], [("",)]) == 200
    assert value("character_error_rate", ["", "ab"], [("", "a"), ("ab",)]) == 0
    assert value("exact_match", [""], [("",)]) == 100


def test_interval_of_a_coin():
    hypotheses, references = ["a"] * 50 + ["b"] * 50, [("a",)] * 100
    [first], [again], [other] = (measure(["exact_match"], hypotheses, references, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.value == 50
    assert first.low == pytest.approx(50 - 1.96 * 5, abs=2)
    assert first.high == pytest.approx(50 + 1.96 * 5, abs=2)
    assert first.signature == "nrefs:1|bs:1000|seed:1|unit:line|version:dragoman.1"


def test_interval_of_a_perfect_corpus_is_a_point():
    [measured] = measure(["phoneme_error_rate"], ["K AE T"] * 3, [("K AE T", "K AA T")] * 2 + [("K AE T",)])
    assert (measured.value, measured.low, measured.high) == (0, 0, 0)
    assert measured.signature.startswith("nrefs:var|")


def test_a_dictionary_is_measured_quickly():
    hypotheses = [f"P{number % 7} AH N {number % 11} S T IY" for number in range(12_000)]
    references = [(f"P{number % 5} AH N {number % 11} T IY", "P AH N T", "AH N") for number in range(12_000)]
    started_at = time.perf_counter()
    measure(["phoneme_error_rate", "sequence_error_rate"], hypotheses, references)
    assert time.perf_counter() - started_at < 10  # it took 1 s with shapes checked; a shared machine may be slow


def test_what_cannot_be_measured():
    with pytest.raises(DataError, match="nothing to measure"):
        measure(["bleu"], [], [])
    with pytest.raises(DataError, match="2 hypotheses cannot be compared with references for 1"):
        measure(["bleu"], ["a", "b"], [("a",)])
    with pytest.raises(DataError, match="Item 2 has no reference"):
        measure(["bleu"], ["a", "b"], [("a",), ()])
    with pytest.raises(ConfigError, match=r"No metric is called 'blue'\. Did you mean 'bleu'\? Known: bleu, bleu_"):
        measure(["blue"], ["a"], [("a",)])
    with pytest.raises(ConfigError, match="at least one resample, not 0"):
        measure(["bleu"], ["a"], [("a",)], resamples=0)


def test_the_catalogue_names_itself():
    assert all(name == metric.name and metric.title for name, metric in METRICS.items())
    assert {name for name, metric in METRICS.items() if metric.higher_is_better} == {
        "bleu",
        "bleu_lowercase",
        "chrf",
        "rouge1",
        "rouge2",
        "rouge_l",
        "exact_match",
        "token_f1",
    }


def test_perplexity():
    assert perplexity(-3 * math.log(8), 3) == pytest.approx(8)
    assert perplexity(-1e9, 1) == math.inf
    with pytest.raises(DataError, match="no symbols"):
        perplexity(0.0, 0)


def test_perplexity_of_a_corpus_weighs_symbols_not_lines():
    measured = measure_perplexity([-3 * math.log(2), -math.log(32)], [3, 1])
    assert measured.value == pytest.approx(4)  # eight bits over four symbols
    assert (measured.low, measured.high) == (pytest.approx(2), pytest.approx(32))
    with pytest.raises(DataError, match="no symbols"):
        measure_perplexity([], [])


def test_whole_conversations_are_drawn():
    """Three turns of one symbol in each of two conversations: a draw has one conversation twice, or both."""
    logs = [-math.log(2)] * 3 + [-math.log(8)] * 3
    measured = measure_perplexity(logs, [1] * 6, conversations=["a"] * 3 + ["b"] * 3)
    assert (measured.low, measured.value, measured.high) == pytest.approx((2, 4, 8))
    assert measured.signature == "bs:1000|seed:12345|unit:symbol|version:dragoman.1|drawn:conversation"
    single = measure_perplexity(logs, [1] * 6)
    assert measured.low < single.low < single.high < measured.high
    assert measure_perplexity(logs, [1] * 6, conversations=["a"] * 6) == single  # nothing else is there to be drawn
    [matched] = measure(["exact_match"], ["x", "y"] * 2, [("x",)] * 4, conversations=["a", "b"] * 2)
    assert (matched.value, matched.low, matched.high) == (50, 0, 100)
