"""Colours of weights."""

import math

import pytest

from dragoman.drawing.palette import LEVELS, RAMP, TERMINAL_RAMP, colour_of, level_of, terminal_number, written


def lightness(colour: tuple[int, int, int]) -> float:
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


@pytest.mark.parametrize("dark", [True, False])
def test_more_weight_is_further_from_the_background(dark: bool) -> None:
    values = [lightness(colour_of(step / 50, dark)) for step in range(51)]
    assert values == sorted(values, reverse=not dark)
    assert abs(values[0] - values[-1]) > 200


def test_both_directions_are_one_ramp() -> None:
    assert written(colour_of(0.0, dark=False)) == written(colour_of(1.0, dark=True)) == RAMP[0]
    assert written(colour_of(0.5, dark=False)) == written(colour_of(0.5, dark=True)) == RAMP[4]
    assert colour_of(7.0, dark=False) == colour_of(1.0, dark=False)
    assert colour_of(math.nan, dark=False) == colour_of(-1.0, dark=False) == colour_of(0.0, dark=False)


def test_levels() -> None:
    assert (level_of(0.0), level_of(0.02), level_of(1.0), level_of(math.nan)) == (0, 0, LEVELS - 1, 0)


def test_numbers_of_a_terminal() -> None:
    """The colours 16 to 231 of a terminal are a cube with these steps."""
    steps = (0, 95, 135, 175, 215, 255)
    cube = [divmod(number - 16, 36) for number in TERMINAL_RAMP]
    colours = [(steps[red], steps[rest // 6], steps[rest % 6]) for red, rest in cube]
    values = [lightness(colour) for colour in colours]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)
    assert (terminal_number(0.0, dark=True), terminal_number(1.0, dark=True)) == (17, 230)
    assert (terminal_number(0.0, dark=False), terminal_number(1.0, dark=False)) == (230, 17)
