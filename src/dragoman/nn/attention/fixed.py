"""No look at the source: nothing at all, or the same context at every step."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.linear import linear


class NoAttention(Config):
    """The encoder's final state starts the decoder, and there is no context (Sutskever et al. 2014)."""

    kind: Literal["none"] = "none"


class Fixed(Config):
    """One context vector at every step, from the encoder's final state (Cho et al. 2014)."""

    kind: Literal["fixed"] = "fixed"
    width: Annotated[int, Field(ge=1, le=65_536)] | None = None
    """of the context (not set: that of the decoder's state)"""


class FixedContext(nn.Module):
    """c = tanh(V h_S) of the encoder's final state h_S (Cho et al. 2014, A.1.1)."""

    def __init__(self, config: Fixed, final_width: int, decoder_width: int) -> None:
        super().__init__()
        self.width = config.width or decoder_width
        self.of_final = linear(final_width, self.width, bias=False)

    def forward(self, final: Float[Tensor, "B D"]) -> Float[Tensor, "B C"]:
        return torch.tanh(self.of_final(final))
