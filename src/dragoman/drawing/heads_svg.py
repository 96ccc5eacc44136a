"""A map so small that all heads of a layer stand side by side."""

from collections.abc import Iterator
from itertools import groupby

from dragoman.drawing.alignment import Weights
from dragoman.drawing.palette import level_of
from dragoman.drawing.svg import light_and_dark

SIDE = 112  # pixels of the longer side
LARGEST_CELL = 9


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
