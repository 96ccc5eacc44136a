"""Gestures of a hand as six noisy sensors would record them, made up: one a sequence, or one behind the other."""

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.seeds import key

Values = NDArray[np.float64]
Make = Callable[[str, int], tuple[Values, list[str]]]

FEATURES = ("ax [g]", "ay [g]", "az [g]", "gx [°/s]", "gy [°/s]", "gz [°/s]")
REST = "rest"
GESTURES = ("circle left", "circle right", "swipe left", "swipe right", "shake", "twist", "tap")
SIZES = {"train": 1_600, "valid": 200, "test": 400}
STREAMS = {"train": 300, "valid": 40, "test": 80}
FRAMES = (25, 70)  # of a gesture, at fifty a second
NOISE, TURN = 0.35, 40.0  # standard deviation of a reading in g; what a g is in degrees a second


def motion(gesture: str, frames: int, draw: np.random.Generator) -> Values:
    """What the sensors would read without noise: a left one is a right one played backwards, or mirrored in time, so
    that no single frame tells them apart."""
    time = np.linspace(0, 1, frames)
    values = np.zeros((frames, 6))
    envelope = np.sin(np.pi * time)
    way = 1.0 if gesture.endswith("left") else -1.0
    if gesture.startswith("circle"):
        turns = 2 * np.pi * (draw.uniform(1.0, 2.0) * time + draw.uniform())
        values[:, 0], values[:, 1], values[:, 5] = np.cos(turns), way * np.sin(turns), 0.3 * np.cos(turns)
    elif gesture.startswith("swipe"):
        values[:, 0], values[:, 5] = way * np.sin(2 * np.pi * time), 0.4 * envelope
    elif gesture == "shake":
        values[:, 0] = np.sin(2 * np.pi * draw.uniform(4, 7) * time)
    elif gesture == "twist":
        values[:, 3], values[:, 1] = np.sin(2 * np.pi * time), 0.3 * envelope
    elif gesture == "tap":
        places = draw.uniform(0.15, 0.4), draw.uniform(0.6, 0.85)
        values[:, 2] = sum(1.4 * np.exp(-(((time - place) * 18) ** 2)) for place in places)
    return values * (0.4 + 0.6 * envelope)[:, None] if gesture != REST else values


def recorded(values: Values, draw: np.random.Generator) -> Values:
    """A hand of its own strength, held at a slant, with sensors that drift and rustle."""
    slant = draw.uniform(-0.35, 0.35)
    turned = values * draw.uniform(0.55, 1.3)
    x, y = turned[:, 0].copy(), turned[:, 1].copy()
    turned[:, 0], turned[:, 1] = np.cos(slant) * x - np.sin(slant) * y, np.sin(slant) * x + np.cos(slant) * y
    drift = np.linspace(0, 1, len(values))[:, None] * draw.normal(0, 0.2, 6)
    noisy = turned + draw.normal(0, 0.15, 6) + drift + draw.normal(0, NOISE, values.shape)
    noisy[:, 2] += 1.0  # gravity
    noisy[:, 3:] *= TURN
    return noisy


def gesture(split: str, number: int) -> tuple[Values, str]:
    """The numbered one of a split, keyed by both."""
    draw = np.random.default_rng(key("gestures", split, number))
    label = GESTURES[int(draw.integers(len(GESTURES)))]
    return recorded(motion(label, int(draw.integers(*FRAMES)), draw), draw), label


def stream(split: str, number: int) -> tuple[Values, list[str]]:
    """Three to six of them with rests between, of which no two are equally long."""
    draw = np.random.default_rng(key("streams of gestures", split, number))
    parts: list[tuple[str, int]] = [(REST, int(draw.integers(5, 30)))]
    for _ in range(int(draw.integers(3, 7))):
        parts.append((GESTURES[int(draw.integers(len(GESTURES)))], int(draw.integers(*FRAMES))))
        parts.append((REST, int(draw.integers(5, 30))))
    values = np.concatenate([motion(label, frames, draw) for label, frames in parts])
    return recorded(values, draw), [label for label, frames in parts for _ in range(frames)]


def write_gestures(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, int]:
    """FOLDER/train.csv and the others: a gesture a sequence, its label on every row."""
    return write_splits(folder, sizes or SIZES, one_of)


def write_streams(folder: Path, sizes: dict[str, int] | None = None) -> dict[str, int]:
    """The same of streams: each row has its own label."""
    return write_splits(folder, sizes or STREAMS, stream)


def one_of(split: str, number: int) -> tuple[Values, list[str]]:
    values, label = gesture(split, number)
    return values, [label] * len(values)


def write_splits(folder: Path, sizes: dict[str, int], make: Make) -> dict[str, int]:
    folder.mkdir(parents=True, exist_ok=True)
    for split, size in sizes.items():
        with (folder / f"{split}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("id", *FEATURES, "label"))
            for number in range(size):
                writer.writerows(rows_of(number, *make(split, number)))
    return sizes


def rows_of(number: int, values: Values, labels: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for row, label in zip(values.tolist(), labels, strict=True):
        yield (str(number), *(f"{value:.3f}" for value in row), label)
