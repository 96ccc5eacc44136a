"""Entropy, order and coverage of alignments that fit on a line, with numbers to check by hand."""

import math

import pytest

from dragoman.drawing.alignment import Alignment, Weights, centre_within, windows_within
from dragoman.drawing.summary import Summary, entropy, kendall_tau, monotonicity, sentences, summarise
from dragoman.drawing.svg import svg
from dragoman.drawing.terminal import BRACKETS, CENTRE, marks_of

DIAGONAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def of(weights: Weights, finished: bool = True) -> Alignment:
    columns = len(weights[0]) if weights else 1
    names = tuple("xyz")[: len(weights) - finished]
    return Alignment((*"abcdefg"[: columns - 1], "END"), names + ("END",) * finished, weights, finished=finished)


def test_a_diagonal_looks_at_one_place_after_another():
    found = summarise(of(DIAGONAL))
    assert found == Summary(
        entropy=(0.0, 0.0, 0.0),
        entropy_share=(0.0, 0.0, 0.0),
        mean_entropy=0.0,
        mean_entropy_share=0.0,
        monotonicity=1.0,
        kendall_tau=1.0,
        coverage=(1.0, 1.0, 1.0),
        neglected=(),
        overused=(),
    )


def test_reversed():
    weights = ((0.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    found = summarise(Alignment((*"abc", "END"), (*"xyz", "END"), weights))
    assert found.kendall_tau == -1
    assert found.monotonicity == pytest.approx(1 / 3)  # the step to END goes forwards


def test_uniform_is_all_the_entropy_there_is():
    found = summarise(of(((0.25,) * 4,) * 3))
    assert found.entropy == pytest.approx((math.log(4),) * 3)
    assert found.entropy_share == pytest.approx((1, 1, 1))
    assert found.monotonicity == 1  # it does not move at all
    assert found.kendall_tau is None  # all symbols look at the first of equals
    assert found.coverage == (0.75,) * 4


def test_rounding_is_no_step_back():
    third = 1 / 3
    assert monotonicity([(third, third, third), (0.33333334, 0.3333333, 0.3333333)]) == 1
    assert monotonicity([(0.5, 0.5), (0.51, 0.49)]) == 0


def test_entropy_of_halves():
    assert entropy((0.5, 0.0, 0.5)) == pytest.approx(math.log(2))
    assert entropy((0.1, 0.1)) == pytest.approx(math.log(2))  # what does not add up to 1 is brought to it
    found = summarise(of(((0.5, 0.5, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))))
    assert found.mean_entropy_share == pytest.approx(0.25)
    assert found.mean_entropy == pytest.approx(math.log(2) / 2)


def test_a_single_column_leaves_no_choice():
    found = summarise(of(((1.0,), (1.0,))))
    assert (found.entropy, found.entropy_share) == ((0.0, 0.0), (0.0, 0.0))
    assert (found.monotonicity, found.kendall_tau) == (1.0, None)
    assert (found.coverage, found.neglected, found.overused) == ((2.0,), (), ())


def test_a_row_without_weight_is_not_counted():
    found = summarise(of(((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))))
    assert found.entropy == (0.0, None, 0.0)
    assert found.mean_entropy == 0
    assert found.monotonicity == 0
    nothing = summarise(of(((0.0, 0.0), (0.0, 0.0))))
    assert (nothing.mean_entropy, nothing.mean_entropy_share, nothing.monotonicity) == (None, None, None)
    assert nothing.neglected == (0,)
    assert sentences(of(((0.0, 0.0), (0.0, 0.0)))) == ["under 0.2 in total: a"]


def test_an_answer_of_nothing():
    found = summarise(Alignment(("a", "END"), (), (), finished=False))
    assert (found.entropy, found.mean_entropy, found.monotonicity, found.kendall_tau) == ((), None, None, None)
    assert sentences(Alignment(("a", "END"), (), (), finished=False)) == []
    assert summarise(Alignment((), (), ())).coverage == ()


def test_kendalls_tau_with_ties():
    """In 0 0 1 1 four of six pairs are in order and two are tied: 4 / √(6 · 4)."""
    assert kendall_tau([0, 0, 1, 1]) == pytest.approx(4 / math.sqrt(24))
    assert kendall_tau([2, 0, 1]) == pytest.approx(-1 / 3)
    assert kendall_tau([1, 1, 0, 3]) == pytest.approx((3 - 2) / math.sqrt(6 * 5))
    assert kendall_tau([7]) is kendall_tau([]) is None


def test_coverage_leaves_out_the_end():
    found = summarise(of(((0.9, 0.1, 0.0), (0.9, 0.05, 0.05), (0.9, 0.04, 0.06)), finished=False))
    assert found.coverage == pytest.approx((2.7, 0.19, 0.11))
    assert (found.neglected, found.overused) == ((1,), (0,))


def test_numbers_in_words():
    assert sentences(of(((0.5, 0.5, 0.0), (0.0, 0.0, 1.0)))) == [
        "entropy 0.35 nats (32% of looking everywhere)",
        "100% of steps do not go back",
    ]
    many = Alignment((*"abcdefg", "END"), ("x", "END"), ((1.0, *[0.0] * 7),) * 2)
    assert sentences(many)[-1] == "under 0.2 in total: b c d e f and 1 more"


def test_hard_is_one_hot_everywhere():
    assert of(DIAGONAL).hard
    assert of(DIAGONAL).chosen() == (0, 1, 2)
    soft = of(((0.9, 0.1), (0.0, 1.0)))
    assert not soft.hard
    assert soft.chosen() == ()
    assert not of(((0.5, 0.5), (0.0, 1.0))).hard
    assert not of(((1.0, 1.0), (0.0, 1.0))).hard
    assert not of(((0.0, 0.0), (0.0, 1.0))).hard
    assert not of(((1.0,), (1.0,))).hard  # where there is no other place, nothing is chosen
    assert not Alignment(("a", "END"), (), ()).hard
    assert not Alignment(("a", "END"), ("END",), ((1.0, 0.0),), windows=((0, 0.0, 1),)).hard


def test_windows_are_cut_to_the_source():
    rows = [[-2.0, 0.0, 2.0], [0.5, 1.5, 2.49], [3.0, 5.0, 7.0], [6.0, 8.0, 10.0]]
    assert windows_within(rows, 4) == ((0, 0.0, 2), (0, 1.5, 2), (3, 5.0, 3), (6, 8.0, 3))


def test_a_centre_outside_stands_on_the_edge_of_its_window():
    assert centre_within((0, -0.9, 2)) == -0.5
    assert centre_within((1, 9.0, 2)) == 2.5
    assert centre_within((0, 1.2, 2)) == 1.2
    local = Alignment(("a", "b", "END"), ("X",), ((1.0, 0.0, 0.0),), finished=False, windows=((0, -0.9, 1),))
    assert svg(local).count("<circle") == 1
    assert marks_of((0, -0.9, 1)) == {0: CENTRE, 3: BRACKETS[1]}
