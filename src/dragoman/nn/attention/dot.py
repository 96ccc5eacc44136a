"""Attention by inner products: plain, and divided by the width's root."""

import math
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from dragoman.errors import ConfigError
from dragoman.nn.attention.functions import Scored


class Dot(Scored):
    """Score by the inner product (Luong et al. 2015)."""

    kind: Literal["dot"] = "dot"


class ScaledDot(Scored):
    """Score by the inner product, divided so that wide vectors do not saturate the softmax (Vaswani et al. 2017)."""

    kind: Literal["scaled_dot"] = "scaled_dot"
    divisor: Literal["root", "width", "one"] = "root"
    """of the inner product of d numbers: root: √d (Vaswani et al. 2017, eq. 1); width: d; one: 1"""


class DotAttention(nn.Module):
    """energy_j = query · key_j (Luong et al. 2015, 3.1)."""

    def __init__(self, config: Dot, query_width: int, memory_width: int) -> None:
        super().__init__()
        same_width("Dot", query_width, memory_width)

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S E"]:
        return states

    def scores(self, query: Float[Tensor, "B T E"], keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


class ScaledDotAttention(nn.Module):
    """energy_j = query · key_j / √d (Vaswani et al. 2017, eq. 1), or / d, or / 1."""

    def __init__(self, config: ScaledDot, query_width: int, memory_width: int) -> None:
        super().__init__()
        same_width("Scaled dot", query_width, memory_width)
        divisors = {"root": math.sqrt(query_width), "width": float(query_width), "one": 1.0}
        self.divisor = divisors[config.divisor]

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S E"]:
        return states / self.divisor

    def scores(self, query: Float[Tensor, "B T E"], keys: Float[Tensor, "B S E"]) -> Float[Tensor, "B T S"]:
        return query @ keys.transpose(1, 2)


def same_width(name: str, query_width: int, key_width: int) -> None:
    if query_width != key_width:
        raise ConfigError(
            f"{name} attention compares vectors of one width; the query has {query_width} and the key {key_width}. "
            "Set key = 'linear' or query = 'linear', make encoder and decoder equally wide, or take kind = 'general'."
        )
