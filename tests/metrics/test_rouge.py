"""ROUGE by pencil, and where it cannot be had."""

import sys

import pytest

from dragoman.errors import ConfigError, DataError
from dragoman.metrics import METRICS, measure


def values(hypotheses: list[str], references: list[tuple[str, ...]]) -> list[float]:
    names = ("rouge1", "rouge2", "rouge_l")
    return [found.value for found in measure(names, hypotheses, references, resamples=10)]


def test_by_pencil():
    """Of 3 words and 4, two are shared, in order: P = 2/3, R = 2/4, F = 4/7; no pair of words is."""
    assert values(["tool for pictures"], [("a tool drawing pictures",)]) == pytest.approx([400 / 7, 0, 400 / 7])


def test_order_counts_for_the_longest_subsequence():
    assert values(["b a"], [("A, b!",)]) == pytest.approx([100, 0, 50])


def test_the_nearest_reference_and_the_mean_over_items():
    assert values(["a b", "c"], [("x y", "a b"), ("d",)]) == pytest.approx([50, 50, 50])


def test_nothing_answered_is_nothing_found():
    assert values([""], [("a b",)]) == [0, 0, 0]


def test_letters_that_it_would_not_see_are_refused():
    with pytest.raises(DataError, match=r"a to z.*chrf"):
        values(["εργαλείο"], [("εργαλείο",)])


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    with pytest.raises(ConfigError, match=r"pip install 'dragoman\[metrics\]'"):
        values(["a"], [("a",)])
    with pytest.raises(ConfigError, match=r"pip install"):  # and before anything is decoded or trained
        METRICS["rouge_l"].needed()
    METRICS["bleu"].needed()


def test_signature_says_whose_arithmetic_it_is():
    [found] = measure(["rouge2"], ["a b"], [("a b",)], resamples=10)
    assert found.signature.startswith("nrefs:1|bs:10|seed:12345|stem:no|version:rouge-score.")
