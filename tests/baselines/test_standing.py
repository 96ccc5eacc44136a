"""What is said of a model beside its baselines."""

import json

import numpy as np
import pytest

from dragoman.baselines.predicted import Predicted
from dragoman.baselines.standing import Standing, stand
from dragoman.metrics.classes import accuracy
from dragoman.metrics.measured import Counts

TRUE = [["a"], ["b"]] * 20


def right(count: int) -> list[list[str]]:
    """The first so many of forty labels are right."""
    return [label if place < count else ["c"] for place, label in enumerate(TRUE)]


def counted(one: Predicted) -> dict[str, Counts]:
    return {"accuracy": accuracy(one.predictions, TRUE)}


def standing(model: int, **baselines: int) -> Standing:
    predicted = [Predicted(name, f"the {name} one", right(count)) for name, count in baselines.items()]
    return stand({"accuracy": accuracy(right(model), TRUE)}, predicted, counted, "accuracy", True, 100)


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
    found = stand({"ter": few}, [Predicted("copy", "copy", [])], lambda _: {"ter": many}, "ter", False, 50)
    assert found.outcome == "better"
    assert found.sentence().startswith("The model beats the best baseline (copy): TER 10.0 against 100.0")
