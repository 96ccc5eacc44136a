"""A learning rate that is too high: the loss stays at that of a model which ignores its input."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from dragoman.data.store import Store

TOKENS = ("pairs", "captions", "windows", "streams", "labels", "tags")  # layouts whose targets are tokens or labels
ENDED = ("pairs", "captions")  # those whose targets get an end token, which the store does not hold
FROM, WINDOW = 0.05, 0.05  # the part of the training whose mean loss is judged: the second twentieth
FEWEST, JUDGED = 100, 20  # updates from the first weights that are not judged, and those that are at least
# Classes from which on more updates are not judged. A translator of 4,000 sub-words was at the unigram loss after 130
# updates at a rate at which it learns: lowered there, it had a perplexity of 138 after two minutes; left alone, with
# another seed, of 29 after one and a half.
MANY_CLASSES, FEWEST_OF_MANY = 500, 500
LATEST = 0.5  # share of the training from which on it does not pay to begin again
FLAT = 0.98  # share of the unigram loss that a model has to come below
TELLING = 2.0  # nats of the unigram loss, below which a hard task and a rate that is too high look alike
LOWER, TIMES = 0.3, 2  # what the rate is multiplied with, and how often at most


@dataclass(frozen=True)
class Restart:
    """How a loss that does not fall is told, and what training begins anew with."""

    unigram: float  # nats per target token
    fewest: int  # updates that a model has to come below it
    weights: Callable[[], dict[str, Tensor]]  # the first ones, by their names


def fewest_of(classes: int) -> int:
    return FEWEST_OF_MANY if classes >= MANY_CLASSES else FEWEST


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
