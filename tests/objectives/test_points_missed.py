import math

import pytest
import torch

from dragoman.contracts import Batch, Output, Padded, Target
from dragoman.heads.points import Gaussians
from dragoman.objectives import Distance, MixtureLikelihood, SquaredError, build_objective

NAN = float("nan")
TRUTH = [[[0.0, 0.0], [1.0, NAN]], [[1.0, 1.0], [9.0, 9.0]]]  # of the second the last step is padding
SAID = [[[3.0, 4.0], [2.0, 7.0]], [[1.0, 3.0], [0.0, 0.0]]]


class Says:
    def numbers(self, output: Output) -> torch.Tensor:
        return torch.tensor(SAID)


def batch() -> Batch:
    outputs = Padded(torch.tensor(TRUTH), torch.tensor([[True, True], [True, False]]))
    return Batch((1, 2), {}, Target(outputs, outputs, torch.tensor([0, 1, 2])))


@pytest.mark.parametrize(
    ("config", "total", "count"),
    [
        (SquaredError(), 25 + 1 + 4, 5),
        (Distance(), 5 + 1 + 2, 3),
        (SquaredError(along="path"), 25 + 16 + 4, 5),  # the steps 3 and 1 sum up to 4; what is missing adds nothing
        (Distance(along="path"), 5 + 4 + 2, 3),
    ],
)
def test_what_is_missing_or_padding_is_missed_by_nothing(
    config: SquaredError | Distance, total: float, count: int
) -> None:
    objective = build_objective(config)
    [loss] = objective(Output(torch.zeros(2, 2, 1)), Says(), batch()).values()
    assert loss.total.item() == pytest.approx(total, abs=1e-3)
    assert loss.count == count == next(iter(objective.count(batch()).values()))


def with_a_gap() -> Batch:
    """The second of three steps is missing, and so the step to the third; where the third point is, is known."""
    real = torch.ones(1, 3, dtype=torch.bool)
    outputs = Padded(torch.tensor([[[1.0, 0.0], [NAN, NAN], [NAN, NAN]]]), real)
    path = Padded(torch.tensor([[[1.0, 0.0], [NAN, NAN], [6.0, 0.0]]]), real)
    return Batch((1,), {}, Target(outputs, outputs, torch.arange(3), path))


class Steps:
    def numbers(self, output: Output) -> torch.Tensor:
        return torch.tensor([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]])

    def gaussians(self, output: Output) -> Gaussians:
        points = self.numbers(output)[:, :, None]
        weights = torch.tensor([0.25, 0.75]).log().expand(1, 3, 2)
        return Gaussians(weights, points.expand(1, 3, 2, 2), torch.ones(1, 3, 2, 2))


@pytest.mark.parametrize(
    ("config", "total", "count"),
    [
        (SquaredError(along="path"), 9.0, 4),
        (Distance(along="path"), 3.0, 2),
        (SquaredError(), 0.0, 2),
        (Distance(), 0.0, 1),
        (MixtureLikelihood(), math.log(2 * math.pi), 1),
    ],
)
def test_points_behind_a_gap_are_compared_and_those_in_it_add_nothing(
    config: SquaredError | Distance | MixtureLikelihood, total: float, count: int
) -> None:
    objective = build_objective(config)
    [loss] = objective(Output(torch.zeros(1, 3, 1)), Steps(), with_a_gap()).values()
    assert loss.total.item() == pytest.approx(total, abs=1.1e-4)  # √1e-8 for each point that is compared
    assert loss.count == count == next(iter(objective.count(with_a_gap()).values()))


def test_a_gap_adds_nothing_at_all() -> None:
    """Not even the little that keeps the slope of the root finite."""
    [loss] = build_objective(Distance())(Output(torch.zeros(1, 3, 1)), Steps(), with_a_gap()).values()
    assert loss.total.item() == pytest.approx(1e-4)


def test_a_target_keeps_its_path() -> None:
    target = with_a_gap().to(torch.device("cpu")).truth().until(2)
    assert target.path is not None
    assert target.path.values.shape == (1, 2, 2)
