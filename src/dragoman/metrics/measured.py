"""A score of a corpus with its interval."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy
from numpy.typing import NDArray

from dragoman.errors import DataError

Floats = NDArray[numpy.float64]
SEED = 12345  # what sacrebleu takes as well
Z = 1.959964  # standard deviations on either side of 95 %
References = Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class Measured:
    """A value, the 95 % interval of its bootstrap, and what it takes to repeat it."""

    name: str
    value: float
    low: float
    high: float
    signature: str


@dataclass(frozen=True)
class Counts:
    """All that a corpus score depends on: numbers an item, which add up, and the score of each row of such sums."""

    items: Floats  # an item a row
    score: Callable[[Floats], Floats]
    signature: Callable[[int, int], str]  # of the number of resamples and the seed
    proportion: bool = False  # the score is a percentage of the items: rows of (hit, 1)


@dataclass(frozen=True)
class Metric:
    """A name for tables and command line, and how to count."""

    name: str
    title: str
    higher_is_better: bool
    count: Callable[[Sequence[str], References], Counts]
    needed: Callable[[], object] = lambda: None  # complains where a package is not there


def grouped(counts: Counts, groups: Sequence[str]) -> Counts:
    """A row for all items of one group, in which they are alike and no draws of their own."""
    rows = {name: row for row, name in enumerate(sorted(set(groups)))}  # names may be whole conversations: no array
    sums = numpy.zeros((len(rows), counts.items.shape[1]))
    numpy.add.at(sums, [rows[name] for name in groups], counts.items)
    return replace(counts, items=sums)


def in_conversations(counts: Counts, conversations: Sequence[str]) -> Counts:
    """Whole conversations are drawn, whose turns are alike; of one alone, its turns, since nothing else is there to be
    drawn. None are named where items are no turns."""
    if len(set(conversations)) < 2:
        return counts
    drawn = grouped(counts, conversations)
    return replace(drawn, signature=lambda resamples, seed: f"{counts.signature(resamples, seed)}|drawn:conversation")


def measure_counts(name: str, counts: Counts, resamples: int, seed: int) -> Measured:
    """The plain score of the whole corpus, between the outer fortieths of the scores of its resamples. Where all items
    or none are hits, all resamples are the same; Wilson's interval still knows how many items there were."""
    value = float(counts.score(counts.items.sum(0, keepdims=True))[0])
    scores = numpy.sort(counts.score(resampled(counts.items, resamples, seed)))
    tail = resamples // 40  # 2.5 % on either side
    low, high = float(scores[tail]), float(scores[-1 - tail])
    signature = counts.signature(resamples, seed)
    if counts.proportion and value in (0.0, 100.0):
        low, high = wilson(value, len(counts.items))
        signature += "|interval:wilson"
    return Measured(name, value, low, high, signature)


def wilson(percentage: float, items: int) -> tuple[float, float]:
    """The 95 % interval of a percentage of n items (Wilson 1927); of 0 or 100 % it reaches z² / (n + z²) of the way to
    the other end."""
    share, weight = percentage / 100, Z**2 / items
    centre = (share + weight / 2) / (1 + weight)
    reach = math.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    low, high = 100 * (centre - reach), 100 * (centre + reach)
    return 0.0 if percentage == 0 else low, 100.0 if percentage == 100 else high


def resampled(items: Floats, resamples: int, seed: int) -> Floats:
    """Sums over items drawn with replacement, a draw a row (Efron 1979; Koehn 2004).

    How often each item was drawn times the items: no drawn corpus is ever held in memory.
    """
    generator = numpy.random.default_rng(seed)
    sums = numpy.empty((resamples, items.shape[1]))
    for draw in range(resamples):
        drawn = generator.choice(len(items), size=len(items), replace=True)
        sums[draw] = numpy.bincount(drawn, minlength=len(items)) @ items
    return sums


def check(hypotheses: Sequence[str], references: References) -> None:
    """A score over nothing, or over lines that do not belong together, is an error, not a number."""
    if len(hypotheses) != len(references):
        raise DataError(f"{len(hypotheses):,} hypotheses cannot be compared with references for {len(references):,}.")
    if not hypotheses:
        raise DataError("There is nothing to measure: no hypotheses were given.")
    for number, known in enumerate(references, start=1):
        if not known:
            raise DataError(f"Item {number:,} has no reference.")
