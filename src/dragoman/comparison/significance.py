"""Whether models differ by more than chance: paired approximate randomisation, corrected for several comparisons."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy

from dragoman.metrics.measured import SEED, Counts, Floats

TRIALS = 2_000  # exchanges that are drawn; of fewer possible ones, all are tried
BLOCK = 4_000_000  # numbers of exchanges that are held at once


def difference_by_chance(first: Counts, second: Counts, trials: int = TRIALS, seed: int = SEED) -> float:
    """p of the difference of two corpus scores (Noreen 1989; Riezler & Maxwell 2005).

    If the models were alike, it would not matter which answer to a sentence is whose: exchange them at random, sentence
    by sentence, and count how often the scores then differ at least as much. p = (count + 1) / (trials + 1); where all
    2ⁿ exchanges are tried, p is exact: count / 2ⁿ.
    """
    sums = first.items.sum(0, keepdims=True), second.items.sum(0, keepdims=True)
    apart = abs(difference(first, second, *sums))
    gaps = second.items - first.items
    if not gaps.any():
        return 1.0
    exact = 2 ** len(gaps) <= trials
    count = tried = 0
    for swapped in every_exchange(len(gaps)) if exact else exchanges(len(gaps), trials, seed):
        moved = swapped @ gaps
        found = numpy.abs(difference(first, second, sums[0] + moved, sums[1] - moved))
        count += int((found >= apart - 1e-9 * max(1.0, float(apart[0]))).sum())
        tried += len(swapped)
    return count / tried if exact else (count + 1) / (tried + 1)


def difference(first: Counts, second: Counts, sums: Floats, others: Floats) -> Floats:
    found: Floats = first.score(sums) - second.score(others)
    return found


def every_exchange(items: int) -> Iterable[Floats]:
    return [numpy.array(list(product((0.0, 1.0), repeat=items)))]


def exchanges(items: int, trials: int, seed: int) -> Iterator[Floats]:
    """Rows of zeros and ones, some at a time."""
    generator = numpy.random.default_rng(seed)
    rows = max(1, BLOCK // items)
    for start in range(0, trials, rows):
        yield generator.integers(0, 2, (min(rows, trials - start), items)).astype(numpy.float64)


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979): the smallest times n, the next times n − 1, never falling."""
    corrected, highest = [0.0] * len(values), 0.0
    for place, number in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - place) * values[number]))
        corrected[number] = highest
    return corrected
