"""An alignment in a terminal: true colour, 256 colours or plain blocks."""

import math
import os
from collections.abc import Iterator, Mapping
from typing import Literal

from rich.cells import cell_len

from dragoman.drawing.alignment import Alignment, Window
from dragoman.drawing.labels import characters, choices, right_to_left, shortened, visible
from dragoman.drawing.palette import colour_of, lightness, terminal_number
from dragoman.drawing.summary import beside

Colours = Literal["true", "256", "plain"]

CELL = 2  # terminal cells a column: about square, and wide enough for one East Asian character
TALLEST_SOURCE = 14  # characters of a source token, written downwards
WIDEST_OUTPUT = 24  # cells of an output symbol
SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.05, "░"))
NOTHING = "·"
WIDEST_CHOICE = 16  # cells of a token that is named behind its row
BRACKETS = "[]"
CENTRE = "+"
BLACK, WHITE = 16, 231  # numbers of colours
LEFT_TO_RIGHT = "\u200e"  # keeps a terminal that knows Arabic and Hebrew from turning columns around
TRUE_COLOUR_TERMINALS = ("kitty", "alacritty", "wezterm", "ghostty", "foot", "-direct")


def colours_of(is_terminal: bool, environment: Mapping[str, str] = os.environ) -> Colours:
    """What a terminal can show; nothing but blocks where there is none, or NO_COLOR is set."""
    terminal = environment.get("TERM", "")
    if environment.get("NO_COLOR") or not is_terminal or terminal in ("", "dumb"):
        return "plain"
    named = any(name in terminal for name in TRUE_COLOUR_TERMINALS)
    if named or environment.get("COLORTERM") in ("truecolor", "24bit"):
        return "true"
    return "256" if "256color" in terminal else "plain"


def columns_of(descriptor: int = 1, environment: Mapping[str, str] = os.environ) -> int | None:
    """How wide the terminal behind stdout is; None where there is none, so that a file gets whole lines."""
    if environment.get("COLUMNS", "").isdecimal():
        return int(environment["COLUMNS"]) or None
    try:
        return os.get_terminal_size(descriptor).columns or None
    except OSError:
        return None


def is_light(environment: Mapping[str, str] = os.environ) -> bool:
    """Some terminals say what their background is: COLORFGBG="0;15" is black on white."""
    return environment.get("COLORFGBG", "").rpartition(";")[2] in ("7", "15")


def text(
    alignment: Alignment,
    colours: Colours = "plain",
    width: int | None = None,
    values: bool = False,
    light: bool = False,
    entropies: bool = False,
    across: str = "source tokens",
) -> str:
    """Source tokens across the top, read downwards; output symbols down the side; a map that is too wide in parts.

    Without colours a fuller block is a larger weight. `values` puts its log-probability beside each output symbol,
    `entropies` its entropy. A local window stands in brackets; a hard choice is named behind its row. `across` is what
    the columns are called.
    """
    labels = row_labels(alignment, beside(alignment, values, entropies))
    chosen = alignment.chosen()
    names = choices(alignment.source, chosen, WIDEST_CHOICE)
    margin = max(map(cell_len, labels), default=0) + 1
    columns = len(alignment.source)
    behind = 1 + max(map(cell_len, names)) if names else 0
    step = columns if width is None else max(1, (width - margin - behind) // CELL)
    lines: list[str] = []
    for first in range(0, columns, max(1, step)):
        part = range(first, min(columns, first + step))
        if step < columns:
            lines += ["", f"{' ' * margin}{across} {first + 1} to {part.stop} of {columns}"]
        tokens = alignment.source[part.start : part.stop]
        lines += [left_to_right((" " * margin + line).rstrip()) for line in header(tokens)]
        for number, label in enumerate(labels):
            cells = row(alignment, number, part, colours, light)
            name = left_to_right(" " + names[number]) if names and chosen[number] in part else ""
            lines.append(left_to_right(" " * (margin - 1 - cell_len(label)) + label + " ") + cells + name)
    lines += ["", *(" " * margin + line for line in legend(alignment, colours, light))]
    return "\n".join(line.rstrip() for line in lines)


def row_labels(alignment: Alignment, numbers: list[tuple[str, list[str]]]) -> list[str]:
    names = [shortened(visible(symbol), WIDEST_OUTPUT) for symbol in alignment.target]
    if not numbers:
        return names
    marks = [LEFT_TO_RIGHT if right_to_left(name) else "" for name in names]
    rows = zip(names, marks, *(column for _, column in numbers), strict=True)
    return [f"{name}{mark} {' '.join(f'{value:>7}' for value in values)}" for name, mark, *values in rows]


def header(tokens: tuple[str, ...]) -> Iterator[str]:
    """Each token downwards in a column of its own, all of them ending on the last line."""
    columns = [characters(visible(token)) for token in tokens]
    columns = [column if len(column) <= TALLEST_SOURCE else [*column[: TALLEST_SOURCE - 1], "…"] for column in columns]
    height = max(map(len, columns), default=0)
    for line in range(-height, 0):
        yield "".join(padded(column[line] if line >= -len(column) else "") for column in columns)


def padded(piece: str) -> str:
    mark = LEFT_TO_RIGHT if right_to_left(piece) else ""
    return piece + mark + " " * (CELL - cell_len(piece))


def left_to_right(line: str) -> str:
    return f"{LEFT_TO_RIGHT}{line}{LEFT_TO_RIGHT}" if right_to_left(line) else line


def row(alignment: Alignment, number: int, part: range, colours: Colours, light: bool) -> str:
    """The cells of one output symbol, with the brackets of its window."""
    weights = alignment.weights[number]
    if not alignment.windows:
        return "".join(cell(weights[column], colours, light) for column in part)
    first, _, last = alignment.windows[number]
    marks = marks_of(alignment.windows[number])
    return "".join(
        cell(
            weights[column],
            colours,
            light,
            "".join(marks.get(CELL * column + half, " ") for half in range(CELL)),
            NOTHING if first <= column <= last else " ",
        )
        for column in part
    )


def marks_of(window: Window) -> dict[int, str]:
    """What stands at which half of which cell: brackets around a window, and its centre.

    In the first or last cell the centre stands instead of the bracket, so that the other half still shows the weight.
    """
    first, centre, last = window
    if first > last:
        return {}
    found = {CELL * first: BRACKETS[0], CELL * last + CELL - 1: BRACKETS[1]}
    place = math.floor(CELL * (centre + 0.5))
    column = min(max(place // CELL, first), last)
    if first < column < last:
        found[place] = CENTRE
    elif first < last and column in (first, last):
        found[CELL * first if column == first else CELL * last + CELL - 1] = CENTRE
    return found


def cell(weight: float, colours: Colours, light: bool, marks: str = " " * CELL, nothing: str = NOTHING) -> str:
    if colours == "plain":
        shades = next((shade * CELL for least, shade in SHADES if weight >= least), padded(nothing))
        return "".join(shade if mark == " " else mark for shade, mark in zip(shades, marks, strict=True))
    ground = colour_of(weight, dark=not light)
    red, green, blue = ground
    code = f"2;{red};{green};{blue}" if colours == "true" else f"5;{terminal_number(weight, dark=not light)}"
    ink = f";38;5;{BLACK if lightness(ground) > 0.5 else WHITE}" if marks.strip() else ""
    return f"\x1b[48;{code}{ink}m{marks}\x1b[0m"


def legend(alignment: Alignment, colours: Colours, light: bool) -> Iterator[str]:
    if colours == "plain":
        yield "  ".join(f"{shade} {least:.0%}" for least, shade in reversed(SHADES)) + " or more"
    else:
        yield "0% " + "".join(cell(step / 10, colours, light) for step in range(11)) + " 100%"
    if alignment.windows:
        yield f"{BRACKETS} window  {CENTRE} its centre"
    if alignment.hard:
        yield "← the one token that was chosen"
