"""Factors of the rate that can be checked with a pencil."""

import math

import pytest

from dragoman.training.schedules import Constant, Cosine, Halving, InverseSquareRoot, Plateau, rate_factor


@pytest.mark.parametrize(("step", "factor"), [(1, 0.25), (2, 0.5), (4, 1), (5, 1), (1000, 1)])
def test_constant_after_warmup(step: int, factor: float) -> None:
    assert rate_factor(Constant(warmup=4), step, 0.5) == factor


def test_constant_without_warmup() -> None:
    assert rate_factor(Constant(), 1, 0.0) == 1


@pytest.mark.parametrize(("step", "factor"), [(1, 0.25), (4, 1), (16, 0.5), (64, 0.25), (400, 0.1)])
def test_inverse_square_root(step: int, factor: float) -> None:
    assert rate_factor(InverseSquareRoot(warmup=4), step, 0.0) == pytest.approx(factor)


@pytest.mark.parametrize(("done", "factor"), [(0.0, 1), (1 / 3, 0.75), (0.5, 0.5), (2 / 3, 0.25), (1.0, 0), (1.5, 0)])
def test_cosine(done: float, factor: float) -> None:
    assert rate_factor(Cosine(), 10, done) == pytest.approx(factor)


def test_cosine_keeps_a_rest_and_warms_up() -> None:
    assert rate_factor(Cosine(final=0.2), 10, 1.0) == pytest.approx(0.2)
    assert rate_factor(Cosine(final=0.2), 10, 0.5) == pytest.approx(0.6)
    assert rate_factor(Cosine(warmup=4), 1, 0.0) == pytest.approx(0.25)
    assert rate_factor(Cosine(warmup_share=0.5), 1, 0.0) == 0
    assert rate_factor(Cosine(warmup_share=0.5), 1, 0.25) == pytest.approx(0.5 * (1 + math.cos(math.pi / 4)) / 2)
    assert rate_factor(Cosine(warmup_share=0.5), 1, 0.5) == pytest.approx(0.5)


@pytest.mark.parametrize(("cuts", "factor"), [(0, 1), (1, 0.5), (2, 0.25), (3, 0.2), (9, 0.2)])
def test_plateau(cuts: int, factor: float) -> None:
    assert rate_factor(Plateau(factor=0.5, lowest=0.2), 10, 0.5, cuts) == factor


def test_plateau_warms_up() -> None:
    assert rate_factor(Plateau(warmup=4), 2, 0.0, cuts=1) == 0.25


@pytest.mark.parametrize(("epochs", "factor"), [(0.0, 1), (4.9, 1), (5.0, 0.5), (5.4, 0.5), (5.5, 0.25), (7.5, 1 / 64)])
def test_halving_by_epochs(epochs: float, factor: float) -> None:
    """Sutskever's: half the rate every half epoch after five."""
    assert rate_factor(Halving(epochs=5.0, every=0.5), 10, 0.5, epochs=epochs) == factor


def test_the_inverse_square_root_warms_up_over_a_share_of_the_training() -> None:
    schedule = InverseSquareRoot(warmup_share=0.1)
    assert rate_factor(schedule, 1, 0.05) == pytest.approx(0.5)
    assert rate_factor(schedule, 1, 0.1) == pytest.approx(1.0)
    assert rate_factor(schedule, 1, 0.4) == pytest.approx(0.5)
