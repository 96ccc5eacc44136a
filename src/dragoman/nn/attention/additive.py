"""Additive attention."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.linear import linear


class Additive(Config):
    """Score by a small network (Bahdanau et al. 2015)."""

    kind: Literal["additive"] = "additive"
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the hidden comparison layer; the paper used 1000"""


class AdditiveAttention(nn.Module):
    """energy_j = v · tanh(W query + U memory_j) (Bahdanau et al. 2015, A.1.2)."""

    def __init__(self, config: Additive, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.of_query = linear(query_width, config.width)
        self.of_memory = linear(memory_width, config.width, bias=False)
        self.energy = linear(config.width, 1, bias=False)

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = self.of_memory(states)
        return keys

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        compared = torch.tanh(self.of_query(query)[:, :, None] + keys[:, None])
        energy: Tensor = self.energy(compared).squeeze(-1)
        return energy
