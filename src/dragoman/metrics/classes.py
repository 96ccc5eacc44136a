"""Labels that are right or wrong: accuracy, F1, Matthews' correlation; what is taken for what.

An item is a text with one label, or a sentence with a label a word; intervals are over items.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from dragoman.errors import DataError
from dragoman.metrics.measured import Counts, Floats

Labels = Sequence[Sequence[str]]  # of each item, one or more
VERSION = 1  # of the arithmetic here; part of every signature


def accuracy(found: Labels, true: Labels) -> Counts:
    """Labels that are the true ones, of all labels."""
    check(found, true)
    items = [(sum(map(str.__eq__, one, other)), len(other)) for one, other in zip(found, true, strict=True)]
    return Counts(numpy.array(items, numpy.float64), share, signature, proportion=all(size == 1 for _, size in items))


def share(sums: Floats) -> Floats:
    return 100 * sums[:, 0] / sums[:, 1]


def macro_f1(found: Labels, true: Labels) -> Counts:
    """The mean over labels of F1 = 2 tp / (2 tp + fp + fn); those that neither were said nor are true are left out."""
    items = outcomes(found, true)
    classes = items.shape[1] // 3

    def score(sums: Floats) -> Floats:
        right, wrong, missed = (sums[:, part * classes : (part + 1) * classes] for part in range(3))
        there = 2 * right + wrong + missed
        each = 2 * right / numpy.maximum(there, 1)
        mean: Floats = 100 * each.sum(1) / numpy.maximum((there > 0).sum(1), 1)
        return mean

    return Counts(items, score, signature)


def binary_f1(found: Labels, true: Labels) -> Counts:
    """F1 = 2 tp / (2 tp + fp + fn) of the one of two labels that is the last in the order of the alphabet, as 1 is of 0
    and 1, or yes of no and yes (GLUE: Wang et al. 2019)."""
    items = outcomes(found, true)
    classes = items.shape[1] // 3
    items = items[:, classes - 1 :: classes]
    return Counts(
        items, lambda sums: 100 * 2 * sums[:, 0] / numpy.maximum(2 * sums[:, 0] + sums[:, 1] + sums[:, 2], 1), signature
    )


def micro_f1(found: Labels, true: Labels) -> Counts:
    """F1 = 2 tp / (2 tp + fp + fn) with the counts of all labels added up; one label an item makes it the accuracy."""
    items = outcomes(found, true)
    classes = items.shape[1] // 3
    items = numpy.stack([items[:, part * classes : (part + 1) * classes].sum(1) for part in range(3)], 1)
    return Counts(items, lambda sums: 100 * 2 * sums[:, 0] / (2 * sums[:, 0] + sums[:, 1] + sums[:, 2]), signature)


def matthews(found: Labels, true: Labels) -> Counts:
    """(c s − Σ p_k t_k) / √((s² − Σ p_k²)(s² − Σ t_k²)), times 100, with c of s labels right, p_k times k said and t_k
    times k true (Gorodkin 2004); 0 where one of them is constant."""
    check(found, true)
    known = numbered(found, true)
    size = len(known)
    items = numpy.zeros((len(true), 2 * size + 2))
    for row, one, other in zip(items, found, true, strict=True):
        for said, wanted in zip(one, other, strict=True):
            row[known[said]] += 1
            row[size + known[wanted]] += 1
            row[-2:] += (said == wanted, 1)

    def score(sums: Floats) -> Floats:
        said, wanted, right, total = sums[:, :size], sums[:, size:-2], sums[:, -2], sums[:, -1]
        below = (total**2 - (said**2).sum(1)) * (total**2 - (wanted**2).sum(1))
        above = right * total - (said * wanted).sum(1)
        found: Floats = 100 * above / numpy.sqrt(numpy.where(below > 0, below, numpy.inf))
        return found

    return Counts(items, score, signature)


def outcomes(found: Labels, true: Labels) -> Floats:
    """An item a row: of each label how often it is right, said wrongly, and missed."""
    check(found, true)
    known = numbered(found, true)
    items = numpy.zeros((len(true), 3 * len(known)))
    for row, one, other in zip(items, found, true, strict=True):
        for said, wanted in zip(one, other, strict=True):
            if said == wanted:
                row[known[said]] += 1
            else:
                row[len(known) + known[said]] += 1
                row[2 * len(known) + known[wanted]] += 1
    return items


def numbered(found: Labels, true: Labels) -> dict[str, int]:
    names = sorted({label for items in (found, true) for item in items for label in item})
    return {name: number for number, name in enumerate(names)}


def check(found: Labels, true: Labels) -> None:
    """A score over nothing, or over labels that do not belong together, is an error, not a number."""
    if not true:
        raise DataError("There is nothing to measure: no labels were given.")
    if list(map(len, found)) != list(map(len, true)):
        raise DataError(f"Labels of {len(found):,} items cannot be compared with those of {len(true):,} others.")


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|unit:item|version:dragoman.{VERSION}"


@dataclass(frozen=True)
class OfClass:
    """How good a model is at one label, in percent."""

    label: str
    precision: float  # of the times it was said, it was true
    recall: float  # of the times it was true, it was said
    f1: float
    support: int  # times it was true


@dataclass(frozen=True)
class ClassReport:
    """Every label by itself, and what was taken for what: a row a true label, a column a label that was said."""

    labels: tuple[str, ...]
    classes: tuple[OfClass, ...]
    confusion: tuple[tuple[int, ...], ...]

    def confused(self, most: int) -> list[tuple[str, str, int]]:
        """(true, said, how often) where they differ, the most frequent first."""
        found = [
            (true, said, count)
            for true, row in zip(self.labels, self.confusion, strict=True)
            for said, count in zip(self.labels, row, strict=True)
            if count and said != true
        ]
        return sorted(found, key=lambda one: -one[2])[:most]


def class_report(found: Labels, true: Labels) -> ClassReport:
    """Of all labels that were said or are true, in the order of the alphabet."""
    check(found, true)
    counts = Counter(
        (wanted, said) for one, other in zip(found, true, strict=True) for said, wanted in zip(one, other, strict=True)
    )
    names = tuple(numbered(found, true))
    matrix = tuple(tuple(counts[wanted, said] for said in names) for wanted in names)
    columns = tuple(map(sum, zip(*matrix, strict=True)))
    classes = [
        of_class(name, matrix[number][number], columns[number], sum(matrix[number]))
        for number, name in enumerate(names)
    ]
    return ClassReport(names, tuple(classes), matrix)


def of_class(label: str, right: int, said: int, true: int) -> OfClass:
    precision, recall = (100 * right / max(1, count) for count in (said, true))
    return OfClass(label, precision, recall, 200 * right / max(1, said + true), true)
