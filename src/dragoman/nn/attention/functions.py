"""What states are before they are compared or summed: functions of query, key and value."""

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.nn.attention.hard import Hard
from dragoman.nn.attention.local import Local
from dragoman.nn.attention.soft import Softmax
from dragoman.nn.linear import linear

Function = Literal["identity", "linear", "sigmoid"]
FUNCTIONS: Mapping[Function, str] = {
    "identity": "f(x) = x (Bahdanau et al. 2015)",
    "linear": "f(x) = W x + b (Vaswani et al. 2017, 3.2.2)",
    "sigmoid": "f(x) = σ(W x + b)",
}
CHOSEN = Choices(FUNCTIONS)
Gate = Literal["none", "scalar"]
GATES: Mapping[Gate, str] = {
    "none": "c_i = Σ_j α_ij v(h_j) (Bahdanau et al. 2015, eq. 5)",
    "scalar": "c_i = β_i Σ_j α_ij v(h_j) with β_i = σ(w · s + b) (Xu et al. 2015, 4.2.1)",
}
Width = Annotated[int, Field(ge=1, le=65_536)]
WeightsConfig = Annotated[Softmax | Local | Hard, Field(discriminator="kind")]


class Scored(Config):
    """What every score has beside its own settings."""

    query: Annotated[Function, CHOSEN] = "identity"
    """the query q of the decoder's state s: identity: s; linear: W s + b; sigmoid: σ(W s + b)"""
    key: Annotated[Function, CHOSEN] = "identity"
    """the key k of the encoder's state h, in the same way"""
    value: Annotated[Function, CHOSEN] = "identity"
    """the value v that is summed, of the encoder's state h, in the same way"""
    key_width: Width | None = None
    """of linear and sigmoid queries and keys (not set: that of the other, or of the decoder's state)"""
    value_width: Width | None = None
    """of linear and sigmoid values (not set: that of the encoder's states)"""
    weights: WeightsConfig = Softmax()
    """how scores become weights"""
    gate: Annotated[Gate, Choices(GATES)] = "none"
    """by what the context is multiplied: scalar: by a number that the state which asks makes of itself"""

    @model_validator(mode="after")
    def _widths_are_used(self) -> "Scored":
        if self.key_width is not None and self.key == self.query == "identity":
            raise ValueError("key_width is that of a linear or sigmoid key or query; set key or query, or leave it out")
        if self.value_width is not None and self.value == "identity":
            raise ValueError("value_width is that of a linear or sigmoid value; set value, or leave it out")
        return self

    def key_widths(self, query_width: int, memory_width: int) -> tuple[int, int]:
        """Of query and key, once their functions have been applied."""
        other = memory_width if self.key == "identity" and self.query != "identity" else query_width
        learnt = self.key_width or other
        return (
            query_width if self.query == "identity" else learnt,
            memory_width if self.key == "identity" else learnt,
        )


class Applied(nn.Module):
    """x, W x + b or σ(W x + b)."""

    def __init__(self, function: Function, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = None if function == "identity" else linear(inputs, outputs)
        self.squashed = function == "sigmoid"

    def forward(self, states: Float[Tensor, "*rows D"]) -> Float[Tensor, "*rows E"]:
        if self.linear is None:
            return states
        applied: Tensor = self.linear(states)
        return torch.sigmoid(applied) if self.squashed else applied
