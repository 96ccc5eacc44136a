"""A sample of questions that a model has answered from documents, beside the answers that are right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.config import Document, validate
from dragoman.data.permutation import permutation
from dragoman.data.readers.corpora import expanded
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.questions import Question, Questions, read_questions, read_questions_split
from dragoman.data.readers.standard_input import spooled
from dragoman.errors import DataError
from dragoman.evaluation.spans import answers_to, parts_of
from dragoman.inspection.report.answers import BUCKET_RESAMPLES, Bucket, length_groups
from dragoman.inspection.report.heads import Headed, measure_reading_heads
from dragoman.inspection.report.labels import Drawn
from dragoman.metrics import Measured
from dragoman.metrics.answers import answer_f1, word_f1
from dragoman.metrics.labels import measure_labels, metrics_of
from dragoman.metrics.measured import SEED, measure_counts
from dragoman.pipeline import Pipeline
from dragoman.watching import Watch

LOOKED_AT = 56  # tokens of a question and a part of its document whose maps are drawn
NEAR = 12  # words of a document before an answer and behind it


@dataclass(frozen=True)
class Asked:
    """A question, what is right, and what was found."""

    question: str
    document: str
    references: tuple[str, ...]
    answer: str
    place: tuple[int, int] | None  # characters of the document
    f1: float  # of words, against the nearest reference


@dataclass(frozen=True)
class TestedSpans:
    """A model that finds answers in documents, measured on a sample."""

    drawn: Drawn
    metrics: tuple[Measured, ...]
    parts: dict[str, dict[str, float]]  # of questions with an answer and without, where there are both
    items: tuple[Asked, ...]
    buckets: tuple[Bucket, ...]  # F1 by the length of the document
    headed: Headed | None  # with a few words of each document, since the whole is too long for small maps


def examine_spans(
    pipeline: Pipeline, data: Questions, record: dict[str, Any], on: tuple[str, ...], lines: int, told: Watch
) -> TestedSpans:
    """Answer and measure as `evaluate` does."""
    drawn, questions = sample(pipeline, data, record, on, lines)
    answers = answers_to(pipeline, questions, None, told)
    found, true = [answer.text for answer in answers], [one.references for one in questions]
    names = metrics_of("spans")
    items = tuple(
        Asked(
            one.question,
            one.document,
            one.references,
            answer.text,
            None if answer.best.span is None else (answer.best.span.start, answer.best.span.end),
            max(word_f1(answer.text, reference) for reference in one.references),
        )
        for one, answer in zip(questions, answers, strict=True)
    )
    metrics = tuple(measure_labels(names, found, true, pipeline.settings.evaluation.resamples))
    headed = measure_reading_heads(pipeline, [beside_answer(item) for item in items], told, LOOKED_AT)
    return TestedSpans(drawn, metrics, parts_of(names, found, true), items, by_length(items), headed)


def beside_answer(item: Asked) -> str:
    """A question with the words of its document around what was answered, or with the first of them."""
    start, end = item.place or (0, 0)
    before, behind = item.document[:start].split()[-NEAR:], item.document[end:].split()[:NEAR]
    words = [*before, *item.document[start:end].split(), *behind]
    return f"{' '.join(item.question.split())}\t{' '.join(words)}"


def sample(
    pipeline: Pipeline, data: Questions, record: dict[str, Any], on: tuple[str, ...], lines: int
) -> tuple[Drawn, list[Question]]:
    """Drawn by a key; files are read twice, so that no more than the sample is in memory."""
    with spooled(on) as (corpora,):
        plain = [file for pattern in corpora for file in expanded(str(pattern))]
        reading = dict(pipeline.known_labels.reading)

        def read(problems: Problems) -> Iterator[Question]:
            if on:
                return read_questions(validate(Questions, reading, Document(reading, "data")), plain, problems)
            return read_questions_split(data, "valid", problems)

        problems = Problems()
        total = sum(1 for _ in read(problems))
        files = tuple("standard input" if file == "-" else file for file in on) or data.files("valid")
        if not total:
            raise DataError(f"There is no question in {' and '.join(files)}, so there is nothing to measure on.")
        wanted = set(permutation(total, "report")[:lines].tolist())
        questions = [one for place, one in enumerate(read(Problems())) if place in wanted]
    known = {} if on else record.get("valid") or {}
    changed = "sha256" in known and fingerprint(files) != known["sha256"]
    return Drawn(files, len(questions), total, problems.count, "given" if on else "valid", changed), questions


def by_length(items: Sequence[Asked]) -> tuple[Bucket, ...]:
    lengths = [len(item.document.split()) for item in items]
    buckets = []
    for group in length_groups(lengths):
        counts = answer_f1([items[place].answer for place in group], [items[place].references for place in group])
        measured = measure_counts("f1", counts, BUCKET_RESAMPLES, SEED)
        buckets.append(Bucket(lengths[group[0]], lengths[group[-1]], len(group), measured))
    return tuple(buckets)
