"""Additive attention."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.nn.attention.functions import Scored, Width
from dragoman.nn.linear import linear


class Additive(Scored):
    """Score by a small network (Bahdanau et al. 2015)."""

    kind: Literal["additive"] = "additive"
    width: Width = 256
    """of the hidden comparison layers; the paper used 1000"""
    layers: Annotated[int, Field(ge=1, le=100)] = 1
    """hidden layers of the network; the paper has one"""
    shared: bool = False
    """whether query and key have one matrix: v · tanh(W(k + q)), for which they must be equally wide"""


class AdditiveAttention(nn.Module):
    """energy_j = v · tanh(W query + U memory_j + b) (Bahdanau et al. 2015, A.1.2).

    Deeper: v · tanh(W₂ tanh(W query + U memory_j + b) + b₂) and so on. Shared: U = W.
    """

    def __init__(self, config: Additive, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.of_query = linear(query_width, config.width)
        if config.shared and query_width != memory_width:
            raise ConfigError(
                f"Additive attention with one shared matrix compares vectors of one width; the query has "
                f"{query_width} and the key {memory_width}. Set shared = false, or key = 'linear'."
            )
        self.of_memory = None if config.shared else linear(memory_width, config.width, bias=False)
        self.deeper = nn.ModuleList(linear(config.width, config.width) for _ in range(config.layers - 1))
        self.energy = linear(config.width, 1, bias=False)

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        if self.of_memory is None:
            return states @ self.of_query.weight.t()
        keys: Tensor = self.of_memory(states)
        return keys

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        if not self.deeper:
            return energies(self.of_query(query), keys, self.energy.weight)
        compared = torch.tanh(self.of_query(query)[:, :, None] + keys[:, None])
        for layer in self.deeper:
            compared = torch.tanh(layer(compared))
        energy: Tensor = self.energy(compared).squeeze(-1)
        return energy


def energies(
    query: Float[Tensor, "B T A"], keys: Float[Tensor, "B S A"], weight: Float[Tensor, "1 A"]
) -> Float[Tensor, "B T S"]:
    """v · tanh(query + key_j), as 2v · σ(2 query + 2 key_j) − Σv: torch's sigmoid is four times as fast as its tanh."""
    compared = torch.add(2 * query[:, :, None], keys[:, None], alpha=2).sigmoid_()
    return (compared @ (2 * weight[0])) - weight.sum()
