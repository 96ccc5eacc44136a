"""Tokens as labels: what cannot be seen is made visible, and what belongs together stays together."""

import unicodedata
from collections.abc import Sequence

from rich.cells import cell_len

JOINERS = "\u200c\u200d"  # shape their neighbours and have no width of their own
MARKS = 6  # combining marks that one letter may carry in a drawing


def visible(token: str) -> str:
    """Spaces as ␣, a mark without a letter on ◌, and nothing that could move a cursor, ring a bell or turn the text."""
    if not token.strip(JOINERS):
        return "�" if token else "∅"
    shown = "".join("␣" if symbol.isspace() else symbol if seen(symbol) else "�" for symbol in token)
    return "◌" + shown if unicodedata.category(shown[0]).startswith("M") else shown


def words(text: str) -> str:
    """A text of several words: what cannot be seen is made visible, spaces stay what they are."""
    return " ".join(map(visible, text.split()))


def seen(symbol: str) -> bool:
    return symbol.isprintable() or symbol in JOINERS


def characters(label: str) -> list[str]:
    """What takes up a place on the screen, with the marks that combine with it; no joiners, which confuse terminals."""
    pieces: list[str] = []
    for symbol in label:
        if symbol in JOINERS:
            continue
        if pieces and cell_len(symbol) == 0:
            pieces[-1] += symbol if len(pieces[-1]) <= MARKS else ""
        else:
            pieces.append(symbol)
    return pieces


def shortened(label: str, cells: int) -> str:
    """At most so many cells wide, the last of them … when something is missing."""
    pieces, widths = characters(label), 0
    for number, piece in enumerate(pieces):
        widths += cell_len(piece)
        if widths > cells:
            while pieces[:number] and cell_len("".join(pieces[:number])) > cells - 1:
                number -= 1
            return "".join(pieces[:number]) + "…"
    return "".join(pieces)


def choices(tokens: Sequence[str], chosen: Sequence[int], cells: int) -> list[str]:
    """The token that each row chose, as it stands behind that row."""
    return [f"← {shortened(visible(tokens[place]), cells)}" for place in chosen]


def right_to_left(text: str) -> bool:
    return any(unicodedata.bidirectional(symbol) in ("R", "AL", "AN") for symbol in text)
