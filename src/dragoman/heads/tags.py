"""The state of each word → a tag for it."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Memory, Output
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear


class Tags(Config):
    """One of the tags that the training data has, for each word of a sentence (Graves and Schmidhuber 2005)."""

    kind: Literal["tags"] = "tags"
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the states' elements that training leaves out"""


class TagsHead(nn.Module):
    """p(tag_i | sentence) = softmax(W h_i + b) of the state h_i of word i's first piece (Devlin et al. 2019, 5.3)."""

    def __init__(self, config: Tags, width: int, size: int) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = linear(width, size)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight

    @property
    def bias(self) -> Float[Tensor, " V"] | None:
        return self.output.bias

    def gather(self, memory: Memory) -> Output:
        return Output(self.dropout(memory.sequences["source"].states))

    def log_probabilities(self, output: Output) -> Float[Tensor, "N L V"]:
        return torch.log_softmax(self.output(output.hidden), -1)
