"""Optimisers: torch's own, with their settings and a state that is plain tensors."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, NonNegativeFloat, PositiveFloat
from torch import Tensor, nn

from dragoman.config import Config

Decay = Annotated[float, Field(ge=0, lt=1)]


class Adam(Config):
    """Adaptive moments: w ← w − rate · m̂ / (√v̂ + ε) (Kingma & Ba 2015, algorithm 1)."""

    kind: Literal["adam"] = "adam"
    rate: PositiveFloat = 1e-3
    """Learning rate at the top of the schedule."""
    betas: tuple[Decay, Decay] = (0.9, 0.999)
    """Decay of the first and second moment."""
    epsilon: PositiveFloat = 1e-8
    """Added to the root of the second moment."""


class AdamW(Config):
    """Adam with weight decay apart from the gradient: w ← w − rate · (m̂ / (√v̂ + ε) + decay · w)
    (Loshchilov & Hutter 2019, algorithm 2)."""

    kind: Literal["adamw"] = "adamw"
    rate: PositiveFloat = 1e-3
    """Learning rate at the top of the schedule."""
    betas: tuple[Decay, Decay] = (0.9, 0.999)
    """Decay of the first and second moment."""
    epsilon: PositiveFloat = 1e-8
    """Added to the root of the second moment."""
    weight_decay: NonNegativeFloat = 0.01
    """Share of each weight, times the rate, taken off at every step."""


class Sgd(Config):
    """Stochastic gradient descent, with momentum if wanted: b ← momentum · b + g; w ← w − rate · b
    (Robbins & Monro 1951; Polyak 1964)."""

    kind: Literal["sgd"] = "sgd"
    rate: PositiveFloat = 0.1
    """Learning rate at the top of the schedule."""
    momentum: Decay = 0.0
    """Share of the last step that is taken again."""
    weight_decay: NonNegativeFloat = 0.0
    """Share of each weight that is added to its gradient."""


class Adadelta(Config):
    """Steps by the ratio of what moved before to what the gradients were: Δw = −rate · √(E[Δw²] + ε) / √(E[g²] + ε) · g
    (Zeiler 2012, algorithm 1)."""

    kind: Literal["adadelta"] = "adadelta"
    rate: PositiveFloat = 1.0
    """Factor of every step; the paper has none."""
    decay: Decay = 0.95
    """ρ: of the running means of squared gradients and squared steps."""
    epsilon: PositiveFloat = 1e-6
    """Added to both means."""


OptimiserConfig = Annotated[Adam | AdamW | Sgd | Adadelta, Field(discriminator="kind")]


def build_optimiser(
    config: OptimiserConfig, parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]]
) -> torch.optim.Optimizer:
    """Of weights, or of groups of them, each with its `share` of the rate."""
    match config:
        case Adam():
            return torch.optim.Adam(parameters, config.rate, config.betas, config.epsilon, fused=True)
        case AdamW():
            return torch.optim.AdamW(
                parameters, config.rate, config.betas, config.epsilon, config.weight_decay, fused=True
            )
        case Sgd():
            return torch.optim.SGD(
                parameters, config.rate, config.momentum, weight_decay=config.weight_decay, fused=True
            )
        case Adadelta():
            return torch.optim.Adadelta(parameters, config.rate, config.decay, config.epsilon)


def moments_of(config: OptimiserConfig) -> int:
    """How many numbers the optimiser keeps for each weight."""
    return int(config.momentum > 0) if isinstance(config, Sgd) else 2


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Moments and step counts under "number of the parameter.name"."""
    state = optimiser.state_dict()["state"]
    return {
        f"{index}.{name}": value.clone()
        for index, moments in state.items()
        for name, value in moments.items()
        if isinstance(value, Tensor)
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        index, _, moment = name.partition(".")
        state.setdefault(int(index), {})[moment] = value
    optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get("share", 1.0)
