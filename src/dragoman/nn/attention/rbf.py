"""Attention by distance."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.nn.attention.dot import same_width
from dragoman.nn.attention.functions import Scored


class Rbf(Scored):
    """Score by the distance between query and key: the radial basis function (Broomhead and Lowe 1988)."""

    kind: Literal["rbf"] = "rbf"
    gamma: Annotated[float, Field(ge=1e-4, le=1e4)] = 1.0
    """γ: how fast the weight falls with the squared distance"""


class RbfAttention(nn.Module):
    """energy_j = −γ ‖query − key_j‖², so that the weight is exp(−γ d²) / Σ exp(−γ d²) (Broomhead and Lowe 1988)."""

    def __init__(self, config: Rbf, query_width: int, memory_width: int) -> None:
        super().__init__()
        same_width("RBF", query_width, memory_width)
        self.gamma = config.gamma

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        """A key beside its own square, which every query needs."""
        return torch.cat([states, states.square().sum(2, keepdim=True)], 2)

    def scores(self, query: Float[Tensor, "B T E"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]:
        products = query @ keys[:, :, :-1].transpose(1, 2)
        squares = query.square().sum(2, keepdim=True) + keys[:, None, :, -1]
        return -self.gamma * (squares - 2 * products).clamp(min=0)  # what rounding leaves of no distance may be below 0
