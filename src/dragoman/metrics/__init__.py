"""How good a corpus of answers is: thin names over sacrebleu, and what no library has."""

from collections.abc import Sequence
from functools import partial

from dragoman.errors import ConfigError, choose
from dragoman.metrics.bags import token_f1
from dragoman.metrics.error_rates import characters, matches, mismatches, words
from dragoman.metrics.measured import (
    SEED,
    Counts,
    Measured,
    Metric,
    References,
    check,
    in_conversations,
    measure_counts,
    wilson,
)
from dragoman.metrics.perplexity import measure_perplexity, perplexity
from dragoman.metrics.rouge import rouge1, rouge2, rouge_l, scorer_of
from dragoman.metrics.translation import bleu, bleu_lowercase, chrf, ter

__all__ = [
    "METRICS",
    "Counts",
    "Measured",
    "Metric",
    "count",
    "goodness",
    "graded_of",
    "measure",
    "measure_perplexity",
    "perplexity",
    "wilson",
]

METRICS = {
    metric.name: metric
    for metric in (
        Metric("bleu", "BLEU", True, bleu),
        Metric("bleu_lowercase", "BLEU, capital letters as small ones", True, bleu_lowercase),
        Metric("chrf", "chrF2, character n-gram F-score", True, chrf),
        Metric("ter", "translation edit rate, with shifts", False, ter),
        Metric("rouge1", "ROUGE-1, F-score of words", True, rouge1, scorer_of),
        Metric("rouge2", "ROUGE-2, F-score of pairs of words", True, rouge2, scorer_of),
        Metric("rouge_l", "ROUGE-L, F-score of the longest common subsequence", True, rouge_l, scorer_of),
        Metric("word_error_rate", "edits per 100 reference words", False, words),
        Metric("phoneme_error_rate", "edits per 100 reference phonemes", False, words),
        Metric("character_error_rate", "edits per 100 reference characters", False, characters),
        Metric("exact_match", "% equal to a reference", True, matches),
        Metric("token_f1", "F-score of words, in any order", True, token_f1),
        Metric("sequence_error_rate", "% equal to no reference (g2p: WER)", False, mismatches),
    )
}

GRADED = (
    "chrf",
    "word_error_rate",
    "phoneme_error_rate",
    "character_error_rate",
    "ter",
    "rouge_l",
    "token_f1",
)  # tell sentences apart


def measure(
    names: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    resamples: int = 1000,
    seed: int = SEED,
    tokenise: str = "auto",
    conversations: Sequence[str] = (),
) -> list[Measured]:
    """The metrics in the order asked for; every metric sees the same resamples. `tokenise` is for BLEU, and
    `conversations` are those that items belong to, if any: they are drawn as a whole."""
    metrics = [choose("metric", name, METRICS) for name in names]
    if resamples < 1:
        raise ConfigError(f"An interval needs at least one resample, not {resamples}.")
    every = [count(one.name, hypotheses, references, tokenise) for one in metrics]
    counts = [in_conversations(counted, conversations) for counted in every]
    return [measure_counts(one.name, counted, resamples, seed) for one, counted in zip(metrics, counts, strict=True)]


def count(name: str, hypotheses: Sequence[str], references: References, tokenise: str = "auto") -> Counts:
    """All that the corpus score of a metric depends on, an item a row."""
    metric = choose("metric", name, METRICS)
    check(hypotheses, references)
    tokenised = {"bleu": bleu, "bleu_lowercase": bleu_lowercase}
    counted = partial(tokenised[name], tokenise=tokenise) if name in tokenised else metric.count
    return counted(hypotheses, references)


def graded_of(names: Sequence[str]) -> str:
    """The first metric that tells single sentences apart."""
    return next((name for name in names if name in GRADED), "chrf")


def goodness(name: str, counts: Counts) -> list[float]:
    """The score of every sentence by itself, turned so that 0 is bad and 100 is good: an endless answer is not worse
    than a wrong one."""
    values = [float(value) for value in counts.score(counts.items)]
    return values if METRICS[name].higher_is_better else [max(0.0, 100 - value) for value in values]
