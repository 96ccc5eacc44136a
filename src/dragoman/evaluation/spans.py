"""How good answers in documents are: on validation data while a model is trained, on test data with intervals."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.config import Document, validate
from dragoman.contracts import Answer
from dragoman.data.labelled import collate_labelled
from dragoman.data.order import Batching, Position, walk
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question, Questions, read_questions
from dragoman.data.readers.standard_input import spooled
from dragoman.data.store import Store
from dragoman.data.tokenizers import UNKNOWN
from dragoman.devices import in_double
from dragoman.errors import DataError, choose
from dragoman.evaluation.beside import spans_beside
from dragoman.evaluation.labels import chosen_metrics
from dragoman.metrics import Measured
from dragoman.metrics.labels import measure_labels, metrics_of, values_of
from dragoman.objectives.spans import place_log_probabilities
from dragoman.pipeline import LONGER, Pipeline
from dragoman.pipeline.labels import said
from dragoman.pipeline.spans import READ
from dragoman.watching import Watch, unwatched


def validate_spans(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """Mean loss of a place, over all windows, without dropout; None if it was told to stop."""
    total, count, seen = 0.0, 0, 0
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate_labelled(chunk, indices, store.layout).to(pipeline.device)
        with torch.inference_mode():
            logs = place_log_probabilities(said(pipeline.span_reader.model, batch), batch)
        total -= float(in_double(logs).sum())
        count, seen = count + batch.target_tokens, seen + batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    return {"loss": total / count}


def span_metrics(
    pipeline: Pipeline, questions: Sequence[Question], stopped: Callable[[], bool], parts: int = 1
) -> dict[str, float] | None:
    """Metrics of the answers to validation questions; None if it was told to stop."""
    found: list[str] = []
    for answer in pipeline.span_reader.answers(questions, window=max(1, READ // parts)):
        if stopped():
            return None
        found.append(answer.text)
    return values_of(metrics_of("spans"), found, [one.references for one in questions])


@dataclass(frozen=True)
class EvaluatedSpans:
    """A model that finds answers, measured on data."""

    items: int
    unanswerable: int  # of the items
    silent: int  # answered with nothing
    windowed: int  # documents that were read in several windows
    cut: int
    absent: int  # questions of which no answer occurs in the document, which nobody can get right
    problems: Problems  # questions that were left out
    unknown: float  # share of the tokens that the model has no symbol for
    seconds: float
    metrics: tuple[Measured, ...]
    parts: Mapping[str, Mapping[str, float]]  # of questions with an answer and of those without, where there are both
    answers: tuple[str, ...]
    standing: Standing | None = None


def evaluate_spans(
    pipeline: Pipeline,
    files: Sequence[str],
    metrics: Sequence[str] = (),
    reading: dict[str, Any] | None = None,
    longer: str | None = None,
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> EvaluatedSpans:
    """Answer every question once and compare; `reading` takes the place of how the run's own files were read."""
    labelling = pipeline.known_labels
    names = chosen_metrics(labelling, metrics)
    problems, how = Problems(), {**labelling.reading, **(reading or {})}
    data = validate(Questions, how, Document(how, "data"))
    with spooled(files) as (corpora,):
        plain = files_of(corpora)
        questions = list(read_questions(data, plain, problems))
    if not questions:
        raise DataError(f"There is no question in {' and '.join(map(str, files))}.\n{problems.summary()}")
    started_at = time.monotonic()
    answers = answers_to(pipeline, questions, longer, watch)
    texts, true = [answer.text for answer in answers], [one.references for one in questions]
    return EvaluatedSpans(
        items=len(questions),
        unanswerable=sum(not one.answers for one in questions),
        silent=sum(not text for text in texts),
        windowed=sum(answer.longer == "split" for answer in answers),
        cut=sum(answer.longer == "cut" for answer in answers),
        absent=sum(all(text not in one.document for text in one.references) for one in questions),
        problems=problems,
        unknown=unknown_share(pipeline, questions),
        seconds=time.monotonic() - started_at,
        metrics=tuple(measure_labels(names, texts, true, pipeline.settings.evaluation.resamples)),
        parts=parts_of(names, texts, true),
        answers=tuple(texts),
        standing=None if beside is None else spans_beside(beside, pipeline, questions, texts, names),
    )


def parts_of(
    names: Sequence[str], texts: Sequence[str], true: Sequence[tuple[str, ...]]
) -> dict[str, dict[str, float]]:
    """Each kind of question by itself: an answer to none is a mistake of another kind than a wrong one."""
    parts = {
        what: [pair for pair in zip(texts, true, strict=True) if (pair[1] == ("",)) == nothing]
        for what, nothing in (("with an answer", False), ("without an answer", True))
    }
    if not all(parts.values()):
        return {}
    return {what: values_of(names, *map(list, zip(*pairs, strict=True))) for what, pairs in parts.items()}


def answers_to(pipeline: Pipeline, questions: Sequence[Question], longer: str | None, watch: Watch) -> list[Answer]:
    policy = choose("way with longer lines", longer or pipeline.settings.limits.longer, LONGER)
    stream = pipeline.span_reader.answers(questions, policy)
    answers: list[Answer] = []
    while some := list(islice(stream, READ)):
        answers += some
        watch("answered", len(answers), len(questions))
    return answers


def unknown_share(pipeline: Pipeline, questions: Sequence[Question]) -> float:
    """Of the tokens, those that the model has no symbol for; a document counts once."""
    texts = [*(one.question for one in questions), *dict.fromkeys(one.document for one in questions)]
    tokens = [token for row in pipeline.source.encode(texts) for token in row]
    return tokens.count(UNKNOWN) / max(1, len(tokens))
