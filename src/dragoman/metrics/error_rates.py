"""Edits to the nearest reference, and whole answers that are right or wrong."""

from collections.abc import Callable, Sequence

import numpy

from dragoman.metrics.edit_distance import edit_distance
from dragoman.metrics.measured import Counts, Floats, References

VERSION = 1  # of the arithmetic here; part of every signature


def words(hypotheses: Sequence[str], references: References) -> Counts:
    """Edits over symbols that stand between spaces: words, or phonemes."""
    return edits(hypotheses, references, "symbol", str.split)


def characters(hypotheses: Sequence[str], references: References) -> Counts:
    """Edits over characters, spaces counted."""
    return edits(hypotheses, references, "character", list)


def edits(hypotheses: Sequence[str], references: References, unit: str, cut: Callable[[str], Sequence[str]]) -> Counts:
    items = [
        nearest(cut(text), [cut(one) for one in known]) for text, known in zip(hypotheses, references, strict=True)
    ]
    return Counts(numpy.array(items, dtype=numpy.float64), percent_of_edits, signer(references, unit))


def nearest(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Edits to the nearest reference and its length; the longer one among equally near."""
    return min(((edit_distance(hypothesis, one), len(one)) for one in references), key=lambda pair: (pair[0], -pair[1]))


def percent_of_edits(sums: Floats) -> Floats:
    """Where all references are empty, each edit counts as 100 %."""
    return 100 * sums[:, 0] / numpy.maximum(sums[:, 1], 1)


def matches(hypotheses: Sequence[str], references: References) -> Counts:
    """Answers equal to any of their references."""
    items = [(float(text in known), 1.0) for text, known in zip(hypotheses, references, strict=True)]
    return Counts(numpy.array(items), percent_of_items, signer(references, "line"), proportion=True)


def mismatches(hypotheses: Sequence[str], references: References) -> Counts:
    """Answers equal to none of their references."""
    items = [(float(text not in known), 1.0) for text, known in zip(hypotheses, references, strict=True)]
    return Counts(numpy.array(items), percent_of_items, signer(references, "line"), proportion=True)


def percent_of_items(sums: Floats) -> Floats:
    return 100 * sums[:, 0] / sums[:, 1]


def signer(references: References, unit: str) -> Callable[[int, int], str]:
    """Signatures in the manner of sacrebleu."""
    numbers = {len(known) for known in references}
    count = numbers.pop() if len(numbers) == 1 else "var"
    return lambda resamples, seed: f"nrefs:{count}|bs:{resamples}|seed:{seed}|unit:{unit}|version:dragoman.{VERSION}"
