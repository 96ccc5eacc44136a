"""Functions of query, key and value, a score and weights, as one part."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.nn.attention.additive import Additive, AdditiveAttention
from dragoman.nn.attention.attend import Attended, Score, attend
from dragoman.nn.attention.concat import Concat, ConcatAttention
from dragoman.nn.attention.cosine import Cosine, CosineAttention
from dragoman.nn.attention.dot import Dot, DotAttention, ScaledDot, ScaledDotAttention
from dragoman.nn.attention.functions import Applied, Scored, WeightsConfig
from dragoman.nn.attention.general import General, GeneralAttention
from dragoman.nn.attention.hard import Hard, HardWeights
from dragoman.nn.attention.local import Local, LocalWeights
from dragoman.nn.attention.rbf import Rbf, RbfAttention
from dragoman.nn.attention.soft import SoftmaxWeights
from dragoman.nn.linear import linear

SCORES: Mapping[type[Scored], Callable[[Any, int, int], Score]] = {  # each a module
    Additive: AdditiveAttention,
    Concat: ConcatAttention,
    Cosine: CosineAttention,
    Dot: DotAttention,
    General: GeneralAttention,
    Rbf: RbfAttention,
    ScaledDot: ScaledDotAttention,
}


class Attention(nn.Module):
    """e_ij = score(q(s_i), k(h_j)); α_i = weights(e_i); c_i = Σ_j α_ij v(h_j) (Bahdanau et al. 2015, eq. 5 and 6)."""

    def __init__(self, config: Scored, query_width: int, memory_width: int) -> None:
        super().__init__()
        asked, held = config.key_widths(query_width, memory_width)
        self.width = memory_width if config.value == "identity" else config.value_width or memory_width
        self.query = Applied(config.query, query_width, asked)
        self.key = Applied(config.key, memory_width, held)
        self.value = Applied(config.value, memory_width, self.width)
        self.score: Score = SCORES[type(config)](config, asked, held)
        self.weigh = build_weights(config.weights, query_width)
        self.gate = linear(query_width, 1) if config.gate == "scalar" else None
        self.tells = False  # whether an objective judges where was looked: then training tells it the weights

    @property
    def needs_steps(self) -> bool:
        return bool(self.weigh.needs_steps)

    def remember(self, source: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B S A"], Float[Tensor, "B S C"]]:
        """Keys and values, once a source."""
        keys, values = self.score.keys(self.key(source)), self.value(source)
        return keys, values

    def forward(
        self,
        states: Float[Tensor, "N L D"],
        keys: Float[Tensor, "B S A"],
        values: Float[Tensor, "B S C"],
        mask: Tensor,
        steps: Int[Tensor, "N L"] | None = None,
    ) -> Attended:
        found = attend(self.score, self.query(states), keys, values, mask, self.weigh, states, steps)
        if self.gate is not None:
            found = replace(found, context=found.context * torch.sigmoid(self.gate(states)))
        return (
            replace(found, facts={**found.facts, "weights": found.weights}) if self.tells and self.training else found
        )


def build_weights(config: WeightsConfig, query_width: int) -> SoftmaxWeights | LocalWeights | HardWeights:
    if isinstance(config, Local):
        return LocalWeights(config, query_width)
    return HardWeights(config, query_width) if isinstance(config, Hard) else SoftmaxWeights()
