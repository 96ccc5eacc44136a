"""One ramp of colours for all pictures: pale yellow, green, teal, blue, indigo.

Its lightness falls evenly from end to end (in OKLCH, from 0.98 to 0.22), so that it can be read in grey as well.
On a light background no weight is the pale end and all weight the deep one; on a dark one it is the other way round.
"""

import math

Colour = tuple[int, int, int]

RAMP = ("#fcfae6", "#c0eaa3", "#65d697", "#02b7a0", "#0c929a", "#05708c", "#034f7c", "#213052", "#190f41")
LEVELS = 17  # of a picture whose colours are named in a style sheet
TERMINAL_RAMP = (230, 193, 157, 114, 42, 36, 30, 24, 18, 17)  # the same in the fixed colours of a terminal


def colour_of(weight: float, dark: bool) -> Colour:
    """The colour of a weight between 0 and 1 on a dark or a light background."""
    share = share_of(weight)
    place = (1 - share if dark else share) * (len(RAMP) - 1)
    lower = min(int(place), len(RAMP) - 2)
    pairs = zip(parsed(RAMP[lower]), parsed(RAMP[lower + 1]), strict=True)
    red, green, blue = (round(first + (second - first) * (place - lower)) for first, second in pairs)
    return red, green, blue


def lightness(colour: Colour) -> float:
    """How light a colour is, from 0 to 1, to choose what can be read on it."""
    red, green, blue = colour
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def share_of(weight: float) -> float:
    """Between 0 and 1, whatever comes."""
    return 0.0 if math.isnan(weight) else min(max(weight, 0.0), 1.0)


def parsed(written: str) -> Colour:
    red, green, blue = bytes.fromhex(written[1:])
    return red, green, blue


def written(colour: Colour) -> str:
    return "#" + bytes(colour).hex()


def level_of(weight: float) -> int:
    """Which of the colours of a style sheet; the first is for weights that cannot be seen."""
    return round(share_of(weight) * (LEVELS - 1))


def terminal_number(weight: float, dark: bool) -> int:
    """Chosen by hand: the nearest colours would be grey at one end, and not in order of their lightness."""
    place = round(share_of(weight) * (len(TERMINAL_RAMP) - 1))
    return TERMINAL_RAMP[-1 - place if dark else place]
