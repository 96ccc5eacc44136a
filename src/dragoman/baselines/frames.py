"""Baselines of sequences of frames: the most frequent label, and a linear model over how each number is
distributed in time."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.baselines.clock import timed
from dragoman.baselines.labels import named, signs_of
from dragoman.baselines.predicted import Baselines, Predicted, sampled
from dragoman.baselines.solver import ridge, squared_hinge
from dragoman.baselines.sparse import Sparse, beside, dense
from dragoman.baselines.texts import constant

Floats = NDArray[np.float64]
MOST_FRAMES = 200_000  # with a label each, that are learned from
STRENGTH = 1.0
REACH = 2  # frames on either side
WIDER = 2 * REACH + 2  # numbers of a frame with those around it, for each of its own
MOST_NUMBERS = 2**24  # of all features that are learned from
BLOCK = 2**20  # numbers of features that are computed at once


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


def around(frames: NDArray[Any], steps: NDArray[np.int64]) -> Floats:
    """Some frames, each with those around it (steps, features); at the ends the outermost are repeated."""
    places = np.clip(steps[:, None] + np.arange(-REACH, REACH + 1), 0, len(frames) - 1)
    near = frames[places].astype(np.float64)
    mean = frames.mean(0, dtype=np.float64)
    return np.concatenate([near.reshape(len(steps), -1), np.abs(near[:, REACH] - mean)], axis=1)


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


def frame_label_baselines(train: Sequence[tuple[Floats, str]], test: Sequence[Floats]) -> Baselines:
    """Of summaries of sequences, each with its label."""
    labels = [label for _, label in train]
    yield Predicted("majority", "most frequent label", [[Counter(labels).most_common(1)[0][0]]] * len(test))
    if len({*labels}) < 2:
        return
    said = classified(np.stack([row for row, _ in train]), labels, np.stack(test))
    yield Predicted("linear", "linear model over mean and deviation in time", [[one] for one in said])


def frame_number_baselines(train: Sequence[tuple[Floats, float]], test: Sequence[Floats]) -> Baselines:
    numbers = np.array([number for _, number in train])
    mean, deviation = float(numbers.mean()), float(numbers.std()) or 1.0
    yield Predicted("mean", "mean of the training data", [mean] * len(test))
    rows = np.stack([row for row, _ in train])
    scale = Scaled(rows)
    wanted = torch.tensor((numbers - mean) / deviation, dtype=torch.float32)[:, None]
    said = (scale.rows(np.stack(test)).matrix @ ridge(scale.rows(rows), wanted, STRENGTH))[:, 0] * deviation + mean
    yield Predicted("linear", "ridge regression over mean and deviation in time", said.tolist())


def frame_tag_baselines(train: Sequence[tuple[NDArray[Any], Sequence[str]]], test: Sequence[NDArray[Any]]) -> Baselines:
    """Of sequences of frames (steps, features), each frame with its tag."""
    counts = Counter(tag for _, row in train for tag in row)
    yield Predicted("majority", "most frequent tag", [[counts.most_common(1)[0][0]] * len(one) for one in test])
    if len(counts) < 2:
        return
    chosen = np.array(sampled(counts.total(), max(1, min(MOST_FRAMES, MOST_NUMBERS // WIDER // train[0][0].shape[1]))))
    ends = np.cumsum([len(frames) for frames, _ in train])
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    steps = [part - end + len(frames) for part, end, (frames, _) in zip(parts, ends, train, strict=True)]
    rows = np.concatenate([around(frames, some) for some, (frames, _) in timed(zip(steps, train, strict=True))])
    tags = [row[step] for some, (_, row) in zip(steps, train, strict=True) for step in some.tolist()]
    scale, names = Scaled(rows), sorted(counts)
    weights = squared_hinge(scale.rows(rows), signs_of(tags, names), STRENGTH)
    tagged = [
        [tag for some in portions(one) for tag in named(scale.rows(around(one, some)), weights, names)]
        for one in timed(test)
    ]
    whole = f", trained on {len(chosen):,} of {counts.total():,} frames" if len(chosen) < counts.total() else ""
    yield Predicted("linear", f"linear model over the frames around each{whole}", tagged)


def portions(frames: NDArray[Any]) -> list[NDArray[np.int64]]:
    """The steps of a sequence, so many at once that what stands around them fits into memory."""
    size = max(1, BLOCK // WIDER // max(1, frames.shape[1]))
    return [np.arange(start, min(len(frames), start + size)) for start in range(0, len(frames), size)]
