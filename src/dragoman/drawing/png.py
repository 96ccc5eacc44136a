"""An alignment as PNG, through matplotlib, which the extra `plot` installs."""

import warnings
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING

from rich.cells import cell_len

from dragoman.drawing.alignment import Alignment, centre_within
from dragoman.drawing.labels import choices, right_to_left
from dragoman.drawing.palette import RAMP
from dragoman.drawing.summary import beside
from dragoman.drawing.svg import LONGEST_LABEL, MANY, folded, labels_of, turned_of
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


def png(alignment: Alignment, title: str = "", values: bool = False, entropies: bool = False) -> tuple[bytes, str]:
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
        draw(axes, alignment, source, target, beside(alignment, values, entropies))
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


def draw(
    axes: "Axes",
    alignment: Alignment,
    source: list[str],
    target: list[str],
    numbers: list[tuple[str, list[str]]],
) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    ramp = LinearSegmentedColormap.from_list("dragoman", RAMP)
    image = axes.imshow(alignment.weights or [[0.0]], cmap=ramp, vmin=0, vmax=1, aspect="equal", interpolation="none")
    axes.set_xticks(range(len(source)), source, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(target)), target, fontsize=8, parse_math=False)
    axes.tick_params(length=0, labeltop=True, labelbottom=len(target) > MANY)
    axes.tick_params(labelright=len(source) > MANY and not numbers and not alignment.hard)
    for tick, turned in zip(axes.xaxis.get_major_ticks(), turned_of(source), strict=True):
        for label in (tick.label1, tick.label2):
            label.set_rotation(90 if turned else 0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    write_behind(axes, alignment, len(source), numbers)
    outline(axes, alignment)
    below = LETTER * (max(map(len, source)) + 2) if len(target) > MANY else 0.1
    high, wide = CELL * max(1, len(target)), CELL * len(source)
    legend = axes.inset_axes((0, -(below + 0.2) / high, LEGEND / wide, 0.1 / high))
    axes.figure.colorbar(image, cax=legend, orientation="horizontal", ticks=(0, 0.5, 1), format="{x:.0%}")
    legend.tick_params(labelsize=7)


def write_behind(axes: "Axes", alignment: Alignment, columns: int, numbers: list[tuple[str, list[str]]]) -> None:
    """The tokens that were chosen, and numbers, a column each."""
    names = choices(alignment.source, alignment.chosen(), LONGEST_LABEL)
    place = columns - 0.3
    for column in ([names] if names else []) + [column for _, column in numbers]:
        for number, label in enumerate(column):
            mark = LEFT_TO_RIGHT * right_to_left(label)
            axes.text(place, number, mark + label, fontsize=7, va="center", parse_math=False)
        place += (LETTER * max(map(cell_len, column), default=0) + 0.1) / CELL


def outline(axes: "Axes", alignment: Alignment) -> None:
    """Local windows, dark with a pale edge, so that they can be seen on all colours."""
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    for number, (first, centre, last) in enumerate(alignment.windows):
        if first > last:
            continue
        box = Rectangle((first - 0.43, number - 0.43), last - first + 0.86, 0.86, fill=False, linewidth=0.9)
        box.set_path_effects([withStroke(linewidth=2.4, foreground=RAMP[0])])
        axes.add_patch(box)
        at = centre_within((first, centre, last))
        [dot] = axes.plot(at, number, "o", color="black", markersize=4, clip_on=False)
        dot.set(markeredgecolor=RAMP[0], markeredgewidth=0.9)


def families() -> list[str]:
    """The fonts of this machine in which a letter is looked for, one after another."""
    from matplotlib.font_manager import fontManager

    there = set(fontManager.get_font_names())
    return ["DejaVu Sans", *(font for font in FONTS if font in there)]


def letter_of(warning: str) -> str:
    """Glyph 26481 (\\N{CJK UNIFIED IDEOGRAPH-6771}) missing from font(s) DejaVu Sans."""
    number = warning.removeprefix("Glyph ").partition(" ")[0]
    return chr(int(number)) if number.isdecimal() else ""
