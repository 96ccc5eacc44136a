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
