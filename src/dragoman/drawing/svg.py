"""An alignment as SVG: no script, nothing from a network, at home on light and dark pages."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape

from rich.cells import cell_len

from dragoman.drawing.alignment import Alignment, centre_within
from dragoman.drawing.labels import characters, choices, shortened, visible
from dragoman.drawing.palette import LEVELS, colour_of, level_of, written
from dragoman.drawing.summary import beside

CELL = 20  # pixels, as all sizes here
FONT = 12
LETTER = 7.4  # a letter of the fixed-width font
GAP = 6  # between labels and map
LINE = 18  # of the title
LONGEST_LABEL = 24  # letters; the whole label shows under the pointer
LONGEST_TITLE = 2000
UPRIGHT = 2  # letters of a label that needs no turning
MANY = 30  # rows or columns above which labels stand on both sides
GUIDE = 5  # rows or columns between the thin lines of such a map
LEGEND = LEVELS * 8
VALUE = 60  # a column of numbers
INSET = 1.5  # of the outline of a window
DOT = 3  # the radius of its centre
LEAST = 0.5 / (LEVELS - 1)  # a smaller weight has the colour of none


@dataclass(frozen=True)
class Layout:
    """Where the map stands in the picture."""

    left: float
    top: float
    across: float  # the size of the map
    down: float
    right: float  # what stands behind it
    below: float
    turned: tuple[bool, ...]  # which source tokens are written upwards
    title: tuple[str, ...]
    numbers: list[tuple[str, list[str]]]  # that stand behind the rows
    names: list[str]  # of tokens that were chosen
    key: str  # what outlines and names are

    @property
    def width(self) -> float:
        below = LEGEND + 100.0 + (text_width([self.key]) + 2 * GAP if self.key else 0.0)
        return max(self.left + self.across + self.right, below, text_width(self.title) + 2 * GAP)

    @property
    def height(self) -> float:
        return self.top + self.down + self.below + 2 * GAP + LINE


def svg(alignment: Alignment, title: str = "", values: bool = False, entropies: bool = False) -> str:
    """One <svg> element. Text has the colour of the page (currentColor); each of the 17 colours of weights is a custom
    property, --alignment-0 to --alignment-16, that a page may set, and otherwise follows the page's color-scheme.

    Log-probabilities (`values`) and `entropies` stand behind the rows, as do the names of tokens that were chosen where
    attention is hard. A local window is an outline with a dot at its centre."""
    layout = layout_of(alignment, title, beside(alignment, values, entropies))
    told = title or f"Alignment of {len(alignment.target)} output symbols with {len(alignment.source)} source tokens"
    size = f'width="{layout.width:g}" height="{layout.height:g}" viewBox="0 0 {layout.width:g} {layout.height:g}"'
    name = escape(printable(told))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="alignment-map" role="img" aria-label="{name}" {size}>',
        f"<title>{name}</title><style>{style()}</style>",
        *(text(GAP, LINE * (n + 1) - 4, line, "start") for n, line in enumerate(layout.title)),
        *columns(alignment, layout),
        *rows(alignment, layout),
        *cells(alignment, layout),
        *outlines(alignment, layout),
        *legend(layout),
        "</svg>",
    ]
    return "\n".join(parts)


def layout_of(alignment: Alignment, title: str, numbers: list[tuple[str, list[str]]]) -> Layout:
    source, target = labels_of(alignment.source), labels_of(alignment.target)
    across, down = float(CELL * len(source)), float(CELL * len(target))
    margin = text_width(target) + GAP
    turned = turned_of(source)
    header = text_width([label for label, turn in zip(source, turned, strict=True) if turn]) + LINE - GAP
    left = margin + GAP
    lines = tuple(folded(title, max(60, int((left + across) / LETTER)))) if title else ()
    names = choices(alignment.source, alignment.chosen(), LONGEST_LABEL)
    right = name_width(names) + VALUE * len(numbers) + (margin if len(source) > MANY else 0.0) + GAP
    top = LINE * len(lines) + header + GAP
    key = (
        "outline: window, dot: its centre" if alignment.windows else "←: the one token that was chosen" if names else ""
    )
    below = header if len(target) > MANY else 0.0
    return Layout(left, top, across, down, right, below, turned, lines, numbers, names, key)


def columns(alignment: Alignment, layout: Layout) -> Iterator[str]:
    """Source tokens above the map, turned where they are long, and below it where it is high."""
    for number, (token, label) in enumerate(zip(alignment.source, labels_of(alignment.source), strict=True)):
        x, turn = layout.left + CELL * (number + 0.5) + 4 * layout.turned[number], layout.turned[number]
        whole = visible(token) if label.endswith("…") else ""
        yield text(x, layout.top - GAP, label, "start" if turn else "middle", whole, turn)
        if layout.below:
            y = layout.top + layout.down + (GAP if turn else LINE - 2)
            yield text(x, y, label, "end" if turn else "middle", whole, turn)


def rows(alignment: Alignment, layout: Layout) -> Iterator[str]:
    """Output symbols before the map, and behind it where it is wide; what they chose and their numbers behind it."""
    end = layout.left + layout.across
    first, chosen = end + name_width(layout.names), alignment.chosen()
    for number, (token, label) in enumerate(zip(alignment.target, labels_of(alignment.target), strict=True)):
        y = layout.top + CELL * (number + 0.5) + 4
        whole = visible(token) if label.endswith("…") else ""
        yield text(layout.left - GAP, y, label, "end", whole)
        if layout.names:
            yield text(end + GAP, y, layout.names[number], "start", visible(alignment.source[chosen[number]]))
        for place, (name, numbers) in enumerate(layout.numbers, start=1):
            yield text(first + VALUE * place - GAP, y, numbers[number], "end", name)
        if len(alignment.source) > MANY:
            yield text(first + VALUE * len(layout.numbers) + GAP, y, label, "start", whole)


def cells(alignment: Alignment, layout: Layout) -> Iterator[str]:
    """The map, a group a colour; weights that cannot be told from nothing are left to the ground."""
    place = f'x="{layout.left:g}" y="{layout.top:g}" width="{layout.across:g}" height="{layout.down:g}"'
    yield f"<rect {place} {painted(0)}/>"
    if len(alignment.source) > MANY or len(alignment.target) > MANY:
        yield guides(layout)
    groups: dict[int, list[str]] = {}
    for row, (symbol, weights) in enumerate(zip(alignment.target, alignment.weights, strict=True)):
        for column, (token, weight) in enumerate(zip(alignment.source, weights, strict=True)):
            if weight >= LEAST:
                at = f'x="{layout.left + CELL * column:g}" y="{layout.top + CELL * row:g}"'
                told = escape(f"{visible(token)} → {visible(symbol)}: {weight:.1%}")
                box = f'<rect {at} width="{CELL}" height="{CELL}"><title>{told}</title></rect>'
                groups.setdefault(level_of(weight), []).append(box)
    for level, boxes in sorted(groups.items()):
        yield f"<g {painted(level)}>{''.join(boxes)}</g>"


def outlines(alignment: Alignment, layout: Layout) -> Iterator[str]:
    """Local windows. A line in the colour of text is not seen on every weight, so one in that of none lies below it."""
    for number, (symbol, (first, centre, last)) in enumerate(zip(alignment.target, alignment.windows, strict=False)):
        if first > last:
            continue
        x, y = layout.left + CELL * first + INSET, layout.top + CELL * number + INSET
        size = f'width="{CELL * (last - first + 1) - 2 * INSET:g}" height="{CELL - 2 * INSET:g}" rx="3"'
        tokens = (visible(alignment.source[place]) for place in (first, last))
        told = escape(f"{visible(symbol)}: window from {' to '.join(tokens)}, centre at position {centre:.2f}")
        box = f'<rect x="{x:g}" y="{y:g}" {size} fill="none"'
        yield f'{box} class="halo" stroke="{light_and_dark(0)[0]}" stroke-width="3.5"/>'
        yield f'{box} stroke="currentColor" stroke-width="1.3"><title>{told}</title></rect>'
        x = layout.left + CELL * (centre_within((first, centre, last)) + 0.5)
        at = f'cx="{x:g}" cy="{layout.top + CELL * (number + 0.5):g}" r="{DOT}"'
        halo = f'class="halo" stroke="{light_and_dark(0)[0]}" stroke-width="1.5"'
        yield f'<circle {at} fill="currentColor" {halo}><title>{told}</title></circle>'


def guides(layout: Layout) -> str:
    """Thin lines that lead the eye from a label into a large map."""
    step = GUIDE * CELL
    down = (f"M{layout.left + x:g} {layout.top:g}v{layout.down:g}" for x in range(step, int(layout.across), step))
    across = (f"M{layout.left:g} {layout.top + y:g}h{layout.across:g}" for y in range(step, int(layout.down), step))
    return f'<path d="{"".join(down)}{"".join(across)}" stroke="currentColor" stroke-opacity="0.2"/>'


def legend(layout: Layout) -> Iterator[str]:
    """All colours in a row, from no weight to all of it."""
    x = GAP + GAP + text_width(["0%"]) if layout.key else min(layout.left, layout.width - LEGEND - 50)
    y = layout.top + layout.down + layout.below + 2 * GAP
    yield text(x - GAP, y + 10, "0%", "end")
    for level in range(LEVELS):
        yield f'<rect x="{x + 8 * level:g}" y="{y:g}" width="8" height="12" {painted(level)}/>'
    yield text(x + LEGEND + GAP, y + 10, "100%", "start")
    if layout.key:
        yield text(x + LEGEND + 3 * GAP + text_width(["100%"]), y + 10, layout.key, "start")


def text(x: float | int, y: float | int, label: str, anchor: str, whole: str = "", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:g} {y:g})"' if turned else ""
    told = f"<title>{escape(whole)}</title>" if whole else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{turn}>{escape(label)}{told}</text>'


def painted(level: int) -> str:
    """A class for browsers, a colour for all other readers of SVG."""
    return f'class="w{level}" fill="{light_and_dark(level)[0]}"'


def light_and_dark(level: int) -> tuple[str, str]:
    light, dark = (written(colour_of(level / (LEVELS - 1), dark)) for dark in (False, True))
    return light, dark


@cache
def style() -> str:
    """Alone in a file the picture has the page colours of the system; inside a page it takes what is there."""
    levels = (
        f".alignment-map .w{level}{{fill:var(--alignment-{level},light-dark({','.join(light_and_dark(level))}))}}"
        for level in range(LEVELS)
    )
    halo = f".alignment-map .halo{{stroke:var(--alignment-0,light-dark({','.join(light_and_dark(0))}))}}"
    return (
        "svg.alignment-map:root{color-scheme:light dark;background:Canvas;color:CanvasText}"
        f".alignment-map text{{fill:currentColor;font:{FONT}px ui-monospace,Menlo,Consolas,"
        "'DejaVu Sans Mono','Liberation Mono',monospace}"
        f"@supports (color:light-dark(#000,#fff)){{{''.join(levels)}{halo}}}"
    )


def labels_of(tokens: tuple[str, ...]) -> list[str]:
    """Whole where they fit, with the joiners that shape their letters."""
    whole = [visible(token) for token in tokens]
    return [label if cell_len(label) <= LONGEST_LABEL else shortened(label, LONGEST_LABEL) for label in whole]


def turned_of(labels: list[str]) -> tuple[bool, ...]:
    """Letters stand upright even when the name of END is longer; words are all turned, short ones too."""
    letters = all(cell_len(label) <= UPRIGHT for label in labels[:-1])
    return tuple(not letters or cell_len(label) > UPRIGHT for label in labels)


def name_width(names: list[str]) -> float:
    """The column of tokens that were chosen."""
    return text_width(names) + 2 * GAP if names else 0.0


def text_width(labels: list[str] | tuple[str, ...]) -> float:
    return LETTER * max(map(cell_len, labels), default=0)


def printable(line: str) -> str:
    return " ".join("".join(symbol if symbol.isprintable() else " " for symbol in line).split(" "))


def folded(line: str, cells: int) -> Iterator[str]:
    """Lines of at most so many cells, cut between words where there are any."""
    pieces = characters(shortened(printable(line), LONGEST_TITLE))
    while pieces:
        end = 1
        while end < len(pieces) and cell_len("".join(pieces[: end + 1])) <= cells:
            end += 1
        if end < len(pieces) and " " in pieces[1:end]:
            end -= pieces[end - 1 :: -1].index(" ")
        yield "".join(pieces[:end]).strip()
        pieces = pieces[end:]
