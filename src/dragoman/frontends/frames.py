"""Numbers of each step → vectors."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear


class Frames(Config):
    """The numbers of each step, of which some may be missing."""

    kind: Literal["frames"] = "frames"
    width: Annotated[int, Field(ge=1, le=65_536)] = 64
    """of the vectors"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """share of the vectors' elements that training leaves out"""


class FramesFrontend(nn.Module):
    """v_t = W x′_t + U m_t + b, with x′_t = x_t where it was measured and a learnt value where it is missing, of which
    m_t tells (Lipton et al. 2016; Che et al. 2018)."""

    cells = 1  # vectors a step

    def __init__(self, config: Frames, size: int) -> None:
        super().__init__()
        self.width, self.size = config.width, size
        self.values, self.missing = linear(size, config.width), linear(size, config.width, bias=False)
        self.absent = nn.Parameter(torch.zeros(size))
        self.dropout = Dropout(config.dropout)

    def forward(self, values: Float[Tensor, "B S F"]) -> Float[Tensor, "B S D"]:
        """NaN is what is missing."""
        missing = values.isnan()
        filled = torch.where(missing, self.absent, values)
        vectors: Tensor = self.dropout(self.values(filled) + self.missing(missing.to(filled.dtype)))
        return vectors
