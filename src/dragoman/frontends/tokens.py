"""Token ids → vectors."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.dropout import Dropout


class Tokens(Config):
    """A learnt vector for each symbol of a vocabulary."""

    kind: Literal["tokens"] = "tokens"
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the vectors"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the vectors' elements that training leaves out"""
    scaled: bool = False
    """whether vectors are multiplied by √width, so that positions do not drown them (Vaswani et al. 2017, 3.4)"""
    noise: Annotated[float, Field(ge=0, le=100)] = 0.0
    """standard deviation of the noise that training adds to a vector, as a share of its root mean square"""


class TokensFrontend(nn.Module):
    """vector = E[id]; id 0 is padding and stays a vector of zeros (Bengio et al. 2003, §2)."""

    cells = 1  # vectors a symbol

    def __init__(self, config: Tokens, size: int) -> None:
        super().__init__()
        self.width = config.width
        # Uniform with variance 1 / width: normal numbers on the meta device would make loading a model 1.7 s slower.
        bound = (3 / config.width) ** 0.5
        table = nn.init.uniform_(torch.empty(size, config.width), -bound, bound)
        nn.init.zeros_(table[0])
        self.embedding = nn.Embedding(size, config.width, padding_idx=0, _weight=table)
        self.noise, self.scale = config.noise, config.width**0.5 if config.scaled else 1.0
        self.dropout = Dropout(config.dropout)

    def forward(self, values: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        vectors: Tensor = self.embedding(values)
        if self.scale != 1:
            vectors = vectors * self.scale
        if self.training and self.noise:
            vectors = vectors + self.noise_like(vectors.detach())
        dropped: Tensor = self.dropout(vectors)
        return dropped

    def noise_like(self, vectors: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        """share · rms(v) · N(0, 1), through which nothing is learnt; it goes with the vector, so padding stays 0."""
        size = vectors.square().mean(-1, keepdim=True).sqrt()
        return self.noise * size * torch.randn_like(vectors)
