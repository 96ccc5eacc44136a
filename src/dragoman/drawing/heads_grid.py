"""Maps so small that all heads of a kind stand side by side: a row a layer, a column a head."""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby

from dragoman.drawing.alignment import Weights
from dragoman.drawing.heads import Heads, Kind, Map
from dragoman.drawing.palette import LEVELS, level_of
from dragoman.drawing.svg import light_and_dark

SIDE = 112  # pixels of the longer side
LARGEST_CELL = 9
STYLE = (
    ".head-grid{overflow-x:auto}.head-grid table{border-collapse:separate;border-spacing:.35rem;width:auto}"
    ".head-grid th{font-weight:400;font-size:.8rem;opacity:.75;text-align:center;white-space:nowrap;padding:0 .2rem;"
    "border:0;vertical-align:middle}"
    ".head-grid td{padding:0;border:0;text-align:center;vertical-align:top}"
    ".small-map{display:block;min-width:0;background:var(--alignment-0)}"
)


def grid(heads: Heads, kind: Kind, drawn: Callable[[Map], str] | None = None) -> str:
    """All heads of a kind; `drawn` puts something around each small map."""
    cell = drawn or named
    most = max(map(len, heads.weights[kind]))
    head = "".join(f'<th scope="col">head {number}</th>' for number in range(1, most + 1))
    rows = []
    for layer, of in enumerate(heads.weights[kind], start=1):
        cells = (f"<td>{cell(heads.map(kind, layer, number))}</td>" for number in range(1, len(of) + 1))
        rows.append(f'<tr><th scope="row">layer {layer}</th>{"".join(cells)}</tr>')
    body = f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<div class="head-grid"><table>{body}</table></div>'


def named(one: Map) -> str:
    return f'<span title="{one.name}">{small_map(one.weights)}</span>'


def small_map(weights: Weights) -> str:
    """One <svg> element without words: a line a run of cells of one colour, which takes a tenth of the bytes of
    rectangles."""
    rows, columns = len(weights), len(weights[0]) if weights else 0
    cell = min(LARGEST_CELL, SIDE / max(rows, columns, 1))
    size = f'width="{cell * columns:.4g}" height="{cell * rows:.4g}" viewBox="0 -.5 {columns} {rows}"'
    paths: dict[int, list[str]] = {}
    for level, run in runs(weights):
        paths.setdefault(level, []).append(run)
    drawn = "".join(f'<path {stroked(level)} d="{"".join(lines)}"/>' for level, lines in sorted(paths.items()))
    return f'<svg class="small-map" aria-hidden="true" {size} shape-rendering="crispEdges">{drawn}</svg>'


def runs(weights: Weights) -> Iterator[tuple[int, str]]:
    """Neighbours of one colour: the level, and a line through the middle of their cells."""
    for number, row in enumerate(weights):
        column = 0
        for level, cells in groupby(map(level_of, row)):
            length = sum(1 for _ in cells)
            if level:
                yield level, f"M{column} {number}h{length}"
            column += length


def stroked(level: int) -> str:
    """A class for browsers, a colour for all other readers."""
    return f'class="s{level}" stroke="{light_and_dark(level)[0]}"'


@cache
def grid_style() -> str:
    """The colours of weights as custom properties, which all parts of a page share."""
    light = "".join(f"--alignment-{level}:{light_and_dark(level)[0]};" for level in range(LEVELS))
    both = "".join(f"--alignment-{level}:light-dark({','.join(light_and_dark(level))});" for level in range(LEVELS))
    strokes = "".join(f".small-map .s{level}{{stroke:var(--alignment-{level})}}" for level in range(LEVELS))
    known = f"@supports (color:light-dark(#000,#fff)){{:root{{{both}}}}}"
    return f":root{{{light}}}{known}{strokes}{STYLE}"
