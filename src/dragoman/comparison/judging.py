"""Contenders side by side: metrics with intervals, what is chance, quality by length, and who fails alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

import numpy

from dragoman.baselines.predicted import Predicted
from dragoman.comparison.answering import Answered
from dragoman.comparison.kind import Bucket, Buckets, Items, Kind, Measure, Truth
from dragoman.comparison.texts import PAIRS
from dragoman.inspection.report.answers import BUCKET_RESAMPLES, length_groups
from dragoman.inspection.report.page import Number
from dragoman.inspection.report.quality import metric_meaning
from dragoman.inspection.report.verdict import OFTEN_RIGHT
from dragoman.metrics import METRICS, Counts, Measured
from dragoman.metrics.measured import SEED, grouped, measure_counts
from dragoman.metrics.perplexity import count_symbols
from dragoman.metrics.significance import CHANCE, differences_by_chance, holm, pairs_of, trials_of
from dragoman.served import Evaluation
from dragoman.watching import Watch, unwatched

PERPLEXITY = "perplexity"
LIKELY = Measure(PERPLEXITY, PERPLEXITY, metric_meaning(PERPLEXITY), False, lambda answers, truths: [], None)
SHOWN = 3  # sentences of each kind that a model gets right, or wrong, alone


@dataclass(frozen=True)
class Score:
    """A metric of one contender."""

    measured: Measured
    best: bool  # alone, of several contenders
    p: float | None  # that it differs from the leader by chance, corrected; None for the leader itself


@dataclass(frozen=True)
class Alone:
    """Places of the sources that one contender alone gets right, and alone gets wrong; the most striking first."""

    right: tuple[int, ...]
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Judged:
    """All contenders on the same test data, each list in their order."""

    metrics: tuple[str, ...]
    measures: Mapping[str, Measure]  # what they are
    deciding: tuple[str, ...]  # those that may say which is best, the first first
    scores: tuple[dict[str, Score], ...]
    beside: Mapping[str, Mapping[str, Measured]]  # the same of baselines, by their titles
    buckets: Buckets  # by the first metric, and by the one that tells sentences apart
    sentence_metric: str  # by which single sentences are told apart
    graded: Measure  # the same
    sentences: tuple[tuple[float, ...], ...]  # goodness of each answer: higher is better, whatever the metric
    bar: float | None  # goodness from which on an answer is right; None: it is equal to a reference
    alone: tuple[Alone, ...]
    chances: Mapping[str, float] = field(default_factory=dict)  # p of each baseline and the leader, decisively

    @property
    def decisive(self) -> str:
        """The metric that says which is best: the first with a difference beyond chance, else the first."""
        return next(filter(self.tells_apart, self.deciding), self.deciding[0])

    def tells_apart(self, name: str) -> bool:
        """Whether any contender is worse than the leader beyond chance."""
        return any(p is not None and p < CHANCE for p in (one[name].p for one in self.scores))

    @property
    def leaders(self) -> tuple[int, ...]:
        """Those with the best value of the decisive metric: one, or several that are equal."""
        values = [one[self.decisive].measured.value for one in self.scores]
        top = values[best_of(values, self.measures[self.decisive].higher)]
        return tuple(place for place, value in enumerate(values) if value == top)

    @property
    def best(self) -> int | None:
        """The one leader, if it has a rival."""
        return self.leaders[0] if len(self.leaders) == 1 < len(self.scores) else None


def judge(
    evaluation: Evaluation,
    items: Items,
    found: Sequence[Answered],
    alike: bool,
    watch: Watch = unwatched,
    kind: Kind = PAIRS,
    beside: Sequence[Predicted] = (),
) -> Judged:
    """`alike` says that all have the same target symbols: only then can perplexities be compared."""
    truths, answers = [known for _, known in items], [one.answers for one in found]
    measures = {one.name: one for one in kind.measures(evaluation, items)}
    names, others = tuple(measures), {one.title: one.predictions for one in beside}
    every = {name: one.count([*answers, *others.values()], truths) for name, one in measures.items()}
    counts = {name: row[: len(found)] for name, row in every.items()}
    metrics, deciding, comparable = names, names, names
    if kind.scores is not None:
        counts[PERPLEXITY] = [by_source(count_symbols(one.log_probabilities, one.symbols), truths) for one in found]
        measures[PERPLEXITY], comparable = LIKELY, (*names, *[PERPLEXITY] * alike)
        first = kind.likely_first and alike
        metrics, deciding = ((PERPLEXITY, *names), (PERPLEXITY,)) if first else ((*names, PERPLEXITY), names)
    drawn = {name: [in_groups(one, kind, items) for one in row] for name, row in counts.items()}
    scores = scored(drawn, evaluation.resamples, comparable, watch, lambda name: measures[name].higher)
    graded = kind.graded(evaluation, items)
    sentences = [graded.goodness(one) for one in counts.get(graded.name) or graded.count(answers, truths)]
    right, bar = rightness(found, truths, sentences)
    baselines = {
        what: {name: in_groups(row[place], kind, items) for name, row in every.items()}
        for place, what in enumerate(others, start=len(found))
    }
    judged = Judged(
        metrics=metrics,
        measures=measures,
        deciding=deciding,
        scores=tuple({name: scores[name][place] for name in metrics} for place in range(len(found))),
        beside={
            what: {name: measure_counts(name, one, evaluation.resamples, SEED) for name, one in row.items()}
            for what, row in baselines.items()
        },
        buckets=kind.buckets(list(measures.values()), items, answers)
        if kind.buckets is not None
        else by_lengths((deciding[0], graded.name), counts, found[0].lengths),
        sentence_metric=graded.name,
        graded=graded,
        sentences=tuple(map(tuple, sentences)),
        bar=bar,
        alone=alone(right, sentences),
    )
    return replace(judged, chances=chances_of(judged, drawn[judged.decisive][judged.leaders[0]], baselines))


def chances_of(judged: Judged, leader: Counts, baselines: Mapping[str, Mapping[str, Counts]]) -> dict[str, float]:
    """p of the difference of each baseline from the leader, corrected for their number."""
    name = judged.decisive
    known = {
        what: row[name]
        for what, row in baselines.items()
        if name in row and not math.isnan(judged.beside[what][name].value)
    }
    found = differences_by_chance([(leader, one) for one in known.values()])
    return dict(zip(known, holm(found), strict=True))


def in_groups(counts: Counts, kind: Kind, items: Items) -> Counts:
    """A row for all items that belong together: windows of one track are alike, and no draws of their own."""
    return counts if kind.together is None else grouped(counts, kind.together(items))


def by_source(counts: Counts, references: Sequence[tuple[Truth, ...]]) -> Counts:
    """A source a row, all its references added up: what is drawn and exchanged are sources."""
    starts = numpy.cumsum([0, *map(len, references)])[:-1]
    return replace(counts, items=numpy.add.reduceat(counts.items, starts))


def scored(
    counts: Mapping[str, Sequence[Counts]],
    resamples: int,
    comparable: Sequence[str],
    watch: Watch = unwatched,
    higher: Callable[[str], bool] = lambda name: name in METRICS and METRICS[name].higher_is_better,
) -> dict[str, list[Score]]:
    """Metric by metric each contender with its interval, and the chance that it is as good as the leader, which is
    known only from the same data: so p is corrected for all pairs of contenders."""
    measured: dict[str, list[Measured]] = {}
    for done, (name, row) in enumerate(counts.items(), start=1):
        measured[name] = [measure_counts(name, one, resamples, SEED) for one in row]
        watch("metrics measured", done, len(counts))
    values = {name: [one.value for one in measured[name]] for name in comparable}
    leaders = {name: best_of(values[name], higher(name)) for name in comparable}
    models = len(next(iter(counts.values())))
    others = [(name, place) for name in comparable for place in range(models) if place != leaders[name]]
    pairs = [(counts[name][leaders[name]], counts[name][place]) for name, place in others]
    chances = dict(zip(others, differences_by_chance(pairs, trials_of(models), SEED, watch), strict=True))
    return {
        name: beside_leader(
            row, leaders.get(name), {place: p for (other, place), p in chances.items() if other == name}
        )
        for name, row in measured.items()
    }


def beside_leader(measured: Sequence[Measured], leader: int | None, chances: Mapping[int, float]) -> list[Score]:
    """Scores of one metric, with the chances of all but the leader."""
    corrected = dict(zip(chances, holm(list(chances.values()), pairs_of(len(measured))), strict=True))
    values = [one.value for one in measured]
    is_alone = leader is not None and len(values) > 1 and values.count(values[leader]) == 1
    return [Score(one, is_alone and place == leader, corrected.get(place)) for place, one in enumerate(measured)]


def best_of(values: Sequence[float], higher: bool) -> int:
    """The first among equals."""
    return max(range(len(values)), key=lambda place: values[place] if higher else -values[place])


def by_lengths(names: Sequence[str], counts: Mapping[str, Sequence[Counts]], lengths: Sequence[int]) -> Buckets:
    """By each of these that was counted."""
    return {name: by_length(name, counts[name], lengths) for name in dict.fromkeys(names) if name in counts}


def by_length(name: str, counts: Sequence[Counts], lengths: Sequence[int]) -> tuple[Bucket, ...]:
    """The corpus score of each contender on the same groups of sources."""
    buckets = []
    for group in length_groups(lengths):
        parts = [replace(one, items=one.items[group]) for one in counts]
        measured = tuple(measure_counts(name, part, BUCKET_RESAMPLES, SEED) for part in parts)
        buckets.append(Bucket(lengths[group[0]], lengths[group[-1]], len(group), measured))
    return tuple(buckets)


def rightness(
    found: Sequence[Answered], references: Sequence[tuple[Truth, ...]], sentences: Sequence[Sequence[float]]
) -> tuple[list[list[bool]], float | None]:
    """Which answers are right: equal to a reference where a quarter of all is, else as good as the median of all, and
    better than the worst."""
    equal = [[text in known for text, known in zip(one.answers, references, strict=True)] for one in found]
    if sum(map(sum, equal)) >= OFTEN_RIGHT * sum(map(len, equal)):
        return equal, None
    bar, worst = median(value for row in sentences for value in row), min(map(min, sentences))
    return [[value >= bar and value > worst for value in row] for row in sentences], bar


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


def telling(
    judged: Judged, lengths: Sequence[Number], longest: int, whys: Sequence[str] = PAIRS.words.whys
) -> list[tuple[int, str]]:
    """Sources worth looking at, and why: short, of median length, long, and where the answers differ most."""
    legible = sorted((n for n in range(len(lengths)) if lengths[n] <= longest), key=lambda n: (lengths[n], n))
    if not legible:
        return []
    chosen: dict[int, str] = {}
    for share, why in zip((0.1, 0.5, 0.95), whys, strict=True):
        chosen.setdefault(legible[min(len(legible) - 1, math.floor(share * len(legible)))], why)
    apart = {n: max(values) - min(values) for n in legible if (values := [row[n] for row in judged.sentences])}
    ranked = sorted(legible, key=lambda n: (-apart[n], -lengths[n]))
    for number in [n for n in ranked if apart[n] > 0 and n not in chosen][:2]:
        chosen[number] = "where the answers differ most"
    return list(chosen.items())
