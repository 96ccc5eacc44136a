"""Concat attention."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.attention.additive import energies
from dragoman.nn.attention.functions import Scored, Width
from dragoman.nn.linear import linear


class Concat(Scored):
    """Score by one layer over query and key side by side (Luong et al. 2015)."""

    kind: Literal["concat"] = "concat"
    width: Width = 256
    """of the layer"""


class ConcatAttention(nn.Module):
    """energy_j = v · tanh(W [query; key_j]) (Luong et al. 2015, 3.1).

    W is applied to either half by itself, so that each key meets it once a source.
    """

    def __init__(self, config: Concat, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.query_width = query_width
        self.of_both = linear(query_width + memory_width, config.width, bias=False)
        self.energy = linear(config.width, 1, bias=False)

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        return states @ self.of_both.weight[:, self.query_width :].t()

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        of_query = query @ self.of_both.weight[:, : self.query_width].t()
        return energies(of_query, keys, self.energy.weight)
