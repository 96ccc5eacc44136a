"""Whether models differ by more than chance: paired approximate randomisation, corrected for several comparisons."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import numpy

from dragoman.metrics.measured import SEED, Counts, Floats
from dragoman.watching import Watch, unwatched

CHANCE = 0.05  # p from which on a difference may be chance
TRIALS = 2_000  # exchanges that are drawn; of fewer possible ones, all are tried
TRIALS_A_PAIR = 200  # of models: many comparisons need a small p, and a small p needs many exchanges
BLOCK = 4_000_000  # numbers of exchanges that are held at once


def written_p(p: float) -> str:
    """p = 0.012"""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def pairs_of(models: int) -> int:
    """Comparisons that could have been made: the best is known only from the same data, so all of them count."""
    return models * (models - 1) // 2


def trials_of(models: int) -> int:
    return max(TRIALS, TRIALS_A_PAIR * pairs_of(models))


def difference_by_chance(first: Counts, second: Counts, trials: int = TRIALS, seed: int = SEED) -> float:
    return differences_by_chance([(first, second)], trials, seed)[0]


def differences_by_chance(
    pairs: Sequence[tuple[Counts, Counts]],
    trials: int = TRIALS,
    seed: int = SEED,
    watch: Watch = unwatched,
) -> list[float]:
    """p of the difference of two corpus scores (Noreen 1989; Riezler & Maxwell 2005), pair by pair; all count the same
    items, so exchanges are drawn once for all.

    If the models were alike, it would not matter which answer to a sentence is whose: exchange them at random, sentence
    by sentence, and count how often the scores then differ at least as much. p = (count + 1) / (trials + 1); where all
    2ⁿ exchanges are tried, p is exact: count / 2ⁿ.
    """
    apart = [one for one in map(Apart, pairs) if one.gaps.any()]
    if not apart:
        return [1.0] * len(pairs)
    items = len(apart[0].gaps)
    exact = 2**items <= trials
    tried = 0
    for swapped in every_exchange(items) if exact else exchanges(items, trials, seed):
        for one in apart:
            one.exchange(swapped)
        tried += len(swapped)
        watch("exchanges tried", tried, 2**items if exact else trials)
    chances = {id(one.pair): one.count / tried if exact else (one.count + 1) / (tried + 1) for one in apart}
    return [chances.get(id(pair), 1.0) for pair in pairs]


class Apart:
    """Two models, how far apart they are, and how many exchanges put them as far apart."""

    def __init__(self, pair: tuple[Counts, Counts]) -> None:
        self.pair, self.count = pair, 0
        self.sums = [one.items.sum(0, keepdims=True) for one in pair]
        self.gaps = pair[1].items - pair[0].items
        self.distance = float(self.distances(*self.sums)[0])

    def distances(self, sums: Floats, others: Floats) -> Floats:
        found: Floats = numpy.abs(self.pair[0].score(sums) - self.pair[1].score(others))
        return found

    def exchange(self, swapped: Floats) -> None:
        moved = swapped @ self.gaps
        found = self.distances(self.sums[0] + moved, self.sums[1] - moved)
        self.count += int((found >= self.distance - 1e-9 * max(1.0, self.distance)).sum())


def every_exchange(items: int) -> Iterable[Floats]:
    return [numpy.array(list(product((0.0, 1.0), repeat=items)))]


def exchanges(items: int, trials: int, seed: int) -> Iterator[Floats]:
    """Rows of zeros and ones, some at a time."""
    generator = numpy.random.default_rng(seed)
    rows = max(1, BLOCK // items)
    for start in range(0, trials, rows):
        yield generator.integers(0, 2, (min(rows, trials - start), items), numpy.int8).astype(numpy.float64)


def holm(values: Sequence[float], comparisons: int | None = None) -> list[float]:
    """p-values corrected for the number of comparisons (Holm 1979): the smallest times n, the next times n − 1, never
    falling. Where these are the values of some of the comparisons only, none comes out smaller than among all."""
    number_of, corrected, highest = comparisons or len(values), [0.0] * len(values), 0.0
    for place, number in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (number_of - place) * values[number]))
        corrected[number] = highest
    return corrected
