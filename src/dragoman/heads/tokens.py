"""Hidden vectors → symbols of a vocabulary."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Output
from dragoman.nn.linear import linear


class Tokens(Config):
    """One of the symbols of a vocabulary."""

    kind: Literal["tokens"] = "tokens"
    bias: bool = True
    """whether a symbol is likelier or not whatever came before"""


class TokensHead(nn.Module):
    """p(y | hidden) = softmax(W hidden + b) (Bengio et al. 2003, §2)."""

    def __init__(self, config: Tokens, width: int, size: int) -> None:
        super().__init__()
        self.output = linear(width, size, config.bias)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight

    @property
    def bias(self) -> Float[Tensor, " V"] | None:
        return self.output.bias

    def log_probabilities(self, output: Output) -> Float[Tensor, "N L V"]:
        return torch.log_softmax(self.output(output.hidden), -1)
