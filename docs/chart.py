"""Curves for the pages of this folder: one SVG that needs nothing else, at home on light and dark pages."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from dragoman.inspection.report.charts import BOTTOM, LEFT, RIGHT, TOP, Scale, drawing, text
from dragoman.inspection.report.page import Html, element, join, number

WIDTH, HEIGHT = 640.0, 300.0
STYLE = """
svg:root { color-scheme: light dark; background: Canvas; color: CanvasText }
text { fill: currentColor; font: 12px system-ui, "DejaVu Sans", sans-serif }
path { fill: none; stroke-linejoin: round }
.grid { stroke: currentColor; stroke-opacity: 0.15 }
.axis { stroke: currentColor; stroke-opacity: 0.6 }
.line { stroke-width: 2 }
.a { stroke: #c2571a } .b { stroke: #0c929a; stroke-dasharray: 7 3 } .c { stroke: #8a63d2; stroke-dasharray: 2 3 }
"""
CLASSES = ("a", "b", "c")

Points = Sequence[tuple[float, float]]


def chart(
    path: str,
    title: str,
    across: str,
    lines: Mapping[str, Points],
    logarithmic: bool = False,
    between: tuple[float, float] = (0.0, 1.0),
    every: int = 1,
) -> None:
    """Curves over a logarithmic axis with a label at every so many points; `between` bounds the values."""
    places = [x for x, _ in next(iter(lines.values()))]
    along = Scale(places[0], places[-1], LEFT, WIDTH - RIGHT, logarithmic=True)
    up = Scale(*between, HEIGHT - BOTTOM, TOP + 18, logarithmic)
    pieces = [
        element("style", Html(STYLE)),
        text(LEFT, 16, title),
        axes(along, up, places[::every], across),
        legend(list(lines)),
    ]
    pieces += [curve(points, along, up, kind) for points, kind in zip(lines.values(), CLASSES, strict=False)]
    said = "; ".join(
        f"{name}: from {number(points[0][1])} to {number(points[-1][1])}" for name, points in lines.items()
    )
    picture = drawing(title, f"Over {across}. {said}.", WIDTH, HEIGHT, *pieces).text
    Path(path).write_text(picture.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1) + "\n", "utf-8")


def axes(along: Scale, up: Scale, ticks: Sequence[float], across: str) -> Html:
    pieces = []
    heights = up.ticks(5)
    for value in heights[:: math.ceil(len(heights) / 6)]:
        pieces.append(element("path", d=f"M{LEFT:.0f} {up(value):.1f}H{WIDTH - RIGHT:.0f}", class_="grid"))
        pieces.append(text(LEFT - 6, up(value) + 4, number(value, 3).removeprefix("1·"), "end"))
    for value in ticks:
        anchor = "end" if value == ticks[-1] else "middle"
        pieces.append(text(along(value), HEIGHT - BOTTOM + 16, f"{value:.0f}", anchor))
    pieces.append(element("path", d=f"M{LEFT:.0f} {up.start:.1f}H{WIDTH - RIGHT:.0f}", class_="axis"))
    pieces.append(text(WIDTH - RIGHT, HEIGHT - 3, across, "end"))
    return join(pieces)


def legend(names: Sequence[str]) -> Html:
    pieces, x = [], LEFT
    for name, kind in zip(names, CLASSES, strict=False):
        pieces += [element("path", d=f"M{x:.0f} 30h28", class_=f"line {kind}"), text(x + 34, 34, name)]
        x += 34 + 7 * len(name) + 20
    return join(pieces)


def curve(points: Points, along: Scale, up: Scale, kind: str) -> Html:
    """What is beyond the axis stays on its edge."""
    return element("path", d="M" + "L".join(f"{along(x):.1f} {up(y):.1f}" for x, y in points), class_=f"line {kind}")
