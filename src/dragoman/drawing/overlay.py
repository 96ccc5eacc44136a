"""Where each word of a caption looked, laid over its picture: as a page, and as PNG (Xu et al. 2015, figure 3)."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.drawing.page import bidirectional
from dragoman.drawing.png import DOTS, families, letter_of, require_matplotlib

SHOWN = 144  # pixels along the sides of an image that is drawn, in the mean
DARK = 0.25  # of its light is left where nobody looks
ROW = 6  # square images side by side
STYLE = (
    ".looks{display:flex;flex-wrap:wrap;gap:.75rem}.looks div{text-align:center}"
    ".looks img{display:block;max-width:100%}"
)

Pixels = NDArray[np.uint8]  # rows × columns × colours


@dataclass(frozen=True)
class Overlay:
    """A picture, the words of its caption with END last, and for each word how it looked at each cell, row by row."""

    pixels: Pixels
    words: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    grid: tuple[int, int]  # rows and columns of cells
    caption: str = ""
    name: str = ""
    logs: tuple[float, ...] = ()  # log-probability of each word


def shown_size(shape: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of an image as it is drawn: as many pixels whatever its proportions, and none of them cut."""
    scale = SHOWN / math.sqrt(shape[0] * shape[1])
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def light(weights: Sequence[float], grid: tuple[int, int], shape: tuple[int, int]) -> NDArray[np.float64]:
    """How much of a picture's light is left, pixel by pixel: all where was looked most, smoothly between cells."""
    from PIL import Image

    cells = np.asarray(weights, np.float32).reshape(grid)
    smooth = Image.fromarray(cells).resize(shape[::-1], Image.Resampling.BICUBIC)
    found = np.clip(np.asarray(smooth, np.float64), 0, None)
    most = found.max()
    return DARK + (1 - DARK) * (found / most if most > 0 else found)


def lit(overlay: Overlay, number: int) -> Pixels:
    """The picture as a word saw it."""
    shares = light(overlay.weights[number], overlay.grid, overlay.pixels.shape[:2])
    return (overlay.pixels * shares[:, :, None]).round().astype(np.uint8)


def data_uri(pixels: Pixels) -> str:
    """A picture that stands in a page itself."""
    from PIL import Image

    content = BytesIO()
    Image.fromarray(pixels).save(content, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def titled(overlay: Overlay, number: int) -> str:
    """A word, and how probable it was."""
    probable = f"{np.exp(overlay.logs[number]):.0%}" if number < len(overlay.logs) else ""
    return f"{bidirectional(overlay.words[number])} <small>{probable}</small>"


def looks(overlay: Overlay) -> str:
    """The picture itself, then as each word saw it."""

    def shown(pixels: Pixels, below: str, described: str) -> str:
        return f'<div><img alt="{escape(described)}" src="{data_uri(pixels)}">{below}</div>'

    first = shown(overlay.pixels, "&nbsp;", overlay.caption or "the picture")
    rest = [
        shown(lit(overlay, n), titled(overlay, n), f"where “{word}” looked") for n, word in enumerate(overlay.words)
    ]
    return f'<div class="looks">{first}{"".join(rest)}</div>'


def figure(overlay: Overlay, note: str = "") -> str:
    """A picture with its caption and all looks, for a page."""
    small = f" <small>({escape(note)})</small>" if note else ""
    caption = f"<figcaption>{bidirectional(overlay.name)} → {bidirectional(overlay.caption)}{small}</figcaption>"
    return f"<figure>{caption}{looks(overlay)}</figure>"


def png(overlay: Overlay, title: str = "") -> tuple[bytes, str]:
    """The same on white, and the letters that no font of this machine has."""
    require_matplotlib()
    import warnings

    from matplotlib import rc_context
    from matplotlib.figure import Figure

    tiles: list[tuple[Pixels, str]] = [(overlay.pixels, "")]
    tiles += [(lit(overlay, number), word) for number, word in enumerate(overlay.words)]
    high, wide = (side / SHOWN for side in shown_size(overlay.pixels.shape[:2]))
    row = max(1, round(ROW / wide))
    across, down = min(row, len(tiles)), -(-len(tiles) // row)
    with rc_context({"font.family": families()}), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        drawing = Figure(figsize=(1.5 * wide * across, (1.5 * high + 0.25) * down + 0.4), dpi=DOTS)
        every: Any = drawing.subplots(down, across, squeeze=False)
        for axes in every.flat:
            axes.axis("off")
        for axes, (pixels, word) in zip(every.flat, tiles, strict=False):
            axes.imshow(pixels)
            axes.set_title(word, fontsize=10, parse_math=False)
        drawing.suptitle(title, fontsize=9, x=0.02, ha="left", parse_math=False)
        drawing.tight_layout()
        content = BytesIO()
        drawing.savefig(content, format="png")
    missing = [str(warning.message) for warning in said if "missing from" in str(warning.message)]
    return content.getvalue(), "".join(dict.fromkeys(map(letter_of, missing)))


def most_looked_at(overlay: Overlay, number: int) -> tuple[int, int, float]:
    """Row and column, from 1, of the cell that a word looked at most, and how much."""
    weights = overlay.weights[number]
    cell = max(range(len(weights)), key=weights.__getitem__)
    across = overlay.grid[1]
    return cell // across + 1, cell % across + 1, weights[cell]
