"""Series of values in one drawing: each has a colour, a dash and a shape, so that it is told apart in grey as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.inspection.report.charts import LEFT, RIGHT, Scale, drawing, padded, text
from dragoman.inspection.report.page import Html, Number, element, fixed, join, number, whole

PALETTE, SERIES = (Path(__file__).with_name(name) for name in ("palette.css", "series.css"))
COLOURS = 8  # that palette.css has
TOP, BOTTOM = 14.0, 48.0
WIDTH, HEIGHT = 1010.0, 360.0
DOTS = 40  # of a curve: more are a thicket
# Around its middle: a circle, a square, a triangle, a diamond, a triangle upside down, a star of four.
SHAPES = (
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z",
    "M-3.7-3.7h7.4v7.4h-7.4z",
    "M0-4.8L4.6 3.6H-4.6z",
    "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "M0 4.8L4.6-3.6H-4.6z",
    "M0-5.6L1.6-1.6L5.6 0L1.6 1.6L0 5.6L-1.6 1.6L-5.6 0L-1.6-1.6z",
)


@dataclass(frozen=True)
class Point:
    """A value with its interval."""

    value: float
    low: float
    high: float


def palette_style() -> str:
    """Colours of series."""
    return PALETTE.read_text("utf-8")


def series_style() -> str:
    """Of a broad page that is all about them."""
    return palette_style() + SERIES.read_text("utf-8")


def colour(place: int) -> str:
    """The classes of the n-th model; from the ninth on lines are dashed, too."""
    return f"c{place % COLOURS}" + (" again" if place >= COLOURS else "")


def mark(place: int, x: Number, y: Number, said: str = "") -> Html:
    told = (element("title", said),) if said else ()
    shape = SHAPES[place % len(SHAPES)]
    return element("path", *told, d=shape, transform=f"translate({x:.1f} {y:.1f})", class_=f"shape {colour(place)}")


def key(place: int) -> Html:
    """The sign of a model in tables and legends."""
    line = element("path", d="M1 8h26", class_=f"line {colour(place)}")
    return element("svg", line, mark(place, 14, 8), viewBox="0 0 28 16", width=28, height=16, class_="key")


def legend(names: Sequence[str]) -> Html:
    shown = [element("span", key(place), element("bdi", name)) for place, name in enumerate(names)]
    return element("p", *shown, class_="legend")


def interval_chart(
    title: str,
    labels: Sequence[tuple[str, str]],
    names: Sequence[str],
    points: Sequence[Sequence[Point]],
    below: str,
    width: Number = WIDTH,
    height: Number = HEIGHT,
) -> Html:
    """A line a series over groups, side by side so that intervals do not cover one another. Labels are those of a group
    and what stands below it; points are [series][group]."""
    every = [one for row in points for one in row]
    least = min(one.low for one in every)
    low, high = padded(least, max(one.high for one in every))
    up = Scale(low if least < 0 else max(low, 0.0), high, height - BOTTOM, TOP)  # correlations may be below 0
    room = (width - LEFT - RIGHT) / len(labels)
    step = min(11.0, room * 0.7 / max(len(names), 1))
    pieces = [frame(up, width)]
    for place, (label, note) in enumerate(labels):
        x = LEFT + room * (place + 0.5)
        pieces.append(text(x, height - BOTTOM + 16, label, "middle"))
        pieces.append(text(x, height - BOTTOM + 30, note, "middle", class_="muted"))
    for model, row in enumerate(points):
        shift = step * (model - (len(names) - 1) / 2)
        xs = [LEFT + room * (place + 0.5) + shift for place in range(len(row))]
        pieces.append(series(model, names[model], xs, row, [label for label, _ in labels], up))
    pieces.append(text(width - RIGHT, height - 3, below, "end", class_="muted"))
    said = "; ".join(
        f"{name}: {', '.join(f'{label} {fixed(one.value)}' for (label, _), one in zip(labels, row, strict=True))}"
        for name, row in zip(names, points, strict=True)
    )
    return drawing(title, said, width, height, *pieces)


def series(place: int, name: str, xs: Sequence[float], row: Sequence[Point], labels: Sequence[str], up: Scale) -> Html:
    line = "M" + "L".join(f"{x:.1f} {up(one.value):.1f}" for x, one in zip(xs, row, strict=True))
    whiskers = "".join(
        f"M{x - 3:.1f} {up(one.low):.1f}h6m-3 0V{up(one.high):.1f}m-3 0h6" for x, one in zip(xs, row, strict=True)
    )
    marks = [
        mark(place, x, up(one.value), f"{name}, {label}: {fixed(one.value)} ({fixed(one.low)} to {fixed(one.high)})")
        for x, one, label in zip(xs, row, labels, strict=True)
    ]
    return join(
        [
            element("path", d=whiskers, class_=f"whiskers {colour(place)}"),
            element("path", d=line, class_=f"line {colour(place)}"),
            *marks,
        ]
    )


def frame(up: Scale, width: Number = WIDTH) -> Html:
    """Lines across at round values, and the axis below."""
    pieces = []
    for value in up.ticks(5):
        pieces.append(element("path", d=f"M{LEFT:.0f} {up(value):.1f}H{width - RIGHT:.0f}", class_="grid"))
        pieces.append(text(LEFT - 8, up(value) + 4, number(value, 3), "end"))
    pieces.append(element("path", d=f"M{LEFT:.0f} {up.start:.1f}H{width - RIGHT:.0f}", class_="axis"))
    return join(pieces)


def curve_chart(title: str, names: Sequence[str], curves: Sequence[Sequence[tuple[float, float]]], below: str) -> Html:
    """Values over minutes, a line a model that has any; logarithmic where values span two powers of ten."""
    values = [value for curve in curves for _, value in curve]
    last = max(minute for curve in curves for minute, _ in curve)
    logarithmic = min(values) > 0 and max(values) / min(values) > 100
    low, high = (min(values), max(values)) if logarithmic else padded(min(values), max(values))
    up = Scale(low, high, HEIGHT - BOTTOM, TOP, logarithmic)
    across = Scale(0.0, last or 1.0, LEFT, WIDTH - RIGHT)
    pieces = [frame(up)]
    for value in across.ticks(8):
        pieces.append(text(across(value), HEIGHT - BOTTOM + 16, number(value, 3), "middle"))
    for place, (name, curve) in enumerate(zip(names, curves, strict=True)):
        if curve:
            line = "M" + "L".join(f"{across(minute):.1f} {up(value):.1f}" for minute, value in curve)
            pieces.append(element("path", d=line, class_=f"line {colour(place)}"))
            shown = curve if len(curve) <= DOTS else (curve[-1],)
            pieces += [
                mark(place, across(at), up(value), f"{name}, minute {number(at, 3)}: {number(value)}")
                for at, value in shown
            ]
    pieces.append(text(WIDTH - RIGHT, HEIGHT - 12, below, "end", class_="muted"))
    ends = "; ".join(
        f"{name} from {number(curve[0][1])} to {number(curve[-1][1])}"
        for name, curve in zip(names, curves, strict=True)
        if curve
    )
    return drawing(title, f"Minutes 0 to {number(last, 3)}. {ends}.", WIDTH, HEIGHT, *pieces)


def interval_bar(place: int, name: str, point: Point, scale: Scale) -> Html:
    """A value with its interval on a track that all models share."""
    track = element("path", d=f"M{scale.start:.1f} 10H{scale.end:.1f}", class_="track")
    low, high = scale(point.low), max(scale(point.high), scale(point.low) + 1)
    interval = element("path", d=f"M{low:.1f} 10H{high:.1f}", class_=f"span {colour(place)}")
    said = f"{fixed(point.value)}, between {fixed(point.low)} and {fixed(point.high)}"
    return drawing(name, said, scale.end + 4, 20, track, interval, mark(place, scale(point.value), 10))


def counted(count: int, what: str) -> str:
    """1 source, 2 sources."""
    return f"{whole(count)} {what}{'' if count == 1 else 's'}"
