"""Made-up movers that are steered: where each goes depends on commands, which are known for its future too."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.seeds import key
from dragoman.storage import make_folder, write_atomically

HEADER = "id,x [m],y [m],turn [degrees],speed [m/s]"
SPLITS = {"train": 1500, "valid": 150, "test": 150}  # tracks
STEPS = 60  # of each, a second apart
TURNS = (-20.0, -10.0, 0.0, 0.0, 10.0, 20.0)  # degrees a second
LAG = 0.5  # share of the way to the wanted speed that is made in a second
NOISE = 0.02  # m, of where a mover is seen

Numbers = NDArray[np.float64]


def mover(number: int, split: str, steps: int = STEPS) -> Numbers:
    """x, y, turn, speed of each second: a command holds for some seconds; headings follow it at once, speeds slowly."""
    generator = np.random.Generator(np.random.Philox(key=key("movers", split, number)))
    heading, speed = generator.uniform(0, 2 * math.pi), generator.uniform(0.3, 1.5)
    place = generator.uniform(-50, 50, 2)
    turn, wanted, rows = 0.0, speed, []
    for _ in range(steps):
        if generator.random() < 0.25:
            turn, wanted = float(generator.choice(TURNS)), generator.uniform(0.3, 1.5)
        heading += math.radians(turn)
        speed += LAG * (wanted - speed)
        place = place + speed * np.array([math.cos(heading), math.sin(heading)])
        rows.append([*(place + generator.normal(0, NOISE, 2)), turn, wanted])
    return np.array(rows)


def lines_of(split: str, tracks: int) -> Iterator[str]:
    yield HEADER
    for number in range(1, tracks + 1):
        for x, y, turn, speed in mover(number, split):
            yield f"{split}-{number},{x:.3f},{y:.3f},{turn:g},{speed:.3f}"


def write_movers(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, int]:
    """train.csv, valid.csv and test.csv, the same at every call; how many tracks each has."""
    make_folder(folder)
    wanted = sizes or SPLITS
    for split, tracks in wanted.items():
        write_atomically(folder / f"{split}.csv", "\n".join(lines_of(split, tracks)) + "\n")
    return wanted
