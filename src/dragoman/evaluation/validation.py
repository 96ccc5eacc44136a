"""The loss and the metrics of validation data, while a model is trained."""

from collections.abc import Callable, Sequence
from typing import Any

from dragoman.contracts import Batch
from dragoman.data.captions import collate_captions
from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.collate import collate
from dragoman.data.labelled import LABELLED
from dragoman.data.order import Batching, Position, walk
from dragoman.data.store import Store
from dragoman.evaluation.labels import validate_labels
from dragoman.evaluation.pretraining import validate_passages
from dragoman.evaluation.spans import validate_spans
from dragoman.evaluation.texts import measure_windows
from dragoman.metrics import measure, perplexity
from dragoman.pipeline import Pipeline
from dragoman.pipeline.pictures import given_by_tags

VALIDATED = 256  # sources that are answered between two looks for a signal


def validation_loss(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """Mean negative log-probability of a target token, without smoothing or dropout; of texts over every window. Tags
    of captions are no part of it, as they are none of scores."""
    if store.layout in LABELLED:
        if store.layout == "spans":
            return validate_spans(pipeline, store, batching, stopped)
        return validate_labels(pipeline, store, batching, stopped)
    if store.layout == "passages":
        return validate_passages(pipeline, store, batching, stopped)
    if store.layout not in ("pairs", "captions"):
        windows = measure_windows(pipeline, store, batching, stopped)
        return None if windows is None else windows.values()
    total, count, seen = 0.0, 0, 0
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = batch_of(store, chunk, indices)
        given = given_by_tags(pipeline, batch.truth().outputs.values)
        total += float(pipeline.log_probabilities(batch).masked_fill(given.to(pipeline.device), 0).sum())
        count, seen = count + batch.target_tokens - int(given.sum()), seen + batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    return {"loss": -total / count, "perplexity": perplexity(total, count)}


def batch_of(store: Store, chunk: Chunk, indices: Numbers) -> Batch:
    """Of pairs of texts, or of pictures with captions."""
    return collate_captions(chunk, indices, store.gallery) if store.layout == "captions" else collate(chunk, indices)


def validation_metrics(
    pipeline: Pipeline,
    items: Sequence[tuple[Any, tuple[str, ...]]],
    names: tuple[str, ...],
    stopped: Callable[[], bool],
    window: int = VALIDATED,
) -> dict[str, float] | None:
    """Metrics of greedy answers to validation sources; None if it was told to stop."""
    answers: list[str] = []
    for answer in pipeline.stream([source for source, _ in items], beam=1, window=window):
        if stopped():
            return None
        answers.append(answer.text)
    tokenise = pipeline.settings.evaluation.tokenise
    values = measure(names, answers, [references for _, references in items], resamples=1, tokenise=tokenise)
    return {value.name: value.value for value in values}
