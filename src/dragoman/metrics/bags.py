"""Words that an answer shares with a reference, wherever they stand."""

from collections import Counter
from collections.abc import Sequence

import numpy

from dragoman.metrics.error_rates import percent_of_items, signer
from dragoman.metrics.measured import Counts, References
from dragoman.scripts import is_spaceless


def token_f1(hypotheses: Sequence[str], references: References) -> Counts:
    """Mean over answers of the F1 of their words with the reference for which it is highest."""
    items = [
        (max(f1(tokens_of(text), tokens_of(one)) for one in known), 1.0)
        for text, known in zip(hypotheses, references, strict=True)
    ]
    return Counts(numpy.array(items, numpy.float64), percent_of_items, signer(references, "token"))


def tokens_of(text: str) -> Counter[str]:
    """Words between spaces; in scripts that write none, every sign is one."""
    return Counter("".join(f" {sign} " if is_spaceless(sign) else sign for sign in text).split())


def f1(found: Counter[str], true: Counter[str]) -> float:
    """2 PR / (P + R) of two bags; where one is empty, 1 if both are."""
    if not found or not true:
        return float(found == true)
    return 2 * (found & true).total() / (found.total() + true.total())
