"""Tracks beside another, at each step → one vector, whatever their number and order."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.nn.linear import linear

Pool = Literal["max", "mean", "sum"]
POOLS: dict[Pool, str] = {
    "max": "of each element the largest over all neighbours (Gupta et al. 2018)",
    "mean": "of each element the mean over all neighbours (Zaheer et al. 2017)",
    "sum": "of each element the sum over all neighbours, which also tells how many there are (Zaheer et al. 2017)",
}


class Neighbours(Config):
    """What moves beside a track: where each is from here, and its last step."""

    kind: Literal["neighbours"] = "neighbours"
    width: Annotated[int, Field(ge=1, le=65_536)] = 32
    """of the vector of each neighbour"""
    pool: Annotated[Pool, Choices(POOLS)] = "max"
    """how the vectors of all neighbours become one"""


class NeighboursFrontend(nn.Module):
    """v_t = W pool_n relu(U z_nt + b): one vector of a set, in which no order counts (Zaheer et al. 2017; for
    pedestrians: Gupta et al. 2018); v_t = 0 where nobody is near."""

    def __init__(self, config: Neighbours, size: int, width: int) -> None:
        """`size` numbers a neighbour, vectors of `width`."""
        super().__init__()
        self.size, self.pool = size, config.pool
        self.each, self.together = linear(size, config.width), linear(config.width, width, bias=False)
        nn.init.zeros_(self.together.weight)  # so that a model starts as one without them

    def forward(self, values: Float[Tensor, "B S K"]) -> Float[Tensor, "B S D"]:
        """NaN is what is missing; a neighbour is there if anything of it is known."""
        parts = values.view(*values.shape[:2], -1, self.size)
        there = ~parts.isnan().all(-1, keepdim=True)
        vectors = torch.relu(self.each(parts.nan_to_num(0.0))) * there
        if self.pool == "max":
            pooled = vectors.amax(-2)  # of numbers that are not negative, so that nobody counts as nothing
        else:
            pooled = vectors.sum(-2)
            if self.pool == "mean":
                pooled = pooled / there.sum(-2).clamp_min(1)
        found: Tensor = self.together(pooled)
        return found
