"""A sample of sources answered, and each answer compared with the nearest of its references."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.contracts import Answer, Prediction
from dragoman.data.permutation import permutation
from dragoman.data.readers.pairs import Pairs, Problems, fingerprint, grouped, read_references, read_split
from dragoman.data.readers.standard_input import spooled
from dragoman.errors import DataError
from dragoman.evaluation.beside import pairs_beside
from dragoman.evaluation.pairs import likely, measure_all
from dragoman.inspection.report.edits import Edit, align
from dragoman.inspection.report.heads import Headed, measure_heads
from dragoman.inspection.report.looks import LONGEST, Looks, measure_looks
from dragoman.inspection.report.units import Unit, source_unit, target_unit
from dragoman.metrics import METRICS, Measured, measure
from dragoman.metrics.edit_distance import edit_distance
from dragoman.pipeline import Pipeline
from dragoman.watching import Watch

WINDOW = 256  # sources between two tellings
BUCKETS = 8
BUCKET_SOURCES = 20  # at least, or the interval says nothing
BUCKET_RESAMPLES = 200
ROUNDING = 1e-4  # of a score: less is no difference


@dataclass(frozen=True)
class Sample:
    """Sources with their references: all of a corpus, or as many of them, drawn by a key."""

    files: tuple[str, ...]  # that they were read from
    items: list[tuple[str, tuple[str, ...]]]
    total: int  # distinct sources of the corpus
    bad_lines: int
    split: Literal["given", "test", "valid"]  # files that were named, or the run's own
    changed: bool = False  # since the run began
    conversations: tuple[str, ...] = ()  # that the items belong to, if they are histories

    @property
    def count(self) -> int:
        return len(self.items)


@dataclass(frozen=True)
class Example:
    """A source, what was expected, and what came."""

    source: str
    references: tuple[str, ...]
    answer: str
    nearest: str  # of the references
    edits: tuple[Edit, ...]  # from the nearest reference to the answer
    source_length: int
    score: float  # by which the search ranks
    reference_score: float  # of the reference that it ranks highest
    finished: bool
    longer: str  # what was done to a source that is too long: "cut", "split" or nothing

    @property
    def right(self) -> bool:
        return self.answer in self.references

    @property
    def wrong(self) -> int:
        """Pieces that are substituted, missing or too many."""
        return sum(edit.wrong for edit in self.edits)

    @property
    def share(self) -> float:
        return self.wrong / max(len(self.edits), 1)

    @property
    def weight(self) -> float:
        """How bad an answer is: the pieces that are wrong times their share."""
        return self.wrong * self.share

    @property
    def search_error(self) -> bool:
        """The search would have ranked a reference above what it found; of a longer source it never saw the whole."""
        return not self.right and not self.longer and self.reference_score > self.score + ROUNDING


@dataclass(frozen=True)
class Bucket:
    """Sources of about the same length."""

    shortest: int
    longest: int
    count: int
    measured: Measured


@dataclass(frozen=True)
class Tested:
    """A model measured on a sample."""

    sample: Sample
    source: Unit
    target: Unit
    references: int
    metrics: tuple[Measured, ...]
    examples: tuple[Example, ...]
    buckets: tuple[Bucket, ...]
    good: tuple[tuple[Example, Prediction], ...]
    bad: tuple[tuple[Example, Prediction], ...]
    symbols: int  # in the target vocabulary
    attends: bool  # whether there is anything to look at
    looks: Looks | None
    headed: Headed | None = None  # of a Transformer
    standing: Standing | None = None


def own_split(data: Pairs) -> Literal["test", "valid"] | None:
    """What a run can be measured on: its test data, else its validation data, else nothing."""
    return "test" if data.has("test") else "valid" if data.has("valid") else None


def read_sample(data: Pairs, record: dict[str, Any], on: tuple[str, ...], lines: int) -> Sample | None:
    """Of the files given, else of the run's own data; None if there is neither."""
    name, problems = own_split(data), Problems()
    known: dict[str, str] = {}
    if on:
        files = tuple("standard input" if file == "-" else file for file in on)
        with spooled(on) as (corpora,):
            items = read_references(corpora, problems, data.wanted, known)
    elif name is not None:
        files, items = data.files(name), grouped(read_split(data, name, problems), known)
    else:
        return None
    if not items:
        raise DataError(f"There is no good pair in {' and '.join(files)}, so there is nothing to measure on.")
    drawn = sorted(permutation(len(items), "report")[:lines].tolist())
    recorded = {} if on else record.get(str(name)) or {}
    changed = "sha256" in recorded and fingerprint(files) != recorded["sha256"]
    split = "given" if on or name is None else name
    sampled = [items[number] for number in drawn]
    conversations = tuple(known[source] for source, _ in sampled if source in known)
    return Sample(files, sampled, len(items), problems.count, split, changed, conversations)


def examine(pipeline: Pipeline, sample: Sample, told: Watch, beside: Beside | None = None) -> Tested:
    """Answer, score, compare and measure as `evaluate` does."""
    evaluation, items = pipeline.settings.evaluation, sample.items
    answers = list(counted(pipeline.stream([s for s, _ in items], window=WINDOW), "Answering", len(items), told))
    pairs = [(source, target) for source, targets in items for target in targets]
    scored = list(counted(pipeline.score(pairs), "Scoring references", len(pairs), told))
    references = [targets for _, targets in items]
    texts = [answer.text for answer in answers]
    ranks = [pipeline.rank(score.log_probability, len(score.tokens)) for score in scored]
    source = source_unit(pipeline.source.kind, [text for text, _ in items])
    target = target_unit(pipeline.target.kind, [known[0] for known in references], evaluation.metrics)
    examples = tuple(compare(answers, references, ranks, source, target))
    good, bad = chosen(examples)
    scores = likely(scored, sample.conversations)
    whole = [(one.source, one.answer) for one in [*good, *bad] if one.finished and not one.longer]
    return Tested(
        sample=sample,
        source=source,
        target=target,
        references=len(pairs),
        metrics=measure_all(evaluation, texts, references, scored, sample.conversations),
        examples=examples,
        buckets=by_length(examples, evaluation.metrics[0], evaluation.tokenise) if evaluation.metrics else (),
        good=looked(pipeline, good),
        bad=looked(pipeline, bad),
        symbols=pipeline.target.size,
        attends=pipeline.attends,
        looks=measure_looks(pipeline, [one.source for one in examples if longest(one) <= LONGEST], told),
        headed=measure_heads(pipeline, whole, told),
        standing=None if beside is None else pairs_beside(beside, pipeline, evaluation, items, texts, scores),
    )


def counted(stream: Iterator[Any], what: str, total: int, told: Watch) -> Iterator[Any]:
    told(what, 0, total)
    for done, one in enumerate(stream, start=1):
        yield one
        told(what, done, total)


def compare(
    answers: Sequence[Answer], references: Sequence[tuple[str, ...]], ranks: Sequence[float], source: Unit, unit: Unit
) -> Iterator[Example]:
    scores = iter(ranks)
    for answer, known in zip(answers, references, strict=True):
        best = max(islice(scores, len(known)))
        got = unit.cut(answer.text)
        nearest = min(known, key=lambda text: (edit_distance(got, unit.cut(text)), -len(text)))
        yield Example(
            source=answer.source,
            references=known,
            answer=answer.text,
            nearest=nearest,
            edits=align(unit.cut(nearest), got),
            source_length=len(source.cut(answer.source)),
            score=answer.score,
            reference_score=best,
            finished=answer.best.finished,
            longer=answer.longer,
        )


DRAWN = 3  # alignments of good answers, and of bad ones
DRAWN_PIECES = 22  # of a source or an answer that is drawn: more cannot be read
DRAWN_TOKENS = 40  # that these pieces may be cut into
TRIED = 12  # answers that are looked at, to find some of few tokens


def chosen(examples: Sequence[Example]) -> tuple[list[Example], list[Example]]:
    """Candidates for a drawing: the longest of the best answers, and the worst."""
    legible = [one for one in examples if longest(one) <= DRAWN_PIECES]
    good = sorted(legible, key=lambda one: (not one.right, one.share, -one.source_length))[:TRIED]
    bad = sorted((one for one in legible if one.wrong and one not in good[:DRAWN]), key=lambda one: -one.weight)[:TRIED]
    return good, bad


def longest(example: Example) -> int:
    """Pieces of its longer side."""
    return max(example.source_length, len(example.edits))


def looked(pipeline: Pipeline, examples: list[Example]) -> tuple[tuple[Example, Prediction], ...]:
    """The first few with their alignments, where the model has them and they are legible."""
    if not pipeline.attends:
        return ()
    answers = pipeline.predict([example.source for example in examples])
    pairs = ((example, answer.best) for example, answer in zip(examples, answers, strict=True))
    legible = ((example, best) for example, best in pairs if best.alignment and is_legible(best))
    return tuple(islice(legible, DRAWN))


def is_legible(prediction: Prediction) -> bool:
    return max(len(prediction.tokens), len(prediction.source_tokens)) <= DRAWN_TOKENS


def by_length(examples: Sequence[Example], metric: str, tokenise: str = "auto") -> tuple[Bucket, ...]:
    """The metric of sources of about the same length."""
    groups = length_groups([example.source_length for example in examples])
    return tuple(bucket_of([examples[number] for number in group], metric, tokenise) for group in groups)


def length_groups(lengths: Sequence[int]) -> list[list[int]]:
    """Places of the lengths in groups of about equal count, shortest first, never with one length in two of them."""
    wanted = max(len(lengths) / BUCKETS, BUCKET_SOURCES)
    groups: list[list[int]] = [[]]
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if len(groups[-1]) >= wanted and lengths[groups[-1][-1]] != lengths[place]:
            groups.append([])
        groups[-1].append(place)
    if len(groups) > 1 and len(groups[-1]) < wanted / 2:
        groups[-2:] = [groups[-2] + groups[-1]]
    return groups


def bucket_of(group: list[Example], metric: str, tokenise: str) -> Bucket:
    answers, references = [one.answer for one in group], [one.references for one in group]
    (value,) = measure((METRICS[metric].name,), answers, references, resamples=BUCKET_RESAMPLES, tokenise=tokenise)
    return Bucket(group[0].source_length, group[-1].source_length, len(group), value)
