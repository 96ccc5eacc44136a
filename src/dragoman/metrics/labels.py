"""How good labels, tags, numbers and answers in documents are: the names of what is measured."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dragoman.metrics.answers import answer_f1, exact_answers
from dragoman.metrics.classes import accuracy, binary_f1, macro_f1, matthews, micro_f1
from dragoman.metrics.correlations import pearson, root_mean_squared_error, spearman
from dragoman.metrics.measured import SEED, Counts, Measured, measure_counts
from dragoman.metrics.spans import span_f1

What = Literal["labels", "tags", "numbers", "spans"]


@dataclass(frozen=True)
class LabelMetric:
    """A name for tables and command line, what it is of, and how to count."""

    name: str
    title: str
    higher_is_better: bool
    of: tuple[What, ...]
    count: Callable[[Any, Any], Counts]


LABEL_METRICS = {
    metric.name: metric
    for metric in (
        LabelMetric("accuracy", "% of the labels, or tags, are right", True, ("labels", "tags"), accuracy),
        LabelMetric("macro_f1", "F1, mean over labels", True, ("labels", "tags"), macro_f1),
        LabelMetric("micro_f1", "F1 of all labels together", True, ("labels",), micro_f1),
        LabelMetric("binary_f1", "F1 of the last of two labels", True, ("labels",), binary_f1),
        LabelMetric("matthews", "Matthews' correlation, × 100", True, ("labels",), matthews),
        LabelMetric("span_f1", "F1 of whole spans (B-, I-)", True, ("tags",), span_f1),
        LabelMetric("pearson", "Pearson's correlation, × 100", True, ("numbers",), pearson),
        LabelMetric("spearman", "correlation of ranks, × 100", True, ("numbers",), spearman),
        LabelMetric("root_mean_squared_error", "in the unit of the data", False, ("numbers",), root_mean_squared_error),
        LabelMetric("exact_match", "% equal to a reference, by SQuAD's rules", True, ("spans",), exact_answers),
        LabelMetric("f1", "F1 of words, by SQuAD's rules", True, ("spans",), answer_f1),
    )
}


def metrics_of(what: What, spans: bool = True, two: bool = True) -> list[str]:
    """The names of what labels, tags, numbers or answers are measured by; without spans none of them, and where there
    are more labels than two, nothing that is of two."""
    left_out = {"span_f1": not spans, "binary_f1": not two}
    return [name for name, one in LABEL_METRICS.items() if what in one.of and not left_out.get(name, False)]


def measure_labels(
    names: Sequence[str], found: Sequence[Any], true: Sequence[Any], resamples: int = 1000, seed: int = SEED
) -> list[Measured]:
    """The metrics in the order asked for, each with its interval."""
    return [measure_counts(name, LABEL_METRICS[name].count(found, true), resamples, seed) for name in names]


def values_of(names: Sequence[str], found: Sequence[Any], true: Sequence[Any]) -> dict[str, float]:
    """The values alone."""
    counted = {name: LABEL_METRICS[name].count(found, true) for name in names}
    return {name: float(counts.score(counts.items.sum(0, keepdims=True))[0]) for name, counts in counted.items()}


def count_together(name: str, rows: Sequence[Sequence[Any]], true: Sequence[Any]) -> list[Counts]:
    """Several sets of predictions, so that single ones may be exchanged between them: labels in the same columns for
    all, and numbers in standard deviations, since Pearson's r knows of no scale."""
    metric = LABEL_METRICS[name]
    if "numbers" in metric.of:
        return [metric.count(scaled(row) if name == "pearson" else row, true) for row in rows]
    counts = metric.count([one for row in rows for one in row], [*true] * len(rows))
    return [replace(counts, items=items) for items in np.split(counts.items, len(rows))]


def scaled(values: Sequence[float]) -> list[float]:
    """In standard deviations from their mean."""
    found = np.array(values)
    return list(((found - found.mean()) / (found.std() or 1.0)).tolist())
