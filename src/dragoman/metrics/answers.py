"""How good short answers to questions are, by the rules of SQuAD."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

import numpy

from dragoman.metrics.error_rates import percent_of_items
from dragoman.metrics.measured import Counts, References, check

VERSION = 1  # of the arithmetic here; part of every signature
ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """Small letters, without punctuation (of ASCII) and articles, one space between words (Rajpurkar et al. 2016)."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(PUNCTUATION)).split())


def exact_answers(found: Sequence[str], true: References) -> Counts:
    """Answers that are, normalised, equal to any of their references."""
    return best_of(found, true, lambda one, other: float(normalised(one) == normalised(other)), proportion=True)


def answer_f1(found: Sequence[str], true: References) -> Counts:
    """Mean over questions of the F1 of words, normalised, with the reference for which it is highest."""
    return best_of(found, true, word_f1)


def word_f1(found: str, true: str) -> float:
    """2 PR / (P + R) of the bags of words; where one has none, 1 if neither has any (Rajpurkar et al. 2018)."""
    said, wanted = normalised(found).split(), normalised(true).split()
    if not said or not wanted:
        return float(said == wanted)
    same = (Counter(said) & Counter(wanted)).total()
    return 2 * same / (len(said) + len(wanted))


def best_of(
    found: Sequence[str], true: References, alike: Callable[[str, str], float], proportion: bool = False
) -> Counts:
    """References that are empty once normalised count only where there is no other, as in the official program."""
    check(found, true)
    items = []
    for one, references in zip(found, true, strict=True):
        known = [reference for reference in references if normalised(reference)] or [""]
        items.append((max(alike(one, reference) for reference in known), 1.0))
    return Counts(numpy.array(items, numpy.float64), percent_of_items, signature, proportion)


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|norm:squad|refs:max|version:dragoman.{VERSION}"
