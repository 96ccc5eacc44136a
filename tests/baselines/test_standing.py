"""What is said of a model beside its baselines."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dragoman.baselines.predicted import Found, Predicted
from dragoman.baselines.standing import Standing, stand
from dragoman.metrics.classes import accuracy
from dragoman.metrics.labels import count_together
from dragoman.metrics.measured import Counts

TRUE = [["a"], ["b"]] * 20


def right(count: int) -> list[list[str]]:
    """The first so many of forty labels are right."""
    return [label if place < count else ["c"] for place, label in enumerate(TRUE)]


def counted(count: int) -> dict[str, Counts]:
    return {"accuracy": accuracy(right(count), TRUE)}


def standing(model: int, **baselines: int) -> Standing:
    found = Found(tuple(Predicted(name, f"the {name} one", []) for name in baselines))
    return stand(found, [counted(one) for one in (model, *baselines.values())], "accuracy", True, 100)


@pytest.mark.parametrize(
    ("model", "outcome", "beginning"),
    [
        (40, "better", "The model beats the best baseline (the linear one): accuracy 100.0 against 50.0, p < 0.00"),
        (21, "not_significantly_better", "The model does not significantly beat the best baseline (the linear one)"),
        (20, "not_significantly_worse", "The model does not beat the best baseline (the linear one)"),
        (5, "worse", "The model is significantly worse than the best baseline (the linear one)"),
    ],
)
def test_a_sentence_says_where_the_model_stands(model: int, outcome: str, beginning: str) -> None:
    found = standing(model, majority=10, linear=20)
    assert (found.outcome, found.best and found.best.name) == (outcome, "linear")
    assert found.sentence().startswith(beginning.removesuffix("p < 0.00"))


def test_values_have_intervals_and_chances() -> None:
    facts = json.loads(json.dumps(standing(40, majority=10, linear=20).as_json(), allow_nan=False))
    assert (facts["metric"], facts["best"], facts["outcome"], facts["items"]) == ("accuracy", "linear", "better", 40)
    row = facts["rows"]["linear"]["metrics"]["accuracy"]
    assert row["low"] < row["value"] == 50 < row["high"]
    assert facts["rows"]["majority"]["p"] < 0.01


def test_without_baselines_there_is_nothing_to_beat() -> None:
    found = standing(40)
    assert (found.best, found.outcome, found.sentence()) == (None, None, "")


def test_lower_may_be_better() -> None:
    items = np.array([[1.0, 1.0]] * 10)
    few = Counts(items * [0.1, 1], lambda sums: 100 * sums[:, 0] / sums[:, 1], lambda n, s: "")
    many = Counts(items, lambda sums: 100 * sums[:, 0] / sums[:, 1], lambda n, s: "")
    found = stand(Found((Predicted("copy", "copy", []),)), [{"ter": few}, {"ter": many}], "ter", False, 50)
    assert found.outcome == "better"
    assert found.sentence().startswith("The model beats the best baseline (copy): TER 10.0 against 100.0")


def test_a_constant_has_no_correlation() -> None:
    true = [1.0, 2.0, 3.0, 4.0]
    rows = count_together("pearson", [[1.0, 2.0, 3.0, 5.0], [2.5] * 4, [1.0, 3.0, 2.0, 4.0]], true)
    predicted = (Predicted("mean", "mean", []), Predicted("linear", "linear", []))
    found = stand(Found(predicted), [{"pearson": row} for row in rows], "pearson", True, 20)
    assert (found.rows[0].metrics["pearson"].value, found.best and found.best.name) == (0, "linear")


def test_what_is_undefined_is_not_compared() -> None:
    def undefined(sums: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.full(len(sums), np.nan)

    items = np.array([[1.0]] * 5)
    known = Counts(items, lambda sums: sums[:, 0], lambda n, s: "")
    predicted = (Predicted("one", "one", []), Predicted("other", "other", []))
    counted = [{"m": known}, {"m": replace(known, score=undefined)}, {"m": known}]
    found = stand(Found(predicted), counted, "m", True, 20)
    assert (found.rows[0].p, found.best and found.best.name) == (None, "other")
    assert found.as_json()["rows"]["one"]["metrics"]["m"]["value"] is None


def test_metrics_over_labels_are_compared_in_the_same_columns() -> None:
    rows = count_together("macro_f1", [[["a"], ["b"], ["c"]], [["a"]] * 3], [["a"], ["b"], ["b"]])
    found = stand(Found((Predicted("majority", "majority", []),)), [{"m": row} for row in rows], "m", True, 20)
    assert found.outcome == "not_significantly_better"
