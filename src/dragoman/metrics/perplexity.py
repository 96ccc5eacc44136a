"""How many symbols a model hesitates between."""

import math
from collections.abc import Sequence

import numpy

from dragoman.errors import DataError
from dragoman.metrics.measured import SEED, Counts, Floats, Measured, in_conversations, measure_counts


def perplexity(total_log_probability: float, count: int) -> float:
    """exp(−total / count): the inverse geometric mean probability of a symbol."""
    if count < 1:
        raise DataError("The perplexity of no symbols is not defined.")
    try:
        return math.exp(-total_log_probability / count)
    except OverflowError:
        return math.inf


def measure_perplexity(
    log_probabilities: Sequence[float],
    counts: Sequence[int],
    resamples: int = 1000,
    seed: int = SEED,
    conversations: Sequence[str] = (),
) -> Measured:
    """Over targets with their log-probabilities and numbers of symbols, END counted; the interval is over targets, or
    over the conversations that they belong to."""
    counted = in_conversations(count_symbols(log_probabilities, counts), conversations)
    return measure_counts("perplexity", counted, resamples, seed)


def count_symbols(log_probabilities: Sequence[float], counts: Sequence[int]) -> Counts:
    """A target a row: its log-probability and its number of symbols."""
    if min(counts, default=0) < 1:
        raise DataError("The perplexity of no symbols is not defined.")
    return Counts(numpy.array([log_probabilities, counts], dtype=numpy.float64).T, of_sums, signature)


def of_sums(sums: Floats) -> Floats:
    return numpy.array([perplexity(float(total), int(count)) for total, count in sums])


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|unit:symbol|version:dragoman.1"
