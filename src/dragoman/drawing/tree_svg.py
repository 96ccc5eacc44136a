"""The search of a text as SVG, from left to right: a column a step, lines that never cross, the best answer on top."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import accumulate

from rich.cells import cell_len

from dragoman.drawing.labels import shortened, visible, words
from dragoman.drawing.svg import FONT, LETTER, text_width
from dragoman.drawing.tree import ROOT, Branch, Tree, counted

ROW = 24  # pixels, as all sizes here
TOP = 50  # above the first row: steps, and what the best answer looked at
GAP = 44  # between the labels of a column and the dots of the next
DOT = 4
BEFORE_LABEL = 9
SMALL = 6.2  # a letter of numbers
EDGE = 12  # of the whole picture
LONGEST_SYMBOL = 18  # cells
LONGEST_PREFIX = 30
ALTERNATIVES = 8  # that are told under the pointer


@dataclass(frozen=True)
class Layout:
    """Which branches stand where."""

    columns: list[list[Branch]]  # the first step first, from top to bottom
    rows: dict[int, int]  # of branches and of the beginning
    left: list[float]  # of the columns, the beginning's first
    height: int  # in rows

    def x(self, column: int) -> float:
        return self.left[column]

    def y(self, number: int) -> float:
        return TOP + ROW * (self.rows[number] + 0.5)


def tree_svg(tree: Tree) -> str:
    """One <svg> element in the colours of the page around it; the pointer shows the numbers of each hypothesis."""
    layout = layout_of(tree)
    width, height = layout.left[-1] + EDGE, TOP + ROW * (layout.height + 1) + EDGE
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    name = f"Search in {counted(len(tree.steps), 'step')}, {counted(len(tree.branches), 'continuation')}"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="search-tree" role="img" aria-label="{name}" {size}>',
            f"<style>{STYLE}</style>",
            *headers(tree, layout),
            *edges(tree, layout),
            *nodes(tree, layout),
            *feet(tree, layout),
            "</svg>",
        ]
    )


def layout_of(tree: Tree) -> Layout:
    """Every column in the order of its parents, so that lines between two columns cannot cross."""
    columns: list[list[Branch]] = []
    above = [ROOT]
    for _ in tree.steps:
        column = [one for number in above for one in tree.children.get(number, ()) if one.number in tree.drawn]
        columns.append(column)
        above = [one.number for one in column]
    height = max([1, *map(len, columns)])
    rows = {ROOT: 0}
    for column in columns:
        free = 0
        for place, one in enumerate(column):  # at its parent's height, if those above and below leave room
            rows[one.number] = min(max(rows[one.parent], free), height - len(column) + place)
            free = rows[one.number] + 1
    widths = [label_width(start_label(tree), "")]
    widths += [column_width(column) for column in columns]
    left = list(accumulate((BEFORE_LABEL + width + GAP for width in widths), initial=float(EDGE + DOT)))
    return Layout(columns, rows, left, height)


def column_width(column: list[Branch]) -> float:
    looked = text_width([shortened(visible(one.looked), LONGEST_SYMBOL) for one in column if one.looked])
    return max([looked, 2 * LETTER, *(label_width(label_of(one), numbers_of(one)) for one in column)])


def label_width(label: str, numbers: str) -> float:
    return LETTER * cell_len(label) + SMALL * cell_len(numbers)


def start_label(tree: Tree) -> str:
    return shortened(words(tree.prefix), LONGEST_PREFIX) if tree.prefix else "START"


def label_of(one: Branch) -> str:
    return shortened(visible(one.symbol), LONGEST_SYMBOL)


def numbers_of(one: Branch) -> str:
    """What stands behind the symbol of a hypothesis that ended or is answered: rank, total and score."""
    if one.fate != "ended" and not one.rank:
        return ""
    rank = f" #{one.rank}" if one.rank else ""
    return f"{rank} {one.total:.2f} / {one.score:.3f}"


def headers(tree: Tree, layout: Layout) -> Iterator[str]:
    """The number of each step and, above the path of the best answer, the source tokens that it looked at most."""
    for number, (step, column) in enumerate(zip(tree.steps, layout.columns, strict=True), start=1):
        x = layout.x(number)
        yield f'<text class="step" x="{x - DOT:g}" y="16">{step}</text>'
        for one in column:
            if one.looked and one.number in tree.best:
                label = escape(shortened(visible(one.looked), LONGEST_SYMBOL))
                told = escape(f"{visible(one.symbol)} looked most at {visible(one.looked)}")
                yield f'<text class="looked" x="{x - DOT:g}" y="34">{label}<title>{told}</title></text>'


def edges(tree: Tree, layout: Layout) -> Iterator[str]:
    """Thicker where the symbol was more probable; a parent's line leaves behind its label, at the column's end."""
    for number, column in enumerate(layout.columns, start=1):
        for one in reversed(column):  # the best answer's last, so that it lies on top
            parent = tree.by_number.get(one.parent)
            label = label_width(start_label(tree), "") if parent is None else label_width(label_of(parent), "")
            out, y = layout.x(number - 1) + BEFORE_LABEL + label + 2 * DOT, layout.y(one.parent)
            bend, end, to = layout.x(number) - GAP + 2 * DOT, layout.x(number) - DOT, layout.y(one.number)
            middle = (bend + end) / 2
            path = f"M{out:g} {y:g}H{bend:g}C{middle:g} {y:g} {middle:g} {to:g} {end:g} {to:g}"
            thick = 0.8 + 2.6 * math.exp(min(one.log_probability, 0.0))
            yield f'<path class="{kind_of(tree, one)}" d="{path}" stroke-width="{thick:.2g}"/>'


def nodes(tree: Tree, layout: Layout) -> Iterator[str]:
    y = layout.y(ROOT)
    best = " best" if tree.best else ""
    start = f"{words(tree.prefix)}: the prefix" if tree.prefix else "The beginning"
    yield f'<g class="kept{best}"><title>{escape(start)}</title>{drawn(layout.x(0), y, start_label(tree), "")}</g>'
    for number, column in enumerate(layout.columns, start=1):
        for one in column:
            told = "\n".join(facts(tree, one))
            shape = drawn(layout.x(number), layout.y(one.number), label_of(one), numbers_of(one), one.fate == "ended")
            yield f'<g class="{kind_of(tree, one)}"><title>{escape(told)}</title>{shape}</g>'


def drawn(x: float, y: float, label: str, numbers: str, square: bool = False) -> str:
    """A dot, or a square where a hypothesis ended, and what it is called."""
    dot = f'<circle cx="{x:g}" cy="{y:g}" r="{DOT}"/>'
    if square:
        dot = f'<rect x="{x - DOT:g}" y="{y - DOT:g}" width="{2 * DOT}" height="{2 * DOT}"/>'
    behind = f'<tspan class="numbers">{escape(numbers)}</tspan>' if numbers else ""
    return f'{dot}<text x="{x + BEFORE_LABEL:g}" y="{y + 4:g}">{escape(label)}{behind}</text>'


def kind_of(tree: Tree, one: Branch) -> str:
    best = " best" if one.number in tree.best else ""
    return one.fate + best + (" answered" if one.rank else "")


def facts(tree: Tree, one: Branch) -> Iterator[str]:
    """What the pointer shows."""
    yield f"{visible(one.symbol)} · step {one.step}"
    yield f"log-probability {one.log_probability:.4f} ({math.exp(min(one.log_probability, 0.0)):.1%})"
    yield f"total {one.total:.4f} · score {one.score:.4f}"
    fate = "kept, and live to the end" if one.live else one.fate
    yield f"{fate}, answer {one.rank}" if one.rank else fate
    if one.looked:
        yield f"looked most at {visible(one.looked)}"
    others = [other for other in tree.children[one.parent] if other.number != one.number]
    if others:
        others.sort(key=lambda other: -other.log_probability)
        yield "instead:"
        yield from (
            f"  {visible(other.symbol)} {other.log_probability:.4f} {other.fate}" for other in others[:ALTERNATIVES]
        )
    if len(others) > ALTERNATIVES:
        yield f"  and {len(others) - ALTERNATIVES:,} more"


def feet(tree: Tree, layout: Layout) -> Iterator[str]:
    """How many of each step are not drawn."""
    y = TOP + ROW * (layout.height + 0.5) + 4
    for number, branches in enumerate(tree.steps.values(), start=1):
        missing = Counter(one.fate for one in branches if one.number not in tree.drawn)
        if missing:
            told = "not drawn: " + ", ".join(f"{count:,} {fate}" for fate, count in missing.items())
            x = layout.x(number) - DOT
            yield f'<text class="step" x="{x:g}" y="{y:g}">+{missing.total():,}<title>{told}</title></text>'


STYLE = (
    f".search-tree text{{fill:currentColor;font:{FONT}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',"
    "'Liberation Mono',monospace;white-space:pre}"
    ".search-tree .numbers,.search-tree .step,.search-tree .looked{font-size:10px}"
    ".search-tree .step{opacity:.6}.search-tree .looked{font-style:italic}"
    ".search-tree path{fill:none;stroke:currentColor;opacity:.55}"
    ".search-tree circle,.search-tree rect{fill:currentColor}"
    ".search-tree g.dropped,.search-tree path.dropped{opacity:.38}"
    ".search-tree path.dropped{opacity:.22}.search-tree g:hover{opacity:1}.search-tree g:hover text{font-weight:700}"
    ".search-tree .best{--strong:#05708c;color:var(--strong);opacity:1}.search-tree g.best text{font-weight:700}"
    ".search-tree path.best{stroke-width:3.5}"
    "@supports (color:light-dark(#000,#fff)){.search-tree .best{--strong:light-dark(#05708c,#02b7a0)}}"
)
