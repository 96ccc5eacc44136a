"""A learning rate that is too high: the loss stays at that of a model which ignores its input."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from dragoman.data.store import Store

TOKENS = ("pairs", "captions", "windows", "streams", "labels", "tags")  # layouts whose targets are tokens or labels
ENDED = ("pairs", "captions")  # those whose targets get an end token, which the store does not hold
FROM, WINDOW = 0.05, 0.05  # the part of the training whose mean loss is judged: the second twentieth
FEWEST, JUDGED = 100, 20  # updates before a judgment, and within that part
FLAT = 0.98  # share of the unigram loss that a model has to come below
TELLING = 2.0  # nats of the unigram loss, below which a hard task and a rate that is too high look alike
LOWER, TIMES = 0.3, 2  # what the rate is multiplied with, and how often at most


@dataclass(frozen=True)
class Restart:
    """How a loss that does not fall is told, and what training begins anew with."""

    unigram: float  # nats per target token
    weights: Callable[[], dict[str, Tensor]]  # the first ones, by their names


def unigram_loss(store: Store, classes: int, smoothing: float) -> float | None:
    """Nats per target token of the best prediction that ignores the input, from the first chunk; the loss is smoothed
    as in training: H((1 − ε) p + ε / V)."""
    if store.layout not in TOKENS or not len(store):
        return None
    chunk = store.chunk(0)
    counts = np.bincount(np.asarray(chunk.target, np.int64), minlength=classes).astype(np.float64)
    if store.layout in ENDED:
        counts = np.append(counts, chunk.size)
    shares = (1 - smoothing) * counts / max(1.0, counts.sum()) + smoothing / max(1, classes)
    shares = shares[shares > 0]
    return float(-(shares * np.log(shares)).sum())
