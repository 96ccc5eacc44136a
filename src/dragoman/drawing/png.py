"""An alignment as PNG, through matplotlib, which the extra `plot` installs."""

import warnings
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.labels import right_to_left
from dragoman.drawing.palette import RAMP
from dragoman.drawing.svg import MANY, folded, labels_of, turned_of
from dragoman.drawing.terminal import LEFT_TO_RIGHT
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELL = 0.22  # inches
LETTER = 0.085
LEGEND = 1.6
DOTS = 160  # an inch
LARGEST = 12_000  # dots a side
# After matplotlib's own, in which most letters of Europe and the Near East are.
FONTS = ("Noto Sans CJK JP", "Noto Sans", "Hiragino Sans", "PingFang SC", "Arial Unicode MS", "Yu Gothic")


def require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ConfigError(
            "A PNG needs matplotlib, which is not installed: pip install 'dragoman[plot]'. SVG and HTML need nothing."
        )


def png(alignment: Alignment, title: str = "", values: bool = False) -> tuple[bytes, str]:
    """The picture on white, and the letters that no font of this machine has."""
    require_matplotlib()
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    source, target = labels_of(alignment.source), labels_of(alignment.target)
    size = (CELL * len(source) + 1, CELL * len(target) + 1)
    with rc_context({"font.family": families(), "svg.fonttype": "none"}), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        drawing = Figure(figsize=size, dpi=min(DOTS, LARGEST / max(size)))
        axes = drawing.add_axes((0.5 / size[0], 0.5 / size[1], 1 - 1 / size[0], 1 - 1 / size[1]))
        draw(axes, alignment, source, target, values)
        lines = list(folded(title, max(40, int(size[0] / LETTER)))) if title else []
        axes.set_title(
            "\n".join(LEFT_TO_RIGHT * right_to_left(line) + line for line in lines),
            fontsize=9,
            loc="left",
            parse_math=False,
        )
        content = BytesIO()
        drawing.savefig(content, format="png", bbox_inches="tight", pad_inches=0.1)
    missing = [str(warning.message) for warning in said if "missing from" in str(warning.message)]
    return content.getvalue(), "".join(dict.fromkeys(map(letter_of, missing)))


def draw(axes: "Axes", alignment: Alignment, source: list[str], target: list[str], values: bool) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("dragoman", RAMP)
    image = axes.imshow(alignment.weights or [[0.0]], cmap=ramp, vmin=0, vmax=1, aspect="equal", interpolation="none")
    axes.set_xticks(range(len(source)), source, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(target)), target, fontsize=8, parse_math=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=len(target) > MANY)
    axes.tick_params(labelright=len(source) > MANY and not values)
    for tick, turned in zip(axes.xaxis.get_major_ticks(), turned_of(source), strict=True):
        for label in (tick.label1, tick.label2):
            label.set_rotation(90 if turned else 0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if values:
        for number, value in enumerate(alignment.log_probabilities):
            axes.text(len(source) - 0.3, number, f"{value:.3f}", fontsize=7, va="center")
    below = LETTER * (max(map(len, source)) + 2) if len(target) > MANY else 0.1
    high, wide = CELL * max(1, len(target)), CELL * len(source)
    legend = axes.inset_axes((0, -(below + 0.2) / high, LEGEND / wide, 0.1 / high))
    axes.figure.colorbar(image, cax=legend, orientation="horizontal", ticks=(0, 0.5, 1), format="{x:.0%}")
    legend.tick_params(labelsize=7)


def families() -> list[str]:
    """The fonts of this machine in which a letter is looked for, one after another."""
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return ["DejaVu Sans", *(font for font in FONTS if font in there)]


def letter_of(warning: str) -> str:
    """Glyph 26481 (\\N{CJK UNIFIED IDEOGRAPH-6771}) missing from font(s) DejaVu Sans."""
    number = warning.removeprefix("Glyph ").partition(" ")[0]
    return chr(int(number)) if number.isdecimal() else ""
