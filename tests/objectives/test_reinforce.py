"""Learning where to look: the gradient is right on average, whatever the baseline says."""

from itertools import product

import pytest
import torch
from torch import Tensor, nn

from dragoman.contracts import Batch, Loss, Output, Padded, Target
from dragoman.heads import Tokens, TokensHead, build_head
from dragoman.objectives import CrossEntropy, CrossEntropyObjective, Reinforce
from dragoman.objectives.reinforce import reinforce, rewards

WIDTH, SYMBOLS = 3, 4
TRUTH = Padded(torch.tensor([[3, 2]]), torch.tensor([[True, True]]))
BATCH = Batch((0,), {}, Target(TRUTH, TRUTH, torch.tensor([0, 1])))


class Toy(nn.Module):
    """Two steps, each of which looks at one of two places; where the second looks depends on where the first did."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Parameter(torch.randn(2)), nn.Parameter(torch.randn(2, 2))
        self.seen = nn.Parameter(torch.randn(2, 2, WIDTH))  # what a step sees at a place
        self.carried = nn.Parameter(torch.randn(2, WIDTH))  # what the second step still knows of the first place
        self.baseline = nn.Parameter(torch.randn(2, 2))
        self.head: TokensHead = build_head(Tokens(), WIDTH, SYMBOLS)

    def logs(self, one: int, two: int) -> Tensor:
        return torch.stack([self.first.log_softmax(0)[one], self.second[one].log_softmax(0)[two]])

    def output(self, one: int, two: int) -> Output:
        hidden = torch.stack([self.seen[0, one], self.seen[1, two] + self.carried[one]])
        extras = {
            "attention.log_probability": self.logs(one, two)[None],
            "attention.entropy": torch.zeros(1, 2, dtype=hidden.dtype),
            "attention.baseline": torch.stack([self.baseline[0, 0], self.baseline[1, one]])[None],
        }
        return Output(hidden[None], {}, extras)

    def likelihood(self, one: int, two: int) -> Tensor:
        logs = self.head.log_probabilities(Output(self.output(one, two).hidden))
        return logs[0, 0, 3] + logs[0, 1, 2]


def gradient(toy: Toy, value: Tensor) -> dict[str, Tensor]:
    toy.zero_grad()
    value.backward()
    return {name: weight.grad.clone() for name, weight in toy.named_parameters() if weight.grad is not None}


def expected(toy: Toy, objective: CrossEntropyObjective) -> dict[str, Tensor]:
    """The gradient of the losses, averaged over all places that may be drawn."""
    total: dict[str, Tensor] = {}
    for one, two in product(range(2), repeat=2):
        losses = objective(toy.output(one, two), toy.head, BATCH)
        share = toy.logs(one, two).sum().exp().detach()
        for name, value in gradient(toy, sum(loss.total for loss in losses.values())).items():
            total[name] = total.get(name, torch.zeros(())) + share * value
    return total


@pytest.mark.parametrize("scale", [0.0, 1.0, 7.0])
def test_the_expected_gradient_is_that_of_the_expected_likelihood(scale: float) -> None:
    """With any baseline: a good one only makes single draws differ less."""
    toy = Toy().double()
    toy.baseline.data *= scale
    paths = list(product(range(2), repeat=2))
    likelihood = sum(toy.logs(*path).sum().exp() * toy.likelihood(*path) for path in paths)
    true = gradient(toy, -likelihood)
    found = expected(toy, objective_of(discount=1.0))
    assert found.keys() - true.keys() == {"baseline"}
    for name, value in true.items():
        torch.testing.assert_close(found[name], value)
    short = expected(toy, objective_of(discount=0.0))
    assert not torch.allclose(short["first"], true["first"])  # the first place decides over the second word, too


def objective_of(**settings: float) -> CrossEntropyObjective:
    own = Reinforce(**{"weight": 1.0, "entropy": 0.0, "discount": 1.0, **settings})
    return CrossEntropyObjective(CrossEntropy(smoothing=0.0, reinforce=own))


def test_only_its_own_loss_moves_the_baseline() -> None:
    """∂/∂b of (r − b)²/2 is b − r where that is below 1, else ±1; with rewards of one draw."""
    toy = Toy().double()
    found = gradient(toy, sum(loss.total for loss in objective_of()(toy.output(0, 1), toy.head, BATCH).values()))
    logs = toy.head.log_probabilities(toy.output(0, 1))
    reward = torch.stack([logs[0, 0, 3] + logs[0, 1, 2], logs[0, 1, 2]]).detach()
    foreseen = torch.stack([toy.baseline[0, 0], toy.baseline[1, 0]]).detach()
    wanted = torch.zeros(2, 2, dtype=torch.float64)
    wanted[0, 0], wanted[1, 0] = (foreseen - reward).clamp(-1, 1)
    torch.testing.assert_close(found["baseline"], wanted)


def test_numbers_by_hand() -> None:
    """Rewards −1 − 0.5 · 2 − 0.25 · 4 = −3, −2 − 0.5 · 4 = −4 and −4 in the first row, −8 in the second."""
    logs = torch.tensor([[-1.0, -2.0, -4.0], [-8.0, 0.0, 0.0]])
    assert rewards(logs, 0.5).tolist() == [[-3, -4, -4], [-8, 0, 0]]
    assert rewards(logs, 0.0).tolist() == logs.tolist()
    extras = {
        "attention.log_probability": torch.tensor([[-1.0, -1.0, -2.0], [-0.5, 99.0, 99.0]]),
        "attention.entropy": torch.tensor([[1.0, 1.0, 0.0], [2.0, 99.0, 99.0]]),
        "attention.baseline": torch.tensor([[-2.0, -4.0, -5.0], [-4.0, 99.0, 99.0]]),
    }
    found = reinforce(Reinforce(weight=2.0, entropy=0.5, discount=0.5), extras, logs, torch.tensor([0, 1, 2, 3]))
    # r − b is −1, 0, 1 and −4; padding counts nowhere
    assert found["reinforce"].item() == -(2 * (1 + 0 - 2 + 2) + 0.5 * (1 + 1 + 0 + 2))
    assert found["baseline"].item() == 0.5 + 0 + 0.5 + 3.5


def test_smoothing_is_no_part_of_the_reward() -> None:
    toy = Toy()
    smoothed = CrossEntropyObjective(CrossEntropy(smoothing=0.5, reinforce=Reinforce(entropy=0.0, discount=1.0)))
    one, other = (objective(toy.output(1, 1), toy.head, BATCH) for objective in (smoothed, objective_of()))
    assert one["cross_entropy"].total != other["cross_entropy"].total
    for name in ("reinforce", "baseline"):
        assert torch.equal(one[name].total, other[name].total)


@pytest.mark.parametrize(("per", "count"), [("token", 2), ("sentence", 1)])
def test_counts_are_known_beforehand_and_only_cross_entropy_is_told(per: str, count: int) -> None:
    toy, objective = Toy(), CrossEntropyObjective(CrossEntropy(per=per))
    losses: dict[str, Loss] = objective(toy.output(0, 0), toy.head, BATCH)
    assert objective.count(BATCH).items() >= {name: loss.count for name, loss in losses.items()}.items()
    assert {loss.count for loss in losses.values()} == {count}
    assert [name for name, loss in losses.items() if not loss.auxiliary] == ["cross_entropy"]
    plain = objective(Output(toy.output(0, 0).hidden), toy.head, BATCH)
    assert list(plain) == ["cross_entropy"]  # where nothing was drawn, nothing is added
    assert torch.equal(plain["cross_entropy"].total, losses["cross_entropy"].total)
