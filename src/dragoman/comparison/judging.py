"""Contenders side by side: metrics with intervals, what is chance, quality by length, and who fails alone."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from dragoman.comparison.answering import Answered, Items
from dragoman.comparison.significance import difference_by_chance, holm
from dragoman.inspection.report.answers import BUCKET_RESAMPLES, length_groups
from dragoman.inspection.report.contents import OFTEN_RIGHT
from dragoman.metrics import METRICS, Counts, Measured, count
from dragoman.metrics.measured import SEED, measure_counts
from dragoman.metrics.perplexity import count_symbols
from dragoman.served import Evaluation

PERPLEXITY = "perplexity"
GRADED = ("chrf", "word_error_rate", "phoneme_error_rate", "character_error_rate", "ter")  # tell sentences apart
SHOWN = 3  # sentences of each kind that a model gets right, or wrong, alone


@dataclass(frozen=True)
class Score:
    """A metric of one contender."""

    measured: Measured
    best: bool  # of all contenders
    p: float | None  # that it differs from the best by chance, corrected; None for the best itself


@dataclass(frozen=True)
class Bucket:
    """Test sources of about the same length, and the metric of each contender on them."""

    shortest: int
    longest: int
    count: int
    measured: tuple[Measured, ...]


@dataclass(frozen=True)
class Alone:
    """Places of the sources that one contender alone gets right, and alone gets wrong; the most striking first."""

    right: tuple[int, ...]
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Judged:
    """All contenders on the same test data, each list in their order."""

    metrics: tuple[str, ...]  # the first one decides which is best; perplexity is the last
    scores: tuple[dict[str, Score], ...]
    buckets: tuple[Bucket, ...]
    sentence_metric: str  # by which single sentences are told apart
    sentences: tuple[tuple[float, ...], ...]  # goodness of each answer: higher is better, whatever the metric
    bar: float | None  # goodness from which on an answer is right; None: it is equal to a reference
    alone: tuple[Alone, ...]

    @property
    def best(self) -> int:
        return next(place for place, scores in enumerate(self.scores) if scores[self.metrics[0]].best)


def judge(evaluation: Evaluation, items: Items, found: Sequence[Answered], alike: bool) -> Judged:
    """`alike` says that all have the same target symbols: only then can perplexities be compared."""
    references = [targets for _, targets in items]
    names = evaluation.metrics or ("exact_match",)
    counts = {name: [count(name, one.answers, references, evaluation.tokenise) for one in found] for name in names}
    scores = {name: scored(name, counts[name], evaluation.resamples) for name in names}
    symbols = [count_symbols(one.log_probabilities, one.symbols) for one in found]
    scores[PERPLEXITY] = scored(PERPLEXITY, symbols, evaluation.resamples, alike)
    graded = next((name for name in names if name in GRADED), "chrf")
    sentences = [goodness(graded, count(graded, one.answers, references)) for one in found]
    right, bar = rightness(found, references, sentences)
    return Judged(
        metrics=(*names, PERPLEXITY),
        scores=tuple({name: scores[name][place] for name in scores} for place in range(len(found))),
        buckets=by_length(names[0], counts[names[0]], found[0].lengths),
        sentence_metric=graded,
        sentences=tuple(map(tuple, sentences)),
        bar=bar,
        alone=alone(right, sentences),
    )


def scored(name: str, counts: Sequence[Counts], resamples: int, comparable: bool = True) -> list[Score]:
    """Each with its interval, and the chance that it is as good as the best."""
    measured = [measure_counts(name, one, resamples, SEED) for one in counts]
    if not comparable:
        return [Score(one, False, None) for one in measured]
    best = best_of(name, [one.value for one in measured])
    others = [place for place in range(len(counts)) if place != best]
    chances = dict(zip(others, holm([difference_by_chance(counts[best], counts[n]) for n in others]), strict=True))
    return [Score(one, place == best, chances.get(place)) for place, one in enumerate(measured)]


def best_of(name: str, values: Sequence[float]) -> int:
    """The first among equals."""
    higher = name in METRICS and METRICS[name].higher_is_better
    return max(range(len(values)), key=lambda place: values[place] if higher else -values[place])


def by_length(name: str, counts: Sequence[Counts], lengths: Sequence[int]) -> tuple[Bucket, ...]:
    """The corpus score of each contender on the same groups of sources."""
    buckets = []
    for group in length_groups(lengths):
        parts = [Counts(one.items[group], one.score, one.signature) for one in counts]
        measured = tuple(measure_counts(name, part, BUCKET_RESAMPLES, SEED) for part in parts)
        buckets.append(Bucket(lengths[group[0]], lengths[group[-1]], len(group), measured))
    return tuple(buckets)


def goodness(name: str, counts: Counts) -> list[float]:
    """The score of every sentence by itself, turned so that 0 is bad and 100 is good: an endless answer is not worse
    than a wrong one."""
    values = [float(value) for value in counts.score(counts.items)]
    return values if METRICS[name].higher_is_better else [max(0.0, 100 - value) for value in values]


def rightness(
    found: Sequence[Answered], references: Sequence[tuple[str, ...]], sentences: Sequence[Sequence[float]]
) -> tuple[list[list[bool]], float | None]:
    """Which answers are right: equal to a reference where a quarter of all is, else as good as the median of all."""
    equal = [[text in known for text, known in zip(one.answers, references, strict=True)] for one in found]
    if sum(map(sum, equal)) >= OFTEN_RIGHT * sum(map(len, equal)):
        return equal, None
    bar = median(value for row in sentences for value in row)
    return [[value >= bar for value in row] for row in sentences], bar


def alone(right: Sequence[Sequence[bool]], sentences: Sequence[Sequence[float]]) -> tuple[Alone, ...]:
    """For each contender the sources where it differs from all others; with one contender there are none."""
    if len(right) < 2:
        return tuple(Alone((), ()) for _ in right)
    found = []
    for own in range(len(right)):
        others = [place for place in range(len(right)) if place != own]

        def gap(n: int, own: int = own, others: list[int] = others) -> float:
            return sentences[own][n] - sum(sentences[other][n] for other in others) / len(others)

        places = range(len(right[own]))
        better = [n for n in places if right[own][n] and not any(right[other][n] for other in others)]
        worse = [n for n in places if not right[own][n] and all(right[other][n] for other in others)]
        found.append(Alone(tuple(sorted(better, key=gap, reverse=True)), tuple(sorted(worse, key=gap))))
    return tuple(found)


def telling(judged: Judged, lengths: Sequence[int], longest: int) -> list[tuple[int, str]]:
    """Sources worth looking at, and why: short, of median length, long, and where the answers differ most."""
    legible = sorted((n for n in range(len(lengths)) if lengths[n] <= longest), key=lambda n: (lengths[n], n))
    if not legible:
        return []
    chosen: dict[int, str] = {}
    for share, why in ((0.1, "a short source"), (0.5, "of median length"), (0.95, "a long source")):
        chosen.setdefault(legible[min(len(legible) - 1, math.floor(share * len(legible)))], why)
    apart = {n: max(values) - min(values) for n in legible if (values := [row[n] for row in judged.sentences])}
    ranked = sorted(legible, key=lambda n: (-apart[n], -lengths[n]))
    for number in [n for n in ranked if apart[n] > 0 and n not in chosen][:2]:
        chosen[number] = "where the answers differ most"
    return list(chosen.items())
