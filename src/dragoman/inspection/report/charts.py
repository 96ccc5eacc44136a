"""Drawings in SVG: colours come from the page's style, so that they follow light, dark and paper."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.inspection.report.page import Content, Html, Number, element, fixed, join, number, whole

LEFT, RIGHT, TOP, BOTTOM = 60.0, 14.0, 26.0, 34.0  # margins around the plot
LABEL = 12  # characters of a label on an axis
DOTS = 60  # that can be told apart


@dataclass(frozen=True)
class Line:
    """A curve and its name; the points of a dotted one are drawn, if they are few."""

    name: str
    points: tuple[tuple[Number, Number], ...]
    kind: str = "one"  # one, two: a colour and a dash
    dots: bool = False
    extremes: tuple[tuple[Number, Number], ...] = ()  # drawn faintly behind it


@dataclass(frozen=True)
class Column:
    """A bar with its label below, its interval, and what stands on it."""

    label: str
    value: Number
    low: Number
    high: Number
    note: str


@dataclass(frozen=True)
class Scale:
    """From values to places; a logarithmic one for values that span powers of ten."""

    low: Number
    high: Number
    start: Number
    end: Number
    logarithmic: bool = False

    def __call__(self, value: Number) -> Number:
        low, high, place = (self.of(one) for one in (self.low, self.high, min(max(value, self.low), self.high)))
        return self.start + (self.end - self.start) * ((place - low) / (high - low) if high > low else 0.5)

    def of(self, value: Number) -> Number:
        return math.log(value) if self.logarithmic else value

    def ticks(self, count: int) -> list[Number]:
        return powers_between(self.low, self.high) if self.logarithmic else ticks(self.low, self.high, count)


def ticks(low: Number, high: Number, count: int) -> list[Number]:
    """Round numbers between two values, at most `count` steps of 1, 2, 2.5 or 5 times a power of ten."""
    if not high > low:
        return [low]
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def powers_between(low: Number, high: Number) -> list[Number]:
    exponents = range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)
    found = [10.0**exponent for exponent in exponents]
    return found if len(found) > 1 else [low, high]


def drawing(title: str, description: str, width: Number, height: Number, *content: Html) -> Html:
    """An SVG that says what it shows to those who cannot see it."""
    words = (element("title", title), element("desc", description))
    return element("svg", *words, *content, viewBox=f"0 0 {width:.0f} {height:.0f}", role="img", width=width)


def text(x: Number, y: Number, content: Content, anchor: str = "start", **attributes: str | Number) -> Html:
    return element("text", content, x=x, y=y, text_anchor=anchor, **attributes)


def line_chart(
    title: str, lines: Sequence[Line], mark: Number | None = None, width: Number = 720, height: Number = 260
) -> Html:
    """Values over steps, logarithmic where they span three powers of ten; `mark` is the step of the best model."""
    points = [point for line in lines for point in (*line.points, *line.extremes)]
    steps, values = [step for step, _ in points], [value for _, value in points]
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low > 1000
    low, high = (low, high) if logarithmic else padded(low, high)
    across = Scale(min(steps), max(steps), LEFT, width - RIGHT)
    up = Scale(low, high, height - BOTTOM, TOP, logarithmic)
    pieces = [axes(across, up, width, height)]
    if mark is not None and across.low <= mark <= across.high:
        pieces.append(best(across(mark), height, width))
    pieces += [curve(line, across, up) for line in lines]
    pieces.append(legend(lines))
    ends = "; ".join(f"{line.name} from {number(line.points[0][1])} to {number(line.points[-1][1])}" for line in lines)
    description = f"Steps {whole(across.low)} to {whole(across.high)}. {ends}."
    return drawing(title, description, width, height, *pieces)


def padded(low: Number, high: Number) -> tuple[Number, Number]:
    """From zero where that costs little room, else with some air."""
    if low >= 0 and low <= 0.4 * high:
        return 0.0, high * 1.04 or 1.0
    air = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - air, high + air


def axes(across: Scale, up: Scale, width: Number, height: Number) -> Html:
    pieces = []
    for value in up.ticks(4):
        y = up(value)
        pieces.append(element("path", d=f"M{LEFT:.0f} {y:.1f}H{width - RIGHT:.0f}", class_="grid"))
        pieces.append(text(LEFT - 6, y + 4, number(value, 3), "end"))
    for value in across.ticks(6 if width > 500 else 3):
        anchor = "end" if across(value) > width - RIGHT - 24 else "middle"
        pieces.append(text(across(value), height - BOTTOM + 16, whole(value), anchor))
    pieces.append(element("path", d=f"M{LEFT:.0f} {height - BOTTOM:.1f}H{width - RIGHT:.0f}", class_="axis"))
    pieces.append(text(width - RIGHT, height - 3, "step", "end", class_="muted"))
    return join(pieces)


def best(x: Number, height: Number, width: Number) -> Html:
    anchor, shift = ("end", -5) if x > width / 2 else ("start", 5)
    line = element("path", d=f"M{x:.1f} {TOP:.0f}V{height - BOTTOM:.1f}", class_="best")
    return join([line, text(x + shift, TOP + 10, "best", anchor, class_="muted")])


def curve(line: Line, across: Scale, up: Scale) -> Html:
    places = [(across(step), up(value)) for step, value in line.points]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    pieces = [element("path", d=path, class_=f"line {line.kind}")]
    if line.extremes:
        behind = "M" + "L".join(f"{across(step):.1f} {up(value):.1f}" for step, value in line.extremes)
        pieces.insert(0, element("path", d=behind, class_=f"line faint {line.kind}"))
    if (line.dots and len(places) <= DOTS) or len(places) == 1:
        for (x, y), (step, value) in zip(places, line.points, strict=True):
            said = element("title", f"step {whole(step)}: {line.name} {number(value)}")
            pieces.append(element("circle", said, cx=x, cy=y, r=3, class_=f"dot {line.kind}"))
    return join(pieces)


def legend(lines: Sequence[Line]) -> Html:
    pieces, x = [], LEFT
    for line in lines:
        pieces.append(element("path", d=f"M{x:.0f} 10h18", class_=f"line {line.kind}"))
        if line.dots:
            pieces.append(element("circle", cx=x + 9, cy=10, r=3, class_=f"dot {line.kind}"))
        pieces.append(text(x + 24, 14, line.name))
        x += 24 + 7.5 * len(line.name) + 24
    return join(pieces)


def column_chart(title: str, columns: Sequence[Column], below: str, width: Number = 720, height: Number = 260) -> Html:
    """Columns from zero, each with its interval as a whisker."""
    highest = max((column.high for column in columns if math.isfinite(column.high)), default=0.0)
    up = Scale(0, highest * 1.12 or 1.0, height - BOTTOM - 14, TOP)
    room = (width - LEFT - RIGHT) / max(len(columns), 1)
    pieces = []
    for value in up.ticks(4):
        pieces.append(element("path", d=f"M{LEFT:.0f} {up(value):.1f}H{width - RIGHT:.0f}", class_="grid"))
        pieces.append(text(LEFT - 6, up(value) + 4, number(value, 3), "end"))
    for place, column in enumerate(columns):
        pieces.append(one_column(column, LEFT + room * (place + 0.5), min(room * 0.62, 70), up))
    pieces.append(element("path", d=f"M{LEFT:.0f} {up.start:.1f}H{width - RIGHT:.0f}", class_="axis"))
    pieces.append(text(width - RIGHT, height - 3, below, "end", class_="muted"))
    said = "; ".join(f"{one.label}: {fixed(one.value)} ({fixed(one.low)} to {fixed(one.high)})" for one in columns)
    return drawing(title, said, width, height, *pieces)


def one_column(column: Column, x: Number, width: Number, up: Scale) -> Html:
    said = f"{column.label}: {fixed(column.value)}, 95 % interval {fixed(column.low)} to {fixed(column.high)}"
    bar = f"M{x - width / 2:.1f} {up(0):.1f}V{up(column.value):.1f}h{width:.1f}V{up(0):.1f}z"
    whisker = f"M{x - 5:.1f} {up(column.low):.1f}h10m-5 0V{up(column.high):.1f}m-5 0h10"
    return join(
        [
            element("path", element("title", said), d=bar, class_="bar"),
            element("path", d=whisker, class_="whisker"),
            text(x, up(column.high) - 6, fixed(column.value, 1), "middle", class_="value"),
            text(x, up.start + 16, column.label, "middle"),
            text(x, up.start + 30, column.note, "middle", class_="muted"),
        ]
    )


def histogram(
    title: str,
    edges: Sequence[Number],
    counts: Sequence[Number],
    marks: Sequence[tuple[str, Number]],
    width: Number = 350,
) -> Html:
    """Counts between edges; marks are values worth a line, such as the median."""
    height = 170.0
    across = Scale(edges[0], edges[-1], LEFT, width - RIGHT)
    up = Scale(0, max(*counts, 1) * 1.05, height - BOTTOM, TOP)
    pieces = [
        element(
            "path", d=f"M{across(left):.1f} {up(0):.1f}V{up(count):.1f}H{across(right):.1f}V{up(0):.1f}z", class_="bar"
        )
        for left, right, count in zip(edges, edges[1:], counts, strict=False)
    ]
    for value in up.ticks(3):
        pieces.append(text(LEFT - 6, up(value) + 4, number(value, 3), "end"))
    for value in across.ticks(4):
        pieces.append(text(across(value), height - BOTTOM + 16, number(value, 3), "middle"))
    pieces.append(element("path", d=f"M{LEFT:.0f} {up(0):.1f}H{width - RIGHT:.0f}", class_="axis"))
    for _, value in marks:
        pieces.append(element("path", d=f"M{across(value):.1f} {TOP:.0f}V{up(0):.1f}", class_="best"))
    said = ", ".join(f"{name} {number(value)}" for name, value in marks)
    pieces.append(text(LEFT, 14, title))
    pieces.append(text(width - RIGHT, height - 3, said, "end", class_="muted"))
    return drawing(title, f"{whole(sum(counts))} texts; {said}.", width, height, *pieces)


def range_bar(name: str, value: Number, low: Number, high: Number, scale: Scale) -> Html:
    """A value and its interval on a track."""
    track = element("path", d=f"M{scale.start:.1f} 10H{scale.end:.1f}", class_="track")
    interval = element("path", d=f"M{scale(low):.1f} 10H{max(scale(high), scale(low) + 1):.1f}", class_="interval")
    point = element("path", d=f"M{scale(value):.1f} 3v14", class_="point")
    said = f"{fixed(value)}, between {fixed(low)} and {fixed(high)}, on a scale from {number(scale.low)} to "
    return drawing(name, said + f"{number(scale.high)}.", 220, 20, track, interval, point)


CELL = 18.0
LEVELS = 20  # of darkness
