"""Drawings in a plane: what was taken for what as a heat map, and points with what they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.inspection.report.charts import Scale, drawing, text
from dragoman.inspection.report.page import Html, Number, cut, element, join, number, percent, whole
from dragoman.inspection.report.series import SHAPES

NAME = 16  # characters of a label beside a heat map
LETTER = 6.6  # pixels of a letter, about
LARGEST_CELL, SMALLEST_CELL = 64.0, 15.0
WRITTEN_CELL = 24.0  # from which on there is room for a count
DARK = 0.55  # share from which on a count is written in the colour of the page
HINT = 160  # characters of what stands beside the mouse


def heat_map(title: str, labels: Sequence[str], counts: Sequence[Sequence[int]], width: Number = 720) -> Html:
    """A row a true label, a column a label that was said; colour is the share of the row, and what is wrong has a
    colour of its own."""
    names = [cut(label, NAME) for label in labels]
    room = LETTER * max(map(len, names)) + 12
    left, top = room + 20, room * 0.72 + 24
    cell = min(LARGEST_CELL, max(SMALLEST_CELL, (width - left - 10) / max(len(labels), 1)))
    size = cell * len(labels)
    pieces = [text(12, top + size / 2, "true", "middle", class_="muted", transform=f"rotate(-90 12 {top + size / 2})")]
    pieces.append(text(left + size / 2, 12, "said", "middle", class_="muted"))
    for place, name in enumerate(names):
        middle = cell * (place + 0.5)
        x, y = left + middle, top - 6
        pieces.append(text(left - 6, top + middle + 4, name, "end"))
        pieces.append(text(x, y, name, "start", transform=f"rotate(-45 {x:.1f} {y:.1f})"))
    for row, label in enumerate(labels):
        every = sum(counts[row])
        for column, count in enumerate(counts[row]):
            square = (left + cell * column, top + cell * row, cell)
            pieces.append(heat_cell(square, count, every, row == column, f"{label} → {labels[column]}"))
    pieces.append(element("path", d=f"M{left:.1f} {top:.1f}h{size:.1f}v{size:.1f}h-{size:.1f}z", class_="track-area"))
    wrong = sum(sum(row) - row[place] for place, row in enumerate(counts))
    said = f"{whole(sum(map(sum, counts)))} labels, {whole(wrong)} of them wrong."
    return drawing(title, said, max(left + size + room * 0.72 + 4, 240), top + size + 8, *pieces)


def heat_cell(place: tuple[Number, Number, Number], count: int, every: int, right: bool, said: str) -> Html:
    x, y, side = place
    if not count:
        return Html("")
    share = count / every
    told = element("title", f"{said}: {whole(count)} of {whole(every)}, {percent(count, every)}")
    colour = "heat" if right else "heat wrong"
    outline = f"M{x:.1f} {y:.1f}h{side:.1f}v{side:.1f}h-{side:.1f}z"
    drawn = element("path", told, d=outline, class_=colour, fill_opacity=max(0.08, share))
    if side < WRITTEN_CELL:
        return drawn
    on = "on" if share > DARK else ""
    size = "" if len(whole(count)) * LETTER < side - 4 else "font-size:9px"
    return join([drawn, text(x + side / 2, y + side / 2 + 4, whole(count), "middle", class_=on, style=size)])


@dataclass(frozen=True)
class Dot:
    """A point, the number of its group, and what it stands for."""

    x: float
    y: float
    group: int
    said: str
    ringed: bool = False


def dot(one: Dot, across: Scale, up: Scale, kind: str) -> Html:
    place = f"translate({across(one.x):.1f} {up(one.y):.1f}) scale(.8)"
    ring = " ringed" if one.ringed else ""
    return element(
        "path",
        element("title", cut(one.said, HINT)),
        d=SHAPES[one.group % len(SHAPES)] if kind == "c" else SHAPES[0],
        transform=place,
        class_=f"shape {kind}{one.group % (8 if kind == 'c' else 5)}{ring}",
    )


def scatter(
    title: str,
    description: str,
    dots: Sequence[Dot],
    names: tuple[str, str],
    same: bool = False,
    kind: str = "c",
    width: Number = 720,
    height: Number = 520,
) -> Html:
    """Points over two axes; `same`: both have one scale, and a line shows where they are equal. Groups are colours and
    shapes (kind c), or steps between two colours (kind q)."""
    left, bottom, top, right = 56.0, 40.0, 10.0, 12.0
    xs, ys = [one.x for one in dots], [one.y for one in dots]
    (low_x, high_x), (low_y, high_y) = aired(xs), aired(ys)
    if same:
        low_x = low_y = min(low_x, low_y)
        high_x = high_y = max(high_x, high_y)
    across, up = Scale(low_x, high_x, left, width - right), Scale(low_y, high_y, height - bottom, top)
    pieces = []
    for value in up.ticks(6):
        pieces.append(element("path", d=f"M{left:.0f} {up(value):.1f}H{width - right:.0f}", class_="grid"))
        pieces.append(text(left - 6, up(value) + 4, number(value, 3), "end"))
    for value in across.ticks(8):
        pieces.append(element("path", d=f"M{across(value):.1f} {top:.0f}V{height - bottom:.0f}", class_="grid"))
        pieces.append(text(across(value), height - bottom + 16, number(value, 3), "middle"))
    if same:
        ends = f"M{across(low_x):.1f} {up(low_x):.1f}L{across(high_x):.1f} {up(high_x):.1f}"
        pieces.append(element("path", d=ends, class_="best"))
    pieces.append(text(width - right, height - 4, names[0], "end", class_="muted"))
    pieces.append(text(12, top + 4, names[1], "end", class_="muted", transform=f"rotate(-90 12 {top + 4:.0f})"))
    pieces += [dot(one, across, up, kind) for one in dots]
    return drawing(title, description, width, height, *pieces)


def aired(values: Sequence[float]) -> tuple[float, float]:
    """The least and the greatest with some air around them."""
    low, high = min(values), max(values)
    air = (high - low) * 0.05 or abs(high) * 0.1 or 1.0
    return low - air, high + air


def dot_legend(names: Sequence[str], kind: str = "c") -> Html:
    """What the groups are called."""
    shown = []
    for place, name in enumerate(names):
        shape = SHAPES[place % len(SHAPES)] if kind == "c" else SHAPES[0]
        colours = f"shape {kind}{place % (8 if kind == 'c' else 5)}"
        sign = element("path", d=shape, transform="translate(8 8)", class_=colours)
        drawn = element("svg", sign, viewBox="0 0 16 16", width=16, height=16, class_="key dot-key")
        shown.append(element("span", drawn, element("bdi", cut(name, 40))))
    return element("p", *shown, class_="legend")
