"""The same sources answered with beams of several widths: quality, speed and length."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from dragoman.contracts import Answer, Prediction
from dragoman.metrics import METRICS, Counts, Measured, count
from dragoman.metrics.measured import SEED, Floats, in_conversations, measure_counts
from dragoman.metrics.significance import CHANCE, differences_by_chance, holm, pairs_of, trials_of
from dragoman.pipeline import Pipeline, Scored
from dragoman.search import Beam
from dragoman.served import Evaluation

Items = Sequence[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Swept:
    """All sources answered with one search."""

    search: Beam
    answers: tuple[Answer, ...]
    seconds: float

    @property
    def best(self) -> list[Prediction]:
        return [answer.best for answer in self.answers]

    @property
    def texts(self) -> list[str]:
        return [answer.text for answer in self.answers]


@dataclass(frozen=True)
class Width:
    """What one width gives and costs."""

    width: int
    metrics: tuple[Measured, ...]
    answers_per_second: float
    unfinished: int
    ratios: tuple[float, ...]  # symbols of each answer over those of the reference that is nearest in length
    ratio: Measured  # their mean


@dataclass(frozen=True)
class Curse:
    """Where the first metric is best, and how each wider beam compares with that."""

    metric: str
    best: int
    wider: tuple[int, ...]
    p: tuple[float, ...]  # of each difference, corrected
    worse: tuple[bool, ...]  # than at the best width
    begins: int | None  # the narrowest wider beam that is worse by more than chance


def sweep(pipeline: Pipeline, sources: Sequence[str], search: Beam, longer: str | None, tell: "Part") -> Swept:
    """Timed; batches are those of `predict`, but for windows small enough that progress can be told."""
    window = max(64, 4096 // search.width)
    started_at, answers = time.monotonic(), []
    for answer in pipeline.stream(sources, window=window, search=search, longer=longer):
        answers.append(answer)
        tell(len(answers))
    return Swept(search, tuple(answers), time.monotonic() - started_at)


class Part:
    """Tells one part of a longer work: its items count as shares of the whole."""

    def __init__(self, tell: Callable[[str, float], None], what: str, begins: float, ends: float, items: int) -> None:
        self.tell, self.what, self.begins, self.ends, self.items = tell, what, begins, ends, max(items, 1)

    def __call__(self, done: int) -> None:
        share = self.begins + (self.ends - self.begins) * done / self.items
        self.tell(f"{self.what}: {done:,} of {self.items:,}", max(share, 1e-6))


def counts_of(evaluation: Evaluation, items: Items, swept: Sequence[Swept]) -> dict[str, list[Counts]]:
    """Of each metric and each search."""
    references = [targets for _, targets in items]
    names = evaluation.metrics or ("exact_match",)
    return {name: [count(name, one.texts, references, evaluation.tokenise) for one in swept] for name in names}


def measured_widths(
    swept: Sequence[Swept],
    counts: dict[str, list[Counts]],
    lengths: Sequence[Sequence[int]],
    resamples: int,
    conversations: Sequence[str] = (),
) -> tuple[Width, ...]:
    """`lengths` are those of all references of each source, in symbols. Counts are those of `conversations` where
    sources belong to any."""
    found = []
    for place, one in enumerate(swept):
        metrics = tuple(measure_counts(name, row[place], resamples, SEED) for name, row in counts.items())
        ratios = tuple(ratio_to(len(best.tokens), known) for best, known in zip(one.best, lengths, strict=True))
        items = numpy.array([(ratio, 1.0) for ratio in ratios])
        counted = in_conversations(Counts(items, mean, lambda resamples, seed: ""), conversations)
        ratio = measure_counts("length", counted, resamples, SEED)
        unfinished = sum(not best.finished for best in one.best)
        rate = len(one.answers) / max(one.seconds, 1e-9)
        found.append(Width(one.search.width, metrics, rate, unfinished, ratios, ratio))
    return tuple(found)


def mean(sums: Floats) -> Floats:
    means: Floats = sums[:, 0] / sums[:, 1]
    return means


def ratio_to(length: int, known: Sequence[int]) -> float:
    """To the reference that is nearest in length, the shorter of two; an empty one counts as one symbol."""
    nearest = min(known, key=lambda one: (abs(one - length), one))
    return length / max(nearest, 1)


def reference_lengths(scored: Sequence[Scored], items: Items) -> list[list[int]]:
    """Symbols of the references of each source, END not counted."""
    each = iter(scored)
    return [[len(next(each).tokens) - 1 for _ in targets] for _, targets in items]


def find_curse(widths: Sequence[Width], counts: Sequence[Counts]) -> Curse:
    """Wider beams against the best one, by paired approximate randomisation; since the best is known from the same
    sentences only, p is corrected for all pairs of widths."""
    name = widths[0].metrics[0].name
    turn = 1 if METRICS[name].higher_is_better else -1
    values = [turn * one.metrics[0].value for one in widths]
    best = values.index(max(values))
    wider = range(best + 1, len(widths))
    chances = differences_by_chance([(counts[best], counts[place]) for place in wider], trials_of(len(widths)))
    corrected = holm(chances, pairs_of(len(widths)))
    worse = [values[place] < values[best] for place in wider]
    far = (widths[n].width for n, p, low in zip(wider, corrected, worse, strict=True) if low and p < CHANCE)
    return Curse(
        metric=name,
        best=widths[best].width,
        wider=tuple(widths[place].width for place in wider),
        p=tuple(corrected),
        worse=tuple(worse),
        begins=next(far, None),
    )
