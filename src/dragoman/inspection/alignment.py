"""Which source tokens an output symbol looked at, drawn in a terminal."""

from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dragoman.contracts import Prediction
from dragoman.errors import DataError

CELL = 2  # terminal cells a column: about square, and wide enough for one East Asian character
TALLEST_SOURCE = 14  # characters of a source token, written downwards
WIDEST_OUTPUT = 24  # cells of an output symbol
SHADES = ((0.75, "█"), (0.5, "▓"), (0.25, "▒"), (0.05, "░"))
NOTHING = "·"


def alignment_text(prediction: Prediction, colour: bool = False) -> str:
    """Source tokens across the top, read downwards; output symbols down the side; a fuller block is a larger weight.

    In colour the weight is a grey from black (nothing) to white (all), as in Bahdanau et al. 2015.
    """
    if prediction.alignment is None:
        raise DataError("This prediction has no alignment: its model has no attention, or none was asked for.")
    symbols = (*prediction.tokens, "END")[: len(prediction.alignment)]  # an unfinished answer has no END
    labels = [shortened(visible(symbol)) for symbol in symbols]
    margin = max(map(cell_len, labels), default=0) + 1
    lines = [Text(" " * margin + line) for line in header(prediction.source_tokens)]
    for label, weights in zip(labels, prediction.alignment, strict=True):
        lines.append(Text(" " * (margin - 1 - cell_len(label)) + label + " ").append(row(weights, colour)))
    if not colour:
        lines += [Text(), Text(" " * margin + legend())]
        return "\n".join(line.plain.rstrip() for line in lines)
    return coloured(lines)


def header(tokens: tuple[str, ...]) -> list[str]:
    """Each token downwards in a column of its own, all of them ending on the last line."""
    columns = [characters(visible(token)) for token in tokens]
    columns = [column if len(column) <= TALLEST_SOURCE else [*column[: TALLEST_SOURCE - 1], "…"] for column in columns]
    height = max(map(len, columns), default=0)
    columns = [[""] * (height - len(column)) + column for column in columns]
    return ["".join(padded(column[line]) for column in columns) for line in range(height)]


def row(weights: tuple[float, ...], colour: bool) -> Text:
    if not colour:
        return Text("".join(block(weight) for weight in weights))
    return Text().join(Text(" " * CELL, style=f"on {grey(weight)}") for weight in weights)


def block(weight: float) -> str:
    return next((shade * CELL for least, shade in SHADES if weight >= least), padded(NOTHING))


def grey(weight: float) -> str:
    level = round(255 * min(max(weight, 0.0), 1.0))
    return f"rgb({level},{level},{level})"


def legend() -> str:
    return "  ".join(f"{shade} {least:.0%}" for least, shade in reversed(SHADES)) + " or more"


def visible(token: str) -> str:
    """Spaces as ␣, and nothing that could move the cursor or ring the bell."""
    return "".join("␣" if symbol.isspace() else symbol if symbol.isprintable() else "�" for symbol in token) or "∅"


def characters(token: str) -> list[str]:
    """What takes up a place on the screen, with the marks that combine with it."""
    pieces: list[str] = []
    for symbol in token:
        if pieces and cell_len(symbol) == 0:
            pieces[-1] += symbol
        else:
            pieces.append(symbol)
    return pieces


def shortened(label: str) -> str:
    pieces = characters(label)
    while cell_len("".join(pieces)) > WIDEST_OUTPUT:
        pieces = [*pieces[:-2], "…"]
    return "".join(pieces)


def padded(text: str) -> str:
    return text + " " * (CELL - cell_len(text))


def coloured(lines: list[Text]) -> str:
    drawing = StringIO()
    console = Console(file=drawing, force_terminal=True, color_system="truecolor", legacy_windows=False)
    console.print(Text("\n").join(lines), soft_wrap=True, end="")
    return drawing.getvalue()
