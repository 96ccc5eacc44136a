"""An alignment in a terminal: true colour, 256 colours or plain blocks."""

import os
from collections.abc import Iterator, Mapping
from typing import Literal

from rich.cells import cell_len

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.labels import characters, right_to_left, shortened, visible
from dragoman.drawing.palette import colour_of, terminal_number

Colours = Literal["true", "256", "plain"]

CELL = 2  # terminal cells a column: about square, and wide enough for one East Asian character
TALLEST_SOURCE = 14  # characters of a source token, written downwards
WIDEST_OUTPUT = 24  # cells of an output symbol
SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.05, "░"))
NOTHING = "·"
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
) -> str:
    """Source tokens across the top, read downwards; output symbols down the side; a map that is too wide in parts.

    Without colours a fuller block is a larger weight. `values` puts its log-probability beside each output symbol.
    """
    labels = row_labels(alignment, values)
    margin = max(map(cell_len, labels), default=0) + 1
    columns = len(alignment.source)
    step = columns if width is None else max(1, (width - margin) // CELL)
    lines: list[str] = []
    for first in range(0, columns, max(1, step)):
        part = slice(first, min(columns, first + step))
        if step < columns:
            lines += ["", f"{' ' * margin}source tokens {first + 1} to {part.stop} of {columns}"]
        lines += [left_to_right((" " * margin + line).rstrip()) for line in header(alignment.source[part])]
        for label, weights in zip(labels, alignment.weights, strict=True):
            cells = "".join(cell(weight, colours, light) for weight in weights[part])
            lines.append(left_to_right(" " * (margin - 1 - cell_len(label)) + label + " ") + cells)
    lines += ["", " " * margin + legend(colours, light)]
    return "\n".join(line.rstrip() for line in lines)


def row_labels(alignment: Alignment, values: bool) -> list[str]:
    names = [shortened(visible(symbol), WIDEST_OUTPUT) for symbol in alignment.target]
    if not values or not alignment.log_probabilities:
        return names
    marks = [LEFT_TO_RIGHT if right_to_left(name) else "" for name in names]
    rows = zip(names, marks, alignment.log_probabilities, strict=True)
    return [f"{name}{mark} {value:7.3f}" for name, mark, value in rows]


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


def cell(weight: float, colours: Colours, light: bool) -> str:
    if colours == "plain":
        return next((shade * CELL for least, shade in SHADES if weight >= least), padded(NOTHING))
    red, green, blue = colour_of(weight, dark=not light)
    code = f"2;{red};{green};{blue}" if colours == "true" else f"5;{terminal_number(weight, dark=not light)}"
    return f"\x1b[48;{code}m{' ' * CELL}\x1b[0m"


def legend(colours: Colours, light: bool) -> str:
    if colours == "plain":
        return "  ".join(f"{shade} {least:.0%}" for least, shade in reversed(SHADES)) + " or more"
    return "0% " + "".join(cell(step / 10, colours, light) for step in range(11)) + " 100%"
