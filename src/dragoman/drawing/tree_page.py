"""The search of a text on a page: the tree, the answers, what lived at every step, and where the best one looked."""

from collections.abc import Iterator
from html import escape

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.labels import visible
from dragoman.drawing.page import bidirectional
from dragoman.drawing.svg import svg
from dragoman.drawing.tree import KEPT, Branch, Tree, sentence
from dragoman.drawing.tree_svg import tree_svg

LAST = 4  # symbols of a hypothesis in a cell
WHOLE = 60  # and under the pointer
STYLE = (
    ".scroll{overflow-x:auto;margin:.5rem 0 1rem}table{border-collapse:collapse;font-size:.85rem}"
    "th,td{text-align:left;vertical-align:top;padding:.15rem .7rem .15rem 0;white-space:nowrap}"
    "th{font-weight:600;border-bottom:1px solid color-mix(in srgb,currentColor 30%,transparent)}"
    "td.text{white-space:normal;min-width:20em}td.number{font-variant-numeric:tabular-nums}"
    "td.best{font-weight:600;color:#05708c}td small{opacity:.7;font-variant-numeric:tabular-nums}"
    "@supports (color:light-dark(#000,#fff)){td.best{color:light-dark(#05708c,#02b7a0)}}"
    "summary{cursor:pointer;font-weight:600}details{margin:.5rem 0}"
)
KEY = (
    "A column is a step; a thicker line is a more probable symbol. The strong line on top leads to the best answer. "
    "Faint: dropped. A square: ended, with its place among the answers, total / score. Below a step: how many more "
    "there were that are not drawn. The pointer shows all numbers of a hypothesis, and what else there was."
)
LOOKED = " In italics, above the best answer: the source tokens that it looked at most."


def tree_figure(tree: Tree, note: str = "", alignment: Alignment | None = None) -> str:
    """The search below its caption, `source → answer`; what is wide scrolls in a box of its own."""
    said = f"{bidirectional(tree.source)} → {bidirectional(tree.answers[0].text if tree.answers else '')}"
    caption = f"<figcaption>{said}{f' <small>({escape(note)})</small>' if note else ''}</figcaption>"
    begun = f" Every answer begins with “{bidirectional(tree.prefix)}”." if tree.prefix else ""
    parts = [
        f"<figure>{caption}<div><small>{escape(sentence(tree))}{begun}</small></div>",
        f'<div class="scroll">{tree_svg(tree)}</div><div><small>{escape(KEY + LOOKED * looks(tree))}</small></div>',
        folder("Answers", answers_table(tree)),
        folder("Live hypotheses after every step", steps_table(tree)),
        folder("Where the best answer looked", svg(alignment)) if alignment is not None else "",
        "</figure>",
    ]
    return "\n".join(part for part in parts if part)


def folder(name: str, content: str) -> str:
    return f'<details open><summary>{escape(name)}</summary><div class="scroll">{content}</div></details>'


def table(heads: list[str], rows: Iterator[str]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def answers_table(tree: Tree) -> str:
    rows = (
        f'<tr><td>{rank}</td><td class="number">{one.score:.4f}</td><td class="number">{one.total:.4f}</td>'
        f"<td>{tree.by_number[one.number].step}{'' if one.finished else ', unfinished'}</td>"
        f'<td class="text">{bidirectional(one.text)}</td></tr>'
        for rank, one in enumerate(tree.answers, start=1)
    )
    return table(["", "score", "total", "symbols", "answer"], rows)


def steps_table(tree: Tree) -> str:
    """A row a step: where the best answer looked, what was alive, best first, and what ended."""
    looked_at = looks(tree)
    live = [sorted((one for one in of if one.fate == "kept"), key=lambda one: -one.total) for of in tree.steps.values()]
    shown = min(max(map(len, live), default=0), KEPT)
    heads = ["step", *(["looked at"] if looked_at else []), *map(str, range(1, shown + 1)), "ended"]

    def rows() -> Iterator[str]:
        for (step, branches), alive in zip(tree.steps.items(), live, strict=True):
            seen = next((one.looked for one in branches if one.number in tree.best), "")
            looked = f"<td>{bidirectional(visible(seen)) if seen else ''}</td>" if looked_at else ""
            cells = [cell(tree, one) for one in alive[:shown]] + ["<td></td>"] * (shown - len(alive))
            yield f"<tr><td>{step}</td>{looked}{''.join(cells)}<td>{ended(tree, branches)}</td></tr>"

    more = max((len(alive) for alive in live), default=0) - shown
    note = f"<p><small>Of each step the best {shown}; up to {more:,} more lived.</small></p>" if more else ""
    return table(heads, rows()) + note


def looks(tree: Tree) -> bool:
    return any(branch.looked for branch in tree.branches)


def cell(tree: Tree, one: Branch) -> str:
    """The last symbols of a hypothesis, its total and its score."""
    whole = tree.path(one.number, WHOLE)
    last = ("… " if len(whole) > LAST else "") + " ".join(visible(part.symbol) for part in whole[-LAST:])
    told = escape(" ".join(visible(part.symbol) for part in whole))
    best = ' class="best"' if one.number in tree.best else ""
    numbers = f"<small>{one.total:.2f} / {one.score:.3f}</small>"
    return f'<td{best} title="{told}">{bidirectional(last)}<br>{numbers}</td>'


def ended(tree: Tree, branches: list[Branch]) -> str:
    """Those that ended at a step, the best few of them."""
    over = sorted((one for one in branches if one.fate == "ended"), key=lambda one: -one.score)
    shown = [
        f"{f'#{one.rank} ' if one.rank else ''}<small>{one.total:.2f} / {one.score:.3f}</small>"
        for one in over
        if one.number in tree.drawn
    ]
    return "<br>".join([*shown, *([f"<small>+{len(over) - len(shown)}</small>"] if len(over) > len(shown) else [])])
