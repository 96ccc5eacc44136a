import pytest
import torch

from dragoman.contracts import Batch, Output, Padded, Target
from dragoman.objectives import Distance, SquaredError, build_objective

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
