"""ROUGE as rouge-score computes it (Lin 2004), for summaries in English."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy

from dragoman.errors import ConfigError, DataError
from dragoman.metrics.error_rates import percent_of_items
from dragoman.metrics.measured import Counts, References


def f_score(kind: str, hypotheses: Sequence[str], references: References) -> Counts:
    """The mean over all answers of F1 with the reference that is nearest."""
    refuse_other_scripts(references)
    scorer = scorer_of((kind,))
    pairs = zip(hypotheses, references, strict=True)
    items = [(scorer.score_multi(known, text)[kind].fmeasure, 1.0) for text, known in pairs]
    return Counts(numpy.array(items, dtype=numpy.float64), percent_of_items, signer(references))


def rouge1(hypotheses: Sequence[str], references: References) -> Counts:
    """Lin 2004, as rouge-score has it: words of a to z and digits, not stemmed; the mean over all answers."""
    return f_score("rouge1", hypotheses, references)


def rouge2(hypotheses: Sequence[str], references: References) -> Counts:
    """Lin 2004: the same of pairs of words."""
    return f_score("rouge2", hypotheses, references)


def rouge_l(hypotheses: Sequence[str], references: References) -> Counts:
    """Lin 2004: the same of the longest sequence of words that both have in this order."""
    return f_score("rougeL", hypotheses, references)


def scorer_of(kinds: Sequence[str] = ()) -> Any:
    try:
        from rouge_score.rouge_scorer import RougeScorer  # importing it takes a second
    except ImportError:
        raise ConfigError("ROUGE needs another package: pip install 'dragoman[metrics]'.") from None
    return RougeScorer(list(kinds), use_stemmer=False)


def refuse_other_scripts(references: References) -> None:
    """rouge-score sees a to z and digits, and takes all else for spaces: a good answer in Greek would have 0."""
    letters, strange = 0, 0
    for text in (text for known in references for text in known):
        letters += sum(map(str.isalpha, text))
        strange += sum(one.isalpha() and not one.isascii() for one in text)
    if 2 * strange > letters:
        raise DataError(
            "ROUGE counts words of the letters a to z, and these references have others. Take chrf instead."
        )


def signer(references: References) -> Callable[[int, int], str]:
    numbers = {len(known) for known in references}
    count = numbers.pop() if len(numbers) == 1 else "var"
    package = version("rouge-score")
    return lambda resamples, seed: f"nrefs:{count}|bs:{resamples}|seed:{seed}|stem:no|version:rouge-score.{package}"
