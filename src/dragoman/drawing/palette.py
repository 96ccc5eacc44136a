"""One ramp of colours for all pictures: pale yellow, green, teal, blue, indigo.

Its lightness falls evenly from end to end (in OKLCH, from 0.98 to 0.22), so that it can be read in grey as well.
On a light background no weight is the pale end and all weight the deep one; on a dark one it is the other way round.
"""

from functools import lru_cache

Colour = tuple[int, int, int]

RAMP = ("#fcfae6", "#c0eaa3", "#65d697", "#02b7a0", "#0c929a", "#05708c", "#034f7c", "#213052", "#190f41")
LEVELS = 17  # of a picture whose colours are named in a style sheet
CUBE = (0, 95, 135, 175, 215, 255)  # the steps of the colours 16 to 231 of a terminal
GREYS = tuple(range(8, 248, 10))  # and its colours 232 to 255


def colour_of(weight: float, dark: bool) -> Colour:
    """The colour of a weight between 0 and 1 on a dark or a light background."""
    share = min(max(weight, 0.0), 1.0) if weight == weight else 0.0
    place = (1 - share if dark else share) * (len(RAMP) - 1)
    lower = min(int(place), len(RAMP) - 2)
    pairs = zip(parsed(RAMP[lower]), parsed(RAMP[lower + 1]), strict=True)
    red, green, blue = (round(first + (second - first) * (place - lower)) for first, second in pairs)
    return red, green, blue


def parsed(written: str) -> Colour:
    red, green, blue = bytes.fromhex(written[1:])
    return red, green, blue


def written(colour: Colour) -> str:
    return "#" + bytes(colour).hex()


def level_of(weight: float) -> int:
    """Which of the colours of a style sheet; the first is for weights that cannot be seen."""
    return round(min(max(weight, 0.0), 1.0) * (LEVELS - 1)) if weight == weight else 0


def nearest(value: int, steps: tuple[int, ...]) -> int:
    return min(range(len(steps)), key=lambda number: abs(steps[number] - value))


@lru_cache(maxsize=4096)
def terminal_number(colour: Colour) -> int:
    """The nearest of the 240 fixed colours of a terminal."""
    cube = [nearest(part, CUBE) for part in colour]
    grey = nearest(round(sum(colour) / 3), GREYS)
    in_cube = sum((CUBE[step] - part) ** 2 for step, part in zip(cube, colour, strict=True))
    in_grey = sum((GREYS[grey] - part) ** 2 for part in colour)
    return 16 + 36 * cube[0] + 6 * cube[1] + cube[2] if in_cube <= in_grey else 232 + grey
