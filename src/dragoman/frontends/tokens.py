"""Token ids → vectors."""

from typing import Annotated, Literal

from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config


class Tokens(Config):
    """A learnt vector for each symbol of a vocabulary."""

    kind: Literal["tokens"] = "tokens"
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the vectors"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the vectors' elements that training leaves out"""


class TokensFrontend(nn.Module):
    """vector = E[id]; id 0 is padding and stays a vector of zeros (Bengio et al. 2003, §2)."""

    def __init__(self, config: Tokens, size: int) -> None:
        super().__init__()
        self.width = config.width
        self.embedding = nn.Embedding(size, config.width, padding_idx=0)
        self.dropout = nn.Dropout(config.dropout)
        nn.init.normal_(self.embedding.weight, std=config.width**-0.5)
        nn.init.zeros_(self.embedding.weight.detach()[0])

    def forward(self, values: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        vectors: Tensor = self.dropout(self.embedding(values))
        return vectors
