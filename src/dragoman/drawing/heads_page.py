"""All heads of a text on a page: a grid of small maps, one of them large with its words, and what each head does."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path

from dragoman.drawing.alignment import Weights
from dragoman.drawing.doings import doings, explained, headings, written
from dragoman.drawing.heads import Heads, Kind, Map
from dragoman.drawing.heads_grid import grid, grid_style, small_map
from dragoman.drawing.labels import visible
from dragoman.drawing.page import bidirectional, page
from dragoman.drawing.palette import LEVELS
from dragoman.drawing.svg import svg

SCRIPT = Path(__file__).with_name("heads.js")
STYLE = Path(__file__).with_name("heads.css")
HOW = (
    "A small map is a head: a row looks, a column is looked at, and colour is weight. Layers stand below one another, "
    "heads side by side."
)
NO_SCRIPT = (
    "With scripts a click shows a head large, with its words; without them `dragoman look RUN TEXT --layer 2 --head 3` "
    "draws it."
)
FRAME = 900  # pixels of the page in a notebook


def heads_page(found: Iterable[Heads]) -> str:
    """A document that needs nothing else; browsers run this one script of ours, which they know by its hash."""
    figures = (heads_figure(heads) for heads in found)
    return page(figures, "Where the heads looked", style(), SCRIPT.read_text("utf-8"))


def frame(heads: Heads) -> str:
    """The page inside another one, which its script and style cannot reach."""
    inside = escape(heads_page([heads]))
    look = f"width:100%;height:{FRAME}px;border:0"
    return f'<iframe sandbox="allow-scripts" title="Where the heads looked" style="{look}" srcdoc="{inside}"></iframe>'


def heads_figure(heads: Heads) -> str:
    """One text: what is drawn large, the grids, and the numbers."""
    said = " → ".join(bidirectional(part) for part in (heads.source, heads.answer) if part)
    caption = said + (f" <small>({heads.note})</small>" if heads.note else "")
    parts = [
        f'<figure class="heads-view"><figcaption>{caption}</figcaption>',
        f'<script type="application/json">{data(heads)}</script>',
        f'<div class="large"></div><div class="still">{still(heads)}</div>',
        f"<p><small>{escape(HOW)} {legend()} <noscript>{escape(NO_SCRIPT)}</noscript></small></p>",
        f'<div class="blocks">{"".join(block(heads, kind) for kind in heads.weights)}</div>',
        f"<p><small>{escape(explained(heads))}</small></p></figure>",
    ]
    return "\n".join(parts)


def still(heads: Heads) -> str:
    """What is large where no script runs: the mean of all heads."""
    whole = heads.map(next(iter(heads.weights)))
    return f'<div class="scroll">{svg(whole.alignment(), whole.name)}</div>'


def block(heads: Heads, kind: Kind) -> str:
    """The heads of one kind: small maps, and below them their numbers."""
    title = f"<h2>{kind}: {escape(heads.about(kind))}</h2>"
    folded = f"<details><summary>In numbers</summary>{numbers(heads, kind)}</details>"
    return f'<section class="block">{title}{grid(heads, kind, button)}{folded}</section>'


def legend() -> str:
    """All colours in a row, from no weight to all of it."""
    boxes = (f'<span style="background:var(--alignment-{level})"></span>' for level in range(LEVELS))
    return f'<span class="ramp">0% {"".join(boxes)} 100%</span>'


def button(one: Map) -> str:
    known = f'data-kind="{one.kind}" data-layer="{one.layer}" data-head="{one.head}"'
    name = f'title="{one.name}" aria-label="{one.name}"'
    return f'<button type="button" {known} {name}>{small_map(one.weights)}</button>'


def numbers(heads: Heads, kind: Kind) -> str:
    """What each head does, a line a head."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    def lines() -> Iterator[str]:
        for one, found in doings(heads, kind):
            yield line("td", (str(one.layer), str(one.head), *written(found, kind, one.columns), found.mostly()))

    head = line("th", ("layer", "head", *headings(kind, heads.columns(kind)), "mostly"))
    table = f'<table class="numbers"><thead>{head}</thead><tbody>{"".join(lines())}</tbody></table>'
    return f'<div class="scroll">{table}</div>'


def data(heads: Heads) -> str:
    """What the script draws; weights in whole thousandths. No token can end the element that it stands in."""
    found = [
        {
            "kind": kind,
            "title": heads.about(kind),
            "rows": list(map(visible, heads.rows(kind))),
            "columns": list(map(visible, heads.columns(kind))),
            "layers": [[thousandths(weights) for weights in layer] for layer in layers],
        }
        for kind, layers in heads.weights.items()
    ]
    said = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    return said.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def thousandths(weights: Weights) -> list[int]:
    return [round(1000 * weight) for row in weights for weight in row]


@cache
def style() -> str:
    return grid_style() + STYLE.read_text("utf-8")
