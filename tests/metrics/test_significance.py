"""Chance, with numbers that can be checked with a pencil."""

import numpy
import pytest

from dragoman.metrics import count
from dragoman.metrics.measured import Counts
from dragoman.metrics.significance import difference_by_chance, holm


def counts(*values: float) -> Counts:
    """A score that is the mean of numbers."""
    items = numpy.array([[value, 1.0] for value in values])
    return Counts(items, lambda sums: sums[:, 0] / sums[:, 1], lambda resamples, seed: "")


def test_all_exchanges_of_three_sentences() -> None:
    """Differences 1, 1, 1: of the 8 signs only +++ and --- give a mean as far from 0 as 1."""
    assert difference_by_chance(counts(1, 1, 1), counts(0, 0, 0)) == 2 / 8
    # Differences 3, 1, 0: |±3 ± 1| >= 4 for two signs of the first two, and the third changes nothing.
    assert difference_by_chance(counts(3, 1, 0), counts(0, 0, 0)) == 4 / 8
    # Differences 2, -1: |sum| is 1; every exchange gives 1 or 3.
    assert difference_by_chance(counts(2, 0), counts(0, 1)) == 1.0


def test_it_does_not_matter_which_is_first() -> None:
    first, second = counts(5, 1, 2, 2), counts(1, 2, 0, 2)
    assert difference_by_chance(first, second) == difference_by_chance(second, first)


def test_equal_answers_are_no_difference() -> None:
    assert difference_by_chance(counts(1, 2), counts(1, 2)) == 1.0


def test_drawn_exchanges_come_near_to_all_of_them() -> None:
    """Eight differences of 1: p is 2 / 256 exactly."""
    first, second = counts(*[1.0] * 8), counts(*[0.0] * 8)
    assert difference_by_chance(first, second) == 2 / 256
    drawn = difference_by_chance(first, second, trials=255)  # one fewer than there are
    assert drawn == pytest.approx(2 / 256, abs=0.012)
    assert drawn >= 1 / 256


def test_a_corpus_score_is_not_a_mean_of_sentences() -> None:
    """Edits differ by 6, 1 and -1, which is 6: |±6 ± 1 ± 1| is as much in 6 of 8 cases, by sentences in all."""
    references = [("a b c d e f",), ("a",), ("b",)]
    better = count("word_error_rate", ["a b c d e f", "a", "x"], references)
    worse = count("word_error_rate", ["x x x x x x", "x", "b"], references)
    assert difference_by_chance(better, worse) == 6 / 8


def test_holm() -> None:
    """0.01 × 3; 0.02 × 2; 0.03 × 1 falls, so it stays at 0.04."""
    assert holm([0.03, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    assert holm([0.03, 0.01], 6) == pytest.approx([0.15, 0.06])  # 5 × 0.03 and 6 × 0.01
