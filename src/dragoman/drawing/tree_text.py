"""The search of a text in a terminal: a trunk downwards, side branches beside it, chains without a fork on one line."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from rich.cells import cell_len

from dragoman.drawing.labels import right_to_left, shortened, visible, words
from dragoman.drawing.terminal import LEFT_TO_RIGHT, Colours, left_to_right
from dragoman.drawing.tree import ROOT, Branch, Tree

WIDEST_SYMBOL = 24  # cells
NAMED = 3  # dropped ones that are named behind a chain
NARROWEST = 24  # cells that are left for symbols, however deep the tree
BEST, OTHER, ENDED, DROPPED = "●", "○", "■", "✕"
Style = Literal["", "best", "dim"]
CODES: dict[Colours, dict[Style, str]] = {
    "true": {"best": "1;38;2;12;146;154", "dim": "2"},
    "256": {"best": "1;38;5;36", "dim": "2"},
    "plain": {},
}
LEGEND = (
    f"{BEST} path of the best answer",
    f"{OTHER} other hypotheses",
    f"{ENDED} ended",
    "#1 answered",
    f"{DROPPED} dropped, x for y: in its place",
    "before a line its step",
    "behind a symbol its log-probability",
)


class Piece(NamedTuple):
    """Words that stay together on a line."""

    text: str
    style: Style = ""


class Entry(NamedTuple):
    """A chain of symbols, and what stands before it: on its first line and on those that it is folded to."""

    step: str
    first: str
    further: str
    pieces: list[Piece]


def tree_text(tree: Tree, colours: Colours = "plain", width: int | None = None) -> str:
    """Symbols with their log-probabilities, total and score of the hypothesis, then what was dropped on the way.

    After the side branches of a fork its trunk goes on in the same column: the path of the best answer is the first.
    """
    margin = len(str(max(tree.steps, default=0))) + 1
    lines = [line for entry in entries(tree) for line in folded(entry, margin, colours, width)]
    told = Entry("", "", "", [Piece(said + " ·" * (said is not LEGEND[-1]), "dim") for said in LEGEND])
    return "\n".join([*lines, "", *folded(told, margin, colours, width)])


def entries(tree: Tree) -> Iterator[Entry]:
    """The beginning, and all that grew from it."""
    start = Piece(marked(words(tree.prefix)) if tree.prefix else "START", "best" if tree.best else "")
    yield Entry("", f"{BEST if tree.best else OTHER} ", "│   ", [start, *lost(tree, [ROOT])])
    yield from grown(tree, ROOT, "")


def grown(tree: Tree, number: int, lead: str) -> Iterator[Entry]:
    """What follows a hypothesis: its side branches, then its trunk."""
    while followed := tree.followed(number):
        for side in followed[1:]:
            chain = chain_of(tree, side)
            yield entry(tree, chain, lead + "├─", lead + "│ ")
            yield from grown(tree, chain[-1].number, lead + "│ ")
        chain = chain_of(tree, followed[0])
        yield entry(tree, chain, lead, lead)
        number = chain[-1].number


def chain_of(tree: Tree, first: Branch) -> list[Branch]:
    """As far as nothing forks."""
    chain = [first]
    while len(followed := tree.followed(chain[-1].number)) == 1:
        chain += followed
    return chain


def entry(tree: Tree, chain: list[Branch], first: str, further: str) -> Entry:
    last = chain[-1]
    best: Style = "best" if last.number in tree.best else ""
    trunk = "│   " if tree.followed(last.number) else "    "
    symbols = [Piece(f"{named(one.symbol)} {one.log_probability:.2f}", best) for one in chain]
    pieces = [*symbols, *(Piece(said, best) for said in values(last)), *lost(tree, [one.number for one in chain])]
    return Entry(str(chain[0].step), f"{first}{BEST if best else OTHER} ", further + trunk, pieces)


def values(last: Branch) -> Iterator[str]:
    """Of the whole hypothesis."""
    yield f"{ENDED * (last.fate == 'ended')} total {last.total:.2f}".strip()
    yield f"score {last.score:.3f}"
    if last.rank:
        yield f"#{last.rank}" + " unfinished" * (last.fate != "ended")
    elif last.live:
        yield "live to the end"


def lost(tree: Tree, numbers: Sequence[int]) -> Iterator[Piece]:
    """The most probable of what was dropped on the way along a chain, and how many more there were."""
    following = dict(pairwise(numbers))
    dropped = [one for number in numbers for one in tree.dropped(number)]
    dropped.sort(key=lambda one: -one.log_probability)
    for place, one in enumerate(dropped[:NAMED]):
        mark = "" if place else f"{DROPPED} "
        instead = f" for {named(tree.by_number[following[one.parent]].symbol)}" if one.parent in following else ""
        comma = "," * (one is not dropped[:NAMED][-1])
        yield Piece(f"{mark}{named(one.symbol)}{instead} {one.log_probability:.2f}{comma}", "dim")
    if len(dropped) > NAMED:
        yield Piece(f"+{len(dropped) - NAMED:,} more", "dim")


def named(symbol: str) -> str:
    return marked(shortened(visible(symbol), WIDEST_SYMBOL))


def marked(name: str) -> str:
    """Behind a name that is written from right to left the line goes on from left to right."""
    return name + LEFT_TO_RIGHT if right_to_left(name) else name


def folded(entry: Entry, margin: int, colours: Colours, width: int | None) -> Iterator[str]:
    """Within the width of a terminal; whole where there is none."""
    before = f"{entry.step:>{margin - 1}} {entry.first}"
    room = None if width is None else max(width - len(before), NARROWEST)
    line: list[Piece] = []
    used = 0
    for piece in entry.pieces:
        cells = cell_len(piece.text.replace(LEFT_TO_RIGHT, ""))
        if room is not None and line and used + cells > room:
            yield painted(before, line, colours)
            before, line, used = " " * margin + entry.further, [], 0
            room = max((width or 0) - len(before), NARROWEST)
        line.append(piece)
        used += cells + 1
    yield painted(before, line, colours)


def painted(before: str, line: list[Piece], colours: Colours) -> str:
    codes = CODES[colours]
    said = (f"\x1b[{codes[style]}m{text}\x1b[0m" if style in codes else text for text, style in line)
    return left_to_right((before + " ".join(said)).rstrip())
