"""Vectors of n-grams for decoders, chosen by the number of tokens and by how often they are seen."""

import math
from collections.abc import Iterator

from dragoman.defaults.choice import Choice

LONGEST = 4  # n-gram of tokens that has a vector, where texts are seen …
FEW = 3  # times at most: the n-grams of what is seen more often are learned by heart


def ngram_choices(tokens: int, planned: float, seen: float, what: str) -> Iterator[Choice]:
    """Vectors of n-grams, up to one for sixteen tokens. `planned` is how often each text is seen by a careful estimate,
    which does not change with the speed; `seen` how often by all that is known."""
    if planned > FEW:
        often = f"each {what} is seen about {planned:.2g} times"
        yield Choice("model.ngrams.longest", 1, f"{often}: n-grams would be learned by heart")
        return
    often = f"each {what} is seen about {seen:.2g} times"
    buckets = 2 ** min(20, max(12, round(math.log2(max(1, tokens) / 16))))
    dropout = next(share for most, share in ((2, 0.0), (math.inf, 0.2)) if seen <= most)
    yield Choice("model.ngrams.longest", LONGEST, "few epochs: what n-grams tell is learned first")
    yield Choice("model.ngrams.buckets", buckets, f"{tokens:,} tokens")
    yield Choice("model.ngrams.dropout", dropout, often)
