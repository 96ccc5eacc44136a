"""How good labels, tags and numbers are: on validation data while a model is trained, on test data with intervals."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.config import Document, validate
from dragoman.contracts import Batch
from dragoman.data.labelled import collate_labelled
from dragoman.data.labelling import Labelling, judged
from dragoman.data.order import Batching, Position, walk
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.example import Example
from dragoman.data.readers.labelled import Labelled, read_labelled
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.picture_places import advice
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.tagged import Tagged, read_tagged
from dragoman.data.store import Store
from dragoman.data.tokenizers import UNKNOWN
from dragoman.devices import in_double
from dragoman.errors import DataError, choose
from dragoman.evaluation.beside import frames_beside, labels_beside
from dragoman.evaluation.frames import Answered, answer_frames
from dragoman.heads import CrfHead, TagsHead
from dragoman.metrics import Measured
from dragoman.metrics.classes import ClassReport, class_report
from dragoman.metrics.labels import LABEL_METRICS, measure_labels, metrics_of, values_of
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline import Pipeline
from dragoman.pipeline.labels import decided_tags, said
from dragoman.watching import Watch, unwatched

WINDOW = 4096  # examples that are sorted by length


def validate_labels(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """Mean loss of a label, without smoothing or dropout, and all metrics; None if it was told to stop."""
    labelling, model = pipeline.known_labels, pipeline.reading_model
    total, count, seen = 0.0, 0, 0
    found: list[Any] = []
    true: list[Any] = []
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate_labelled(chunk, indices, store.layout, store.gallery).to(pipeline.device)
        with torch.inference_mode():
            missed, said_here, true_here = compared(model, labelling, batch)
        total, found, true = total + missed, found + said_here, true + true_here
        count, seen = count + batch.target_tokens, seen + batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    return {"loss": total / count, **values_of(fitting_metrics(labelling), found, true)}


def compared(model: EncoderOnlyModel, labelling: Labelling, batch: Batch) -> tuple[float, list[Any], list[Any]]:
    """The loss of a batch, what is said of its examples, and what is true."""
    outputs = batch.truth().outputs
    if labelling.what == "numbers":
        numbers = said(model, batch)
        missed = float(in_double((numbers - outputs.values).square()).sum())
        found, wanted = (list(map(labelling.unscaled, each[:, 0].tolist())) for each in (numbers, outputs.values))
        return missed, found, wanted
    true = named(labelling, outputs.values, outputs.mask)
    if labelling.what == "tags":
        output, head = model.read(batch), model.head
        assert isinstance(head, TagsHead | CrfHead)  # noqa: S101 (others say nothing of words)
        missed = float(in_double(head.negative_log_likelihoods(output, batch.truth())).sum())
        tags = decided_tags(model, labelling, output, outputs.mask).tags
        return missed, named(labelling, tags, outputs.mask), true
    answers = said(model, batch)
    logs = answers.gather(2, outputs.values[:, :, None])[:, :, 0]
    missed = -float(in_double(logs[outputs.mask]).sum())
    return missed, named(labelling, answers.argmax(2), outputs.mask), true


def named(labelling: Labelling, numbers: torch.Tensor, mask: torch.Tensor) -> list[list[str]]:
    rows = zip(numbers.tolist(), mask.tolist(), strict=True)
    return [[labelling.names[n] for n, real in zip(row, reals, strict=True) if real] for row, reals in rows]


@dataclass(frozen=True)
class EvaluatedLabels:
    """A model that reads, measured on data."""

    items: int
    labels: int  # of items: words, where each has a tag
    problems: Problems  # lines that were left out
    unseen: Problems  # labels that training never saw, which nobody can get right
    cut: int
    unknown: float  # share of the tokens that the model has no symbol for
    seconds: float
    metrics: tuple[Measured, ...]
    classes: ClassReport | None  # of labels and tags
    answers: tuple[str, ...]
    nouns: tuple[str, str] = ("texts", "words")
    standing: Standing | None = None


def evaluate_labels(
    pipeline: Pipeline,
    files: Sequence[str],
    metrics: Sequence[str] = (),
    reading: dict[str, Any] | None = None,
    longer: str | None = None,
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> EvaluatedLabels:
    """Answer every text once and compare; `reading` takes the place of how the run's own files were read."""
    labelling = pipeline.known_labels
    names = chosen_metrics(labelling, metrics)
    problems, unseen, unknown = Problems(), Problems(), 0.0
    examples: list[Example] = []
    started_at = time.monotonic()
    with spooled(files) as (corpora,):
        plain = files_of(corpora)
        how = {**labelling.reading, **(reading or {})}
        if pipeline.reads_frames:
            answered = answer_frames(pipeline, plain, how, longer, problems, unseen, watch, beside is not None)
        else:
            read = read_examples(pipeline, plain, how, problems)
            examples = [one for one in read if judged(one, labelling, problems, unseen)]
            unknown, started_at = unknown_share(pipeline, examples), time.monotonic()
            answered = answers_to(pipeline, examples, longer, watch)
    if not answered.texts:
        named = " and ".join(map(str, files))
        raise DataError(f"There is no example in {named}.\n{problems.summary()}{advice(problems)}")
    seconds = time.monotonic() - started_at
    found, true = answered.found, answered.true
    standing: Standing | None = None
    if beside is not None and pipeline.reads_frames:
        standing = frames_beside(beside, pipeline, answered.features, found, true, names)
    elif beside is not None:
        standing = labels_beside(beside, pipeline, [one.texts for one in examples], found, true, names)
    return EvaluatedLabels(
        items=len(found),
        labels=len(found) if labelling.what == "numbers" else sum(map(len, true)),
        problems=problems,
        unseen=unseen,
        cut=answered.cut,
        unknown=unknown,
        seconds=seconds,
        metrics=tuple(measure_labels(names, found, true, pipeline.settings.evaluation.resamples)),
        classes=None if labelling.what == "numbers" else class_report(found, true),
        answers=tuple(answered.texts),
        nouns=("sequences", "frames") if pipeline.reads_frames else ("texts", "words"),
        standing=standing,
    )


def fitting_metrics(labelling: Labelling) -> list[str]:
    return metrics_of(labelling.what, labelling.has_spans, labelling.size == 2)


def chosen_metrics(labelling: Labelling, metrics: Sequence[str]) -> list[str]:
    """Those asked for, else all that fit."""
    known = fitting_metrics(labelling)
    for name in metrics:
        choose(f"metric of {labelling.what}", name, {one: LABEL_METRICS[one] for one in known})
    return list(metrics) or known


def read_examples(
    pipeline: Pipeline, files: Sequence[str], reading: dict[str, Any], problems: Problems
) -> Iterator[Example]:
    document = Document(reading, "data")
    if pipeline.known_labels.what == "tags":
        return read_tagged(validate(Tagged, reading, document), files, problems)
    return read_labelled(validate(Labelled, reading, document), files, pipeline.reader.two, problems)


def answers_to(pipeline: Pipeline, examples: Sequence[Example], longer: str | None, watch: Watch) -> Answered:
    """What the model says of each example, the same as texts, and how many were cut."""
    found: list[Any] = []
    texts: list[str] = []
    cut, reader = 0, pipeline.reader
    numbers = reader.labelling.what == "numbers"
    for start in range(0, len(examples), WINDOW):
        some = examples[start : start + WINDOW]
        if reader.labelling.what == "tags":
            policy = longer or pipeline.settings.limits.longer
            predictions = reader.tags([one.texts for one in some], start, policy)
            found += [list(prediction.tokens) for prediction in predictions]
            texts += [prediction.text for prediction in predictions]
        else:
            answers = reader.labelled([one.texts for one in some], longer or pipeline.settings.limits.longer, start)
            cut += sum(bool(answer.longer) for answer in answers)
            texts += [answer.text for answer in answers]
            found += [answer.score if numbers else [answer.text] for answer in answers]
        watch("answered", len(found), len(examples))
    true: list[Any] = [float(one.labels[0]) if numbers else list(one.labels) for one in examples]
    return Answered(found, true, texts, cut)


def unknown_share(pipeline: Pipeline, examples: Sequence[Example]) -> float:
    """Of the tokens, those that the model has no symbol for."""
    rows = pipeline.source.encode([text for one in examples for text in one.texts])
    tokens = [token for row in rows for token in row]
    return tokens.count(UNKNOWN) / max(1, len(tokens))
