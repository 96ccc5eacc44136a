"""A sample of questions that a model has answered from documents, beside the answers that are right."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.config import Document, validate
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question, Questions, read_questions, read_questions_split
from dragoman.evaluation.beside import spans_beside
from dragoman.evaluation.spans import answers_to, parts_of
from dragoman.inspection.report.answers import BUCKET_RESAMPLES, Bucket, length_groups
from dragoman.inspection.report.drawn import Drawn, draw
from dragoman.inspection.report.heads import Headed, measure_reading_heads
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
    standing: Standing | None = None


def examine_spans(
    pipeline: Pipeline,
    data: Questions,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedSpans:
    """Answer and measure as `evaluate` does."""
    own, noun = data.files("valid"), "question"
    drawn, questions = draw(partial(read, pipeline, data), own, record, on, lines, Problems(), noun)
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
    standing = None if beside is None else spans_beside(beside, pipeline, questions, found, names)
    return TestedSpans(drawn, metrics, parts_of(names, found, true), items, by_length(items), headed, standing)


def beside_answer(item: Asked) -> str:
    """A question with the words of its document around what was answered, or with the first of them."""
    start, end = item.place or (0, 0)
    before, behind = item.document[:start].split()[-NEAR:], item.document[end:].split()[:NEAR]
    words = [*before, *item.document[start:end].split(), *behind]
    return f"{' '.join(item.question.split())}\t{' '.join(words)}"


def read(
    pipeline: Pipeline, data: Questions, files: Sequence[str], problems: Problems, unseen: Problems
) -> Iterator[Question]:
    """Of the files given, else of the validation data; there is no answer that could be unseen."""
    if not files:
        return read_questions_split(data, "valid", problems)
    reading = dict(pipeline.known_labels.reading)
    return read_questions(validate(Questions, reading, Document(reading, "data")), files, problems)


def by_length(items: Sequence[Asked]) -> tuple[Bucket, ...]:
    lengths = [len(item.document.split()) for item in items]
    buckets = []
    for group in length_groups(lengths):
        counts = answer_f1([items[place].answer for place in group], [items[place].references for place in group])
        measured = measure_counts("f1", counts, BUCKET_RESAMPLES, SEED)
        buckets.append(Bucket(lengths[group[0]], lengths[group[-1]], len(group), measured))
    return tuple(buckets)
