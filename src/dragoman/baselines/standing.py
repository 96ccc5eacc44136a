"""Where a model stands beside its baselines: values with intervals, significance, and what to say of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, Literal

from dragoman.baselines.predicted import Found
from dragoman.metrics.measured import SEED, Counts, Measured, measure_counts
from dragoman.metrics.names import written
from dragoman.metrics.significance import CHANCE, difference_by_chance, holm, written_p

Outcome = Literal["better", "not_significantly_better", "not_significantly_worse", "worse"]


@dataclass(frozen=True)
class Row:
    """A baseline with its values, and p of its difference from the model in the decisive metric."""

    name: str
    title: str
    metrics: Mapping[str, Measured]
    p: float | None = None  # corrected for the number of baselines; None where it lacks the decisive metric
    examples: int | None = None  # that it was trained on; None where they are not counted


@dataclass(frozen=True)
class Standing:
    """A model and its baselines on the same items."""

    metric: str  # the decisive one
    higher: bool  # is better
    model: Measured | None
    rows: tuple[Row, ...]
    note: str = ""  # why there are none
    examples: int = 0  # the largest number that a baseline was trained on
    items: int = 0  # that were compared

    @property
    def best(self) -> Row | None:
        """The best in the decisive metric; of equals the first."""
        known = [row for row in self.rows if self.metric in row.metrics and not isnan(row.metrics[self.metric].value)]
        sign = 1 if self.higher else -1
        return max(known, key=lambda row: sign * row.metrics[self.metric].value, default=None)

    @property
    def outcome(self) -> Outcome | None:
        best = self.best
        if best is None or self.model is None:
            return None
        gap = self.model.value - best.metrics[self.metric].value
        leads = gap > 0 if self.higher else gap < 0
        if best.p is not None and best.p < CHANCE:
            return "better" if leads else "worse"
        return "not_significantly_better" if leads else "not_significantly_worse"

    @property
    def perfect(self) -> bool:
        """Whether the model can get no better: everything is right, or nothing is missed."""
        return self.model is not None and (self.model.value >= 100 if self.higher else self.model.value == 0)

    def sentence(self) -> str:
        """Whether the model beats the best baseline; why there is none, if there is none."""
        best = self.best
        if best is None or self.model is None:
            return self.note
        said = {
            "better": "The model beats",
            "not_significantly_better": "The model does not significantly beat",
            "not_significantly_worse": "The model does not beat",
            "worse": "The model is significantly worse than",
        }[str(self.outcome)]
        values = f"{written(self.metric)} {shown(self.model.value)} against {shown(best.metrics[self.metric].value)}"
        return f"{said} the best baseline ({best.title}): {values}, {chance(best.p)}."

    def as_json(self) -> dict[str, Any]:
        best = self.best
        facts = {
            "metric": self.metric,
            "best": None if best is None else best.name,
            "outcome": self.outcome,
            "p": None if best is None else best.p,
            "model": None if self.model is None else self.model.value,
            "items": self.items,
            "training_examples": self.examples,
            "note": self.note,
        }
        rows = {
            row.name: {
                "title": row.title,
                "metrics": {name: numbers_of(one) for name, one in row.metrics.items()},
                "p": row.p,
                "training_examples": row.examples,
            }
            for row in self.rows
        }
        return {**facts, "rows": rows}


def numbers_of(measured: Measured) -> dict[str, Any]:
    """A value with its interval and signature; null where it is undefined, as a correlation with a constant is."""
    facts = {key: value for key, value in vars(measured).items() if key != "name"}
    return {key: None if isinstance(value, float) and not isfinite(value) else value for key, value in facts.items()}


def shown(value: float) -> str:
    return f"{value:,.1f}" if abs(round(value, 1)) >= 10 else f"{value:.3g}"


def chance(p: float | None) -> str:
    return "p unknown" if p is None else written_p(p)


def chance_alone(p: float | None) -> str:
    """The same in a column of its own."""
    return chance(p).removeprefix("p ").removeprefix("= ")


def stand(found: Found, counted: Sequence[Mapping[str, Counts]], metric: str, higher: bool, resamples: int) -> Standing:
    """`counted` has the model first, then every baseline, on the same items. Each difference from the model in the
    decisive metric is tested by exchanging predictions at random, with Holm's correction."""
    model, *others = counted
    measured = [{name: measure_counts(name, one, resamples, SEED) for name, one in row.items()} for row in others]
    known = [place for place, row in enumerate(measured) if metric in row and not isnan(row[metric].value)]
    chances = [difference_by_chance(model[metric], others[place][metric]) for place in known]
    corrected = dict(zip(known, holm(chances), strict=True))
    rows = tuple(
        Row(one.name, one.title, measured[place], corrected.get(place), one.examples)
        for place, one in enumerate(found.predicted)
    )
    own = measure_counts(metric, model[metric], resamples, SEED)
    return Standing(metric, higher, own, rows, found.note, found.examples, len(model[metric].items))
