"""Short clips of a shape that moves, made up: what it does takes several frames to see."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.seeds import key

Clip = NDArray[np.uint8]  # (frames, rows, columns, colours)

SIZE, FRAMES = 32, (6, 13)  # pixels along a side; of a clip
SHAPES = ("circle", "square", "triangle")
MOVES = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1), "still": (0, 0)}
LABELS = (*MOVES, "grows", "shrinks")
SIZES = {"train": 1_200, "valid": 100, "test": 200}
ROWS, COLUMNS = np.mgrid[0:SIZE, 0:SIZE].astype(np.float64)


def clip(split: str, number: int) -> tuple[Clip, str]:
    """The numbered one of a split, keyed by both: a shape of any colour before another, both rustling."""
    draw = np.random.default_rng(key("movements", split, number))
    label, frames = LABELS[int(draw.integers(len(LABELS)))], int(draw.integers(*FRAMES))
    time = np.linspace(-0.5, 0.5, frames)
    reach, way = draw.uniform(8, 15), MOVES.get(label, (0, 0))
    middle = SIZE / 2 + draw.uniform(-4, 4, 2)
    x, y = (middle[axis] + way[axis] * reach * time for axis in (0, 1))
    radius = np.full(frames, draw.uniform(3.5, 6)) * 2.0 ** ({"grows": 1.4, "shrinks": -1.4}.get(label, 0.0) * time)
    shape, colours = SHAPES[int(draw.integers(len(SHAPES)))], colours_of(draw)
    wobble = draw.normal(0, 0.5, (frames, 2))
    made = [drawn(shape, x[n] + wobble[n, 0], y[n] + wobble[n, 1], radius[n], colours) for n in range(frames)]
    noisy = np.stack(made) + draw.normal(0, 14, (frames, SIZE, SIZE, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8), label


def colours_of(draw: np.random.Generator) -> NDArray[np.float64]:
    """Of the background and of the shape, which are never alike."""
    while True:
        found: NDArray[np.float64] = draw.uniform(30, 225, (2, 3))
        if np.abs(found[0] - found[1]).sum() > 160:
            return found


def drawn(shape: str, x: float, y: float, radius: float, colours: NDArray[np.float64]) -> NDArray[np.float64]:
    """One frame, with soft edges."""
    across, down = COLUMNS - x, ROWS - y
    if shape == "circle":
        distance = np.hypot(across, down)
    elif shape == "square":
        distance = 1.1 * np.maximum(np.abs(across), np.abs(down))
    else:
        distance = np.maximum(np.abs(across) * 1.7 - down * 0.85, down * 1.7)
    share = np.clip(radius - distance + 0.5, 0, 1)[:, :, None]
    frame: NDArray[np.float64] = (1 - share) * colours[0] + share * colours[1]
    return frame


def write_clips(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, int]:
    """FOLDER/train.tsv and the others, and a folder of pictures for each clip."""
    from PIL import Image

    sizes = sizes or SIZES
    for split, size in sizes.items():
        rows = ["clip\tlabel"]
        for number in range(size):
            frames, label = clip(split, number)
            place = folder / split / f"{number:04d}"
            place.mkdir(parents=True, exist_ok=True)
            for frame, pixels in enumerate(frames):
                Image.fromarray(pixels).save(place / f"{frame}.png", compress_level=1)
            rows.append(f"{split}/{number:04d}\t{label}")
        (folder / f"{split}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return sizes
