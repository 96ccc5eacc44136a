"""General attention."""

from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.attention.functions import Scored
from dragoman.nn.linear import linear


class General(Scored):
    """Score by a bilinear form (Luong et al. 2015)."""

    kind: Literal["general"] = "general"


class GeneralAttention(nn.Module):
    """energy_j = query · W key_j (Luong et al. 2015, 3.1)."""

    def __init__(self, config: General, query_width: int, memory_width: int) -> None:
        super().__init__()
        self.between = linear(memory_width, query_width, bias=False)

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]:
        keys: Tensor = self.between(states)
        return keys

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S Q"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)
