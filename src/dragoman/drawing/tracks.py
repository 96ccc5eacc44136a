"""A track drawn: its past, the futures that were said, and the true one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
MOST = 60  # futures that are drawn
STYLE = (
    "<style>.tk{font:11px system-ui,sans-serif}.tk path,.tk circle{fill:none;stroke-linejoin:round}"
    ".tk .past{stroke:#5b6673;stroke-width:2}.tk .true{stroke:#0b8f5a;stroke-width:2;stroke-dasharray:5 3}"
    ".tk .said{stroke:#c8421f;stroke-width:2}.tk .drawn{stroke:#c8421f;stroke-width:1;opacity:.22}"
    ".tk circle.past{fill:#5b6673}.tk circle.true{fill:#0b8f5a;stroke:none}.tk circle.said{fill:#c8421f;stroke:none}"
    ".tk text{fill:#5b6673}.tk .frame{stroke:#5b6673;opacity:.35}"
    "@media(prefers-color-scheme:dark){.tk .past,.tk text,.tk .frame{stroke:#9aa7b5}.tk text{fill:#9aa7b5;stroke:none}"
    ".tk circle.past{fill:#9aa7b5}.tk .true{stroke:#3fcf94}.tk circle.true{fill:#3fcf94}.tk .said,.tk .drawn"
    "{stroke:#ff8a65}.tk circle.said{fill:#ff8a65}}</style>"
)


@dataclass(frozen=True)
class Drawn:
    """What stands in one picture: numbers in the user's units, a column a feature."""

    name: str
    features: Sequence[object]  # their names, with units
    past: Points
    futures: tuple[Points, ...]  # the best first, then those that were drawn
    truth: Points | None = None


@dataclass(frozen=True)
class Plot:
    """Where values stand in a picture."""

    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def at(self, x: float | int, y: float) -> tuple[float, float]:
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + self.width * across, self.top + self.height * (1 - up)

    def line(self, points: Points, kind: str) -> str:
        """A line through all that is known; a gap is a gap."""
        parts, open_ = [], False
        for x, y in points:
            if math.isfinite(x) and math.isfinite(y):
                place = self.at(x, y)
                parts.append(f"{'L' if open_ else 'M'}{place[0]:.1f} {place[1]:.1f}")
            open_ = math.isfinite(x) and math.isfinite(y)
        return f'<path class="{kind}" d="{"".join(parts)}"/>' if parts else ""

    def dots(self, points: Points, kind: str, radius: float | int) -> str:
        known = [self.at(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        return "".join(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"/>' for x, y in known)


def track_svg(drawn: Drawn, width: float = 320.0, height: float = 240.0) -> str:
    """In the plane where two features are predicted; else each over time, one below the other."""
    planar = drawn.past.shape[1] == 2
    content = plane(drawn, width, height) if planar else "".join(over_time(drawn, width, height))
    tall = height if planar else height * min(4, drawn.past.shape[1]) * 0.6
    title = f"<title>{escape(drawn.name)}: past, {len(drawn.futures)} predicted futures"
    title += f"{' and the true one' if drawn.truth is not None else ''}</title>"
    size = f'viewBox="0 0 {width:.0f} {tall:.0f}" width="{width:.0f}" height="{tall:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" class="tk" role="img" {size}>{title}{STYLE}{content}</svg>'


def plane(drawn: Drawn, width: float, height: float) -> str:
    """Both features have one scale, so that angles and distances are what they are."""
    everything = np.concatenate([drawn.past, *drawn.futures[:MOST], *([] if drawn.truth is None else [drawn.truth])])
    (low_x, low_y), (high_x, high_y) = np.nanmin(everything, 0), np.nanmax(everything, 0)
    inner = (width - 24, height - 40)
    unit = max((high_x - low_x) / inner[0], (high_y - low_y) / inner[1], 1e-9) * 1.08
    middle = ((low_x + high_x) / 2, (low_y + high_y) / 2)
    spans = [(middle[n] - unit * inner[n] / 2, middle[n] + unit * inner[n] / 2) for n in (0, 1)]
    plot = Plot(12.0, 22.0, *inner, *spans)
    names = f"{escape(str(drawn.features[0]))} → · {escape(str(drawn.features[1]))} ↑"
    return f'<text x="12" y="14">{escape(drawn.name[:24])}</text>{layers(plot, drawn)}{ruler(plot, unit, names)}'


def ruler(plot: Plot, unit: float, names: str) -> str:
    """A length that can be read off, in the unit of the data."""
    wanted = plot.width * unit / 4
    power = 10.0 ** math.floor(math.log10(wanted))
    length = max(power * digit for digit in (1, 2, 5) if power * digit <= wanted * 1.0001)
    y, end = plot.top + plot.height + 14, plot.left + length / unit
    bar = f'<path class="frame" d="M{plot.left:.1f} {y - 7:.1f}v4H{end:.1f}v-4"/>'
    return f'{bar}<text x="{end + 6:.1f}" y="{y:.1f}">{length:g} · {names}</text>'


def layers(plot: Plot, drawn: Drawn, column: int | None = None) -> str:
    """Drawn futures below, then the true one, what was said, and the past."""
    past = series(drawn.past, 0, column)
    steps = len(drawn.past) - 1
    join = past[-1:]
    pieces = [
        plot.line(np.concatenate([join, series(one, steps + 1, column)]), "drawn") for one in drawn.futures[1:MOST]
    ]
    if drawn.truth is not None:
        true = np.concatenate([join, series(drawn.truth, steps + 1, column)])
        pieces += [plot.line(true, "true"), plot.dots(true[-1:], "true", 3)]
    if drawn.futures:
        said = np.concatenate([join, series(drawn.futures[0], steps + 1, column)])
        pieces += [plot.line(said, "said"), plot.dots(said[-1:], "said", 3)]
    return "".join([*pieces, plot.line(past, "past"), plot.dots(past[-1:], "past", 2.5)])


def series(points: Points, first: int, column: int | None) -> Points:
    """Points of the plane; or one feature over its steps."""
    if column is None:
        return points
    return np.stack([np.arange(first, first + len(points), dtype=np.float64), points[:, column]], 1)


def over_time(drawn: Drawn, width: float, height: float) -> Iterator[str]:
    each = height * 0.6
    for column in range(min(4, drawn.past.shape[1])):
        parts = [drawn.past, *drawn.futures[:MOST], *([] if drawn.truth is None else [drawn.truth])]
        values = np.concatenate([one[:, column] for one in parts])
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        air = (high - low) * 0.05 or 1.0
        steps = len(drawn.past) + max((len(one) for one in drawn.futures), default=1)
        plot = Plot(40.0, column * each + 20, width - 52, each - 36, (0.0, steps - 1.0), (low - air, high + air))
        title = f"{drawn.name[:24]} · {drawn.features[column]}" if not column else str(drawn.features[column])
        yield f'<text x="12" y="{column * each + 13:.0f}">{escape(title)}</text>'
        for value, y in ((high, plot.at(0, high)[1]), (low, plot.at(0, low)[1])):
            yield f'<text x="36" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        x, y = plot.at(len(drawn.past) - 1, low - air)
        yield f'<path class="frame" d="M{x:.1f} {plot.top:.1f}V{y:.1f}"/>'
        yield layers(plot, drawn, column)


def track_text(drawn: Drawn, width: int = 60, height: int = 16) -> str:
    """The same in characters: · past, o the true future, x what was said, * both; one scale for both features."""
    parts = [drawn.past, drawn.futures[0], *([] if drawn.truth is None else [drawn.truth])]
    everything = np.concatenate(parts)
    low, high = np.nanmin(everything, 0), np.nanmax(everything, 0)
    unit = max((high[0] - low[0]) / (width - 1), (high[1] - low[1]) / (2 * (height - 1)), 1e-9)
    cells = [[" "] * width for _ in range(height)]
    signs = [("·", drawn.past), ("x", drawn.futures[0]), *([] if drawn.truth is None else [("o", drawn.truth)])]
    for sign, points in signs:
        for x, y in points[np.isfinite(points).all(1)]:
            column, row = round((x - low[0]) / unit), height - 1 - round((y - low[1]) / (2 * unit))
            before = cells[row][column]
            cells[row][column] = "*" if sign == "o" and before == "x" else sign
    lines = ["".join(row).rstrip() for row in cells]
    kept = "\n".join(f"  {line}" for line in lines if line)
    return f"\n{drawn.name}: · past, x said, o true, * both; a character is {unit:.2g} wide\n{kept}"
