"""How good a model is: on validation data while it is trained, and on test data with intervals."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from dragoman.data.collate import collate
from dragoman.data.order import Batching, Position, walk
from dragoman.data.readers.pairs import Problems, read_references
from dragoman.data.store import Store
from dragoman.errors import choose
from dragoman.metrics import METRICS, Measured, measure, measure_perplexity, perplexity
from dragoman.pipeline import Pipeline

VALIDATED = 256  # sources that are answered between two looks for a signal


def validation_loss(
    pipeline: Pipeline, store: Store, batching: Batching, stopped: Callable[[], bool]
) -> dict[str, float] | None:
    """Mean negative log-probability of a target token, without smoothing or dropout."""
    total, count, seen = 0.0, 0, 0
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate(chunk, indices)
        total += float(pipeline.log_probabilities(batch).sum())
        count, seen = count + batch.target_tokens, seen + batch.size
        if seen >= len(store):
            break
        if stopped():
            return None
    return {"loss": -total / count, "perplexity": perplexity(total, count)}


def validation_metrics(
    pipeline: Pipeline,
    items: list[tuple[str, tuple[str, ...]]],
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
    values = measure(names, answers, [references for _, references in items], resamples=1)
    return {value.name: value.value for value in values}


@dataclass(frozen=True)
class Evaluated:
    """A model measured on data."""

    items: int
    references: int
    problems: Problems  # lines that were left out
    unfinished: int
    seconds: float
    metrics: tuple[Measured, ...]
    answers: tuple[str, ...]


def evaluate(
    pipeline: Pipeline, files: tuple[str, ...], metrics: tuple[str, ...] = (), beam: int | None = None
) -> Evaluated:
    """Answer every source once and compare with all its references; perplexity is over every pair."""
    for name in metrics:
        choose("metric", name, METRICS)
    problems = Problems()
    items = read_references(files, problems)
    started_at = time.monotonic()
    answers = list(pipeline.stream([source for source, _ in items], beam))
    seconds = time.monotonic() - started_at
    evaluation = pipeline.settings.evaluation
    references = [targets for _, targets in items]
    texts = tuple(answer.text for answer in answers)
    values = measure(metrics or evaluation.metrics, list(texts), references, resamples=evaluation.resamples)
    scores = list(pipeline.score((source, target) for source, targets in items for target in targets))
    logs, tokens = [score.log_probability for score in scores], [len(score.tokens) for score in scores]
    values.append(measure_perplexity(logs, tokens, evaluation.resamples))
    unfinished = sum(not answer.best.finished for answer in answers)
    return Evaluated(len(items), len(scores), problems, unfinished, seconds, tuple(values), texts)
