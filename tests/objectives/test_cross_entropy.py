"""The loss with numbers done by hand."""

import math

import pytest
import torch

from dragoman.contracts import Batch, Output, Padded, Target
from dragoman.errors import DataError
from dragoman.heads import Tokens, build_head
from dragoman.objectives import CrossEntropy, CrossEntropyObjective, target_log_probabilities

OUTPUTS = Padded(torch.tensor([[3, 2], [2, 0]]), torch.tensor([[True, True], [True, False]]))
BATCH = Batch((0, 1), {}, Target(OUTPUTS, OUTPUTS, torch.tensor([0, 1, 2])))
UNIFORM = Output(torch.zeros(2, 2, 3))  # four symbols, equally likely


@pytest.mark.parametrize(("per", "count"), [("token", 3), ("sentence", 2)])
def test_the_batch_alone_decides_the_count(per: str, count: int) -> None:
    objective = CrossEntropyObjective(CrossEntropy(per=per))
    loss = objective(UNIFORM, build_head(Tokens(), 3, 4), BATCH)["cross_entropy"]
    assert objective.count(BATCH) == dict.fromkeys(("cross_entropy", "reinforce", "baseline", "bag"), count)
    assert loss.count == count
    assert loss.total.item() == pytest.approx(3 * math.log(4))


def test_smoothing_spreads_over_all_symbols() -> None:
    head = build_head(Tokens(), 3, 4)
    head.output.bias.data = torch.tensor([0.0, 0.0, 0.0, math.log(3)])  # p = 1/6, 1/6, 1/6, 1/2
    loss = CrossEntropyObjective(CrossEntropy(smoothing=0.4))(UNIFORM, head, BATCH)["cross_entropy"]
    everywhere = 3 * 0.1 * (3 * math.log(6) + math.log(2))
    assert loss.total.item() == pytest.approx(0.6 * (math.log(2) + 2 * math.log(6)) + everywhere)


def test_log_probabilities_of_the_target_are_zero_on_padding() -> None:
    logs = target_log_probabilities(UNIFORM, build_head(Tokens(bias=False), 3, 4), BATCH)
    torch.testing.assert_close(logs, torch.tensor([[1.0, 1.0], [1.0, 0.0]]) * -math.log(4))


def test_a_batch_without_target_is_refused() -> None:
    with pytest.raises(DataError, match="no target"):
        CrossEntropyObjective(CrossEntropy())(UNIFORM, build_head(Tokens(), 3, 4), Batch((0, 1), {}))
