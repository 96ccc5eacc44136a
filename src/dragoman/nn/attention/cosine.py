"""Cosine attention."""

from typing import Annotated, Literal

import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.nn.attention.dot import same_width
from dragoman.nn.attention.functions import Scored


class Cosine(Scored):
    """Score by the angle between query and key (Graves et al. 2014)."""

    kind: Literal["cosine"] = "cosine"
    temperature: Annotated[float, Field(ge=1e-4, le=1e4)] = 0.1
    """that the cosine is divided by: the smaller, the sharper; at 1 no weight exceeds e² times another"""


class CosineAttention(nn.Module):
    """energy_j = query · key_j / (‖query‖ ‖key_j‖ τ) (Graves et al. 2014, eq. 6)."""

    def __init__(self, config: Cosine, query_width: int, memory_width: int) -> None:
        super().__init__()
        same_width("Cosine", query_width, memory_width)
        self.temperature = config.temperature

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S E"]:
        return F.normalize(states, dim=2)

    def scores(self, query: Float[Tensor, "B T E"], keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B T S"]:
        return F.normalize(query, dim=2) @ keys.transpose(1, 2) / self.temperature
