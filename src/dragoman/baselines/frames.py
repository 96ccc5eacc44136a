"""Baselines of sequences of frames: the most frequent label, and a linear model over how each number is
distributed in time."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.baselines.labels import named, signs_of
from dragoman.baselines.predicted import Predicted, sampled
from dragoman.baselines.solver import ridge, squared_hinge
from dragoman.baselines.sparse import Sparse, beside, dense
from dragoman.baselines.texts import constant

Floats = NDArray[np.float64]
MOST_FRAMES = 200_000  # with a label each, that are learned from
STRENGTH = 1.0
REACH = 2  # frames on either side


def summary_of(frames: NDArray[Any]) -> Floats:
    """Mean, deviation, least, largest, first, last and mean change of each number of a sequence (steps, features)."""
    values = np.nan_to_num(frames.reshape(len(frames), -1).astype(np.float64))
    moves = np.abs(np.diff(values, axis=0)).mean(0) if len(values) > 1 else np.zeros(values.shape[1])
    thirds = [
        values[len(values) * part // 3 : max(len(values) * part // 3 + 1, len(values) * (part + 1) // 3)]
        for part in range(3)
    ]
    parts = [values.mean(0), values.std(0), values.min(0), values.max(0), moves, *(one.mean(0) for one in thirds)]
    return np.concatenate(parts)


def around(frames: NDArray[Any]) -> Floats:
    """Each frame with those around it (steps, features); at the ends the outermost are repeated."""
    values = np.nan_to_num(frames.reshape(len(frames), -1).astype(np.float64))
    places = np.clip(np.arange(len(values))[:, None] + np.arange(-REACH, REACH + 1), 0, len(values) - 1)
    return np.concatenate([values[places].reshape(len(values), -1), np.abs(values - values.mean(0))], axis=1)


class Scaled:
    """Features with mean 0 and deviation 1 on the training data."""

    def __init__(self, rows: Floats) -> None:
        self.mean, self.deviation = rows.mean(0), np.maximum(rows.std(0), 1e-6)

    def rows(self, rows: Floats) -> Sparse:
        scaled = np.clip((rows - self.mean) / self.deviation, -5, 5) / np.sqrt(rows.shape[1])
        return beside([dense(scaled), constant(len(rows))])


def classified(train: Floats, labels: Sequence[str], test: Floats) -> list[str]:
    names = sorted(set(labels))
    scale = Scaled(train)
    weights = squared_hinge(scale.rows(train), signs_of(labels, names), STRENGTH)
    return named(scale.rows(test), weights, names)


def frame_label_baselines(train: Sequence[tuple[Floats, str]], test: Sequence[Floats]) -> list[Predicted]:
    """Of summaries of sequences, each with its label."""
    labels = [label for _, label in train]
    most = Counter(labels).most_common(1)[0][0]
    found = [Predicted("majority", "most frequent label", [[most]] * len(test))]
    if len({*labels}) < 2:
        return found
    said = classified(np.stack([row for row, _ in train]), labels, np.stack(test))
    return [*found, Predicted("linear", "linear model over mean and deviation in time", [[one] for one in said])]


def frame_number_baselines(train: Sequence[tuple[Floats, float]], test: Sequence[Floats]) -> list[Predicted]:
    numbers = np.array([number for _, number in train])
    mean, deviation = float(numbers.mean()), float(numbers.std()) or 1.0
    rows = np.stack([row for row, _ in train])
    scale = Scaled(rows)
    wanted = torch.tensor((numbers - mean) / deviation, dtype=torch.float32)[:, None]
    said = (scale.rows(np.stack(test)).matrix @ ridge(scale.rows(rows), wanted, STRENGTH))[:, 0] * deviation + mean
    return [
        Predicted("mean", "mean of the training data", [mean] * len(test)),
        Predicted("linear", "ridge regression over mean and deviation in time", said.tolist()),
    ]


def frame_tag_baselines(train: Sequence[tuple[Floats, Sequence[str]]], test: Sequence[Floats]) -> list[Predicted]:
    """Of sequences in which every frame stands with those around it, each frame with its tag."""
    tags = [tag for _, row in train for tag in row]
    most = Counter(tags).most_common(1)[0][0]
    found = [Predicted("majority", "most frequent tag", [[most] * len(one) for one in test])]
    if len({*tags}) < 2:
        return found
    chosen = sampled(len(tags), MOST_FRAMES)
    rows = np.concatenate([rows for rows, _ in train])[chosen]
    said = iter(classified(rows, [tags[place] for place in chosen], np.concatenate(test)))
    tagged = [[next(said) for _ in one] for one in test]
    return [*found, Predicted("linear", "linear model over the frames around each", tagged)]
