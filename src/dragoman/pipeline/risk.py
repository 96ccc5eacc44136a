"""Minimum Bayes risk: of several candidates the one that is most like all the others."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dragoman.contracts import Prediction
from dragoman.errors import choose
from dragoman.metrics.edit_distance import edit_distance

Likeness = Callable[[Any, Any], float]  # of a candidate to a stand-in for a reference, from 0 to 1
Orders = tuple[frozenset[str], ...]


def ngrams(text: str) -> Orders:
    """The n-grams of characters for n from 1 to 6; spaces do not count. An n-gram that occurred before has its number
    behind it, so that what two texts share is what their sets share."""
    letters, orders = "".join(text.split()), []
    for n in range(1, 7):
        seen: Counter[str] = Counter()
        numbered = set()
        for place in range(len(letters) - n + 1):
            gram = letters[place : place + n]
            numbered.add(f"{gram}{seen[gram]}" if seen[gram] else gram)
            seen[gram] += 1
        orders.append(frozenset(numbered))
    return tuple(orders)


def chrf(candidate: Orders, reference: Orders) -> float:
    """chrF2 of characters, up to six together (Popović 2015), as sacrebleu has it: every candidate is compared with all
    others, and counting the n-grams of each once is five times as fast."""
    ratios = []
    for one, other in zip(candidate, reference, strict=True):
        if one and other:
            matches = len(one & other)
            ratios.append((matches / len(one), matches / len(other)))
    precision, recall = (sum(parts) / len(ratios) for parts in zip(*ratios, strict=True)) if ratios else (0.0, 0.0)
    return 5 * precision * recall / (4 * precision + recall) if precision + recall else 0.0


def bleu(candidate: str, reference: str) -> float:
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU(effective_order=True).sentence_score(candidate, [reference]).score) / 100


def edit(candidate: list[str], reference: list[str]) -> float:
    return 1 - edit_distance(candidate, reference) / max(len(candidate), len(reference), 1)


def exact(candidate: str, reference: str) -> float:
    return float(candidate == reference)


# What is made of each text once, and what compares two of that.
LIKENESSES: dict[str, tuple[Callable[[str], Any], Likeness]] = {
    "chrf": (ngrams, chrf),
    "bleu": (str, bleu),
    "edit_distance": (str.split, edit),
    "exact_match": (str, exact),
}


def least_risk(candidates: Sequence[Prediction], utility: str, sampled: bool, n_best: int) -> tuple[Prediction, ...]:
    """argmax_y Σ_r p(r) u(y, r) over candidates y and r (Kumar and Byrne 2004; Eikema and Aziz 2020).

    Samples count as often as they were drawn; of a beam, p is the model's, brought to a sum of 1. Texts that are equal
    are one candidate, and of equal utilities the more probable comes first.
    """
    prepare, like = choose("utility", utility, LIKENESSES)
    weights = weights_of(candidates, sampled)
    seen = {text: prepare(text) for text in weights}
    kept = {one.text: one for one in sorted(candidates, key=lambda one: one.log_probability)}
    expected = {text: sum(weight * like(seen[text], seen[other]) for other, weight in weights.items()) for text in kept}
    ranked = sorted(kept.values(), key=lambda one: (-expected[one.text], -one.log_probability))
    return tuple(replace(one, utility=expected[one.text]) for one in ranked[:n_best])


def weights_of(candidates: Sequence[Prediction], sampled: bool) -> dict[str, float]:
    if sampled:
        return {text: count / len(candidates) for text, count in Counter(one.text for one in candidates).items()}
    most = max(one.log_probability for one in candidates)
    weights: Counter[str] = Counter()
    for one in candidates:
        weights[one.text] += math.exp(one.log_probability - most)  # type: ignore[assignment]
    return {text: weight / weights.total() for text, weight in weights.items()}
