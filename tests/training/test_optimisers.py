"""The optimisers: one step with a pencil, and a state that survives a file."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from dragoman.training.optimisers import (
    Adadelta,
    Adam,
    AdamW,
    OptimiserConfig,
    Sgd,
    build_optimiser,
    optimiser_tensors,
    restore_optimiser,
    set_rate,
)
from dragoman.training.update import apply, clipped
from dragoman.weights import read_tensors, weight_bytes

EVERY = [
    Adam(rate=0.1),
    AdamW(rate=0.1, weight_decay=0.5),
    Sgd(rate=0.1, momentum=0.5, weight_decay=0.25),
    Adadelta(decay=0.5, epsilon=0.1),
]


def steps(optimiser: torch.optim.Optimizer, weight: nn.Parameter, gradients: list[list[float]]) -> None:
    for gradient in gradients:
        weight.grad = torch.tensor(gradient)
        optimiser.step()


@pytest.mark.parametrize(
    ("config", "after"),
    [
        (Adam(rate=0.1), [0.9, -1.9]),  # the first step of Adam is the rate, whatever the gradient
        (AdamW(rate=0.1, weight_decay=0.5), [0.85, -1.8]),  # and 0.1 · 0.5 of each weight besides
        (Sgd(rate=0.1), [0.6, -1.8]),
        (Sgd(rate=0.1, weight_decay=0.5), [0.55, -1.7]),
        # √ε / √((1 − ρ) g² + ε) of each gradient
        (Adadelta(decay=0.5, epsilon=1.0), [1 - 4 / 3, -2 + 2 / math.sqrt(3)]),
    ],
    ids=["adam", "adamw", "sgd", "sgd with decay", "adadelta"],
)
def test_one_step(config: OptimiserConfig, after: list[float]) -> None:
    weight = nn.Parameter(torch.tensor([1.0, -2.0]))
    steps(build_optimiser(config, [weight]), weight, [[4.0, -2.0]])
    torch.testing.assert_close(weight.detach(), torch.tensor(after))


def test_momentum_takes_the_last_step_again() -> None:
    weight = nn.Parameter(torch.tensor([1.0]))
    steps(build_optimiser(Sgd(rate=0.1, momentum=0.5), [weight]), weight, [[1.0], [1.0]])
    torch.testing.assert_close(weight.detach(), torch.tensor([1 - 0.1 - 0.15]))


@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.kind)
def test_the_state_survives_a_file(config: OptimiserConfig, tmp_path: Path) -> None:
    first = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
    optimiser = build_optimiser(config, [first])
    steps(optimiser, first, [[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])
    (tmp_path / "optimiser.safetensors").write_bytes(weight_bytes(optimiser_tensors(optimiser)))
    second = nn.Parameter(first.detach().clone())
    again = build_optimiser(config, [second])
    restore_optimiser(again, read_tensors(tmp_path / "optimiser.safetensors"))
    for one, weight in ((optimiser, first), (again, second)):
        set_rate(one, 0.02)
        steps(one, weight, [[3.0, 0.1, -2.0]])
    assert torch.equal(first, second)


def test_the_state_is_a_copy() -> None:
    """So that a step taken while it is written cannot tear it."""
    weight = nn.Parameter(torch.tensor([1.0]))
    optimiser = build_optimiser(Adam(), [weight])
    steps(optimiser, weight, [[1.0]])
    before = optimiser_tensors(optimiser)
    kept = {name: value.clone() for name, value in before.items()}
    steps(optimiser, weight, [[1.0]])
    assert all(torch.equal(before[name], kept[name]) for name in kept)


def looked_up(table: nn.Parameter, rows: list[int], sparse: bool) -> None:
    """The gradient of Σ_i i · Σ table[row_i], i from 1; a row may be looked up twice."""
    found = nn.functional.embedding(torch.tensor(rows), table, sparse=sparse)
    (found * torch.arange(1.0, len(rows) + 1)[:, None]).sum().backward()


@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.kind)
def test_rows_that_every_update_uses_are_moved_as_by_a_dense_gradient(config: OptimiserConfig) -> None:
    start, found = torch.tensor([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]]), []
    for sparse in (False, True):
        table = nn.Parameter(start.clone())
        optimiser = build_optimiser(config, [table])
        for rows in ([0, 1, 2, 1], [2, 1, 0], [1, 0, 2, 2]):
            looked_up(table, rows, sparse)
            clipped([table], 1.0)
            apply(optimiser, torch.device("cpu"))
            optimiser.zero_grad()
        found.append(table.detach())
    torch.testing.assert_close(found[0], found[1])
    assert not torch.allclose(found[0], start)


def test_rows_that_an_update_does_not_use_stay_where_they_are() -> None:
    """Adam with a dense gradient would move row 1 again by its momentum."""
    table = nn.Parameter(torch.zeros(3, 2))
    optimiser = build_optimiser(Adam(rate=0.1), [table])
    for rows in ([0, 1], [0]):
        looked_up(table, rows, sparse=True)
        optimiser.step()
        optimiser.zero_grad()
    torch.testing.assert_close(table.detach(), torch.tensor([[-0.2, -0.2], [-0.1, -0.1], [0.0, 0.0]]))
    assert optimiser_tensors(optimiser)["0.exp_avg"][1].tolist() == pytest.approx([0.2, 0.2])


def test_the_norm_of_sparse_gradients_counts_a_row_once() -> None:
    """Row 0 has 1 + 2 in both columns: √(3² + 3²)."""
    table = nn.Parameter(torch.zeros(2, 2))
    looked_up(table, [0, 0], sparse=True)
    assert clipped([table], 1.0) == pytest.approx(math.sqrt(18))
    assert table.grad is not None
    assert table.grad.to_dense()[0].norm().item() == pytest.approx(1.0, abs=1e-5)
