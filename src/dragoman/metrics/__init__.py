"""How good a corpus of answers is: thin names over sacrebleu, and what no library has."""

from collections.abc import Sequence
from functools import partial

from dragoman.errors import ConfigError, choose
from dragoman.metrics.error_rates import characters, matches, mismatches, words
from dragoman.metrics.measured import SEED, Counts, Measured, Metric, References, check, measure_counts
from dragoman.metrics.perplexity import measure_perplexity, perplexity
from dragoman.metrics.translation import bleu, chrf, ter

__all__ = ["METRICS", "Counts", "Measured", "Metric", "count", "measure", "measure_perplexity", "perplexity"]

METRICS = {
    metric.name: metric
    for metric in (
        Metric("bleu", "BLEU", True, bleu),
        Metric("chrf", "chrF2, character n-gram F-score", True, chrf),
        Metric("ter", "translation edit rate, with shifts", False, ter),
        Metric("word_error_rate", "edits per 100 reference words", False, words),
        Metric("phoneme_error_rate", "edits per 100 reference phonemes", False, words),
        Metric("character_error_rate", "edits per 100 reference characters", False, characters),
        Metric("exact_match", "% equal to a reference", True, matches),
        Metric("sequence_error_rate", "% equal to no reference (g2p: WER)", False, mismatches),
    )
}


def measure(
    names: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    resamples: int = 1000,
    seed: int = SEED,
    tokenise: str = "auto",
) -> list[Measured]:
    """The metrics in the order asked for; every metric sees the same resamples. `tokenise` is for BLEU."""
    metrics = [choose("metric", name, METRICS) for name in names]
    if resamples < 1:
        raise ConfigError(f"An interval needs at least one resample, not {resamples}.")
    counts = [count(one.name, hypotheses, references, tokenise) for one in metrics]
    return [measure_counts(one.name, counted, resamples, seed) for one, counted in zip(metrics, counts, strict=True)]


def count(name: str, hypotheses: Sequence[str], references: References, tokenise: str = "auto") -> Counts:
    """All that the corpus score of a metric depends on, an item a row."""
    metric = choose("metric", name, METRICS)
    check(hypotheses, references)
    return {"bleu": partial(bleu, tokenise=tokenise)}.get(name, metric.count)(hypotheses, references)
