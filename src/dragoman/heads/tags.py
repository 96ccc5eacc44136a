"""The state of each word → a tag for it."""

from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Memory, Output, Target
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear


@dataclass(frozen=True)
class Decided:
    """Tags at the places of words; at other places anything."""

    tags: Int[Tensor, "B S"]
    log_probabilities: Float[Tensor, "B S"]  # of each tag
    totals: Float[Tensor, " B"]  # log-probability of all tags of a sentence


class Tagging(Config):
    """What heads of tags have in common."""

    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the states' elements that training leaves out"""


class Tags(Tagging):
    """One of the tags that the training data has, for each word of a sentence (Graves and Schmidhuber 2005)."""

    kind: Literal["tags"] = "tags"


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

    def negative_log_likelihoods(self, output: Output, target: Target) -> Float[Tensor, " B"]:
        """−log p(tags | sentence) of each sentence."""
        logs = self.log_probabilities(output).gather(2, target.outputs.values[:, :, None])[:, :, 0]
        return -logs.masked_fill(~target.outputs.mask, 0.0).sum(1)

    def decide(
        self, output: Output, places: Bool[Tensor, "B S"], follows: Bool[Tensor, "J K"] | None = None
    ) -> Decided:
        """The most probable tag of each word, whatever its neighbors have."""
        best, tags = self.log_probabilities(output).max(2)
        return Decided(tags, best, best.masked_fill(~places, 0.0).sum(1))
