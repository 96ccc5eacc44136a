"""A text as one vector → a label of the whole text, or a number."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Memory, Output, Remembered
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear

WIDE, OVERLAP = "wide", "overlap"  # sequences of a memory beside "source": of n-grams; one vector of a pair of texts
BAG = "bag"  # another, and an extra of an output: the scores of a linear model beside the encoder
Pool = Literal["mean", "max", "first", "last"]
POOLS: dict[Pool, str] = {
    "mean": "z = Σ_j h_j / S (Iyyer et al. 2015)",
    "max": "z_d = max_j h_jd, for each of the D elements by itself (Collobert et al. 2011)",
    "first": "z = h_1, where START stands (Devlin et al. 2019)",
    "last": "z = h_S, where END stands (Dai and Le 2015)",
}


class Pooling(Config):
    """What heads of whole texts have in common."""

    pool: Annotated[Pool, Choices(POOLS)] = "mean"
    """how the states of all symbols, START and END counted, become one vector"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of that vector's elements that training leaves out"""


class Labels(Pooling):
    """One of the labels that the training data has, for a text or two (Devlin et al. 2019, 4.1)."""

    kind: Literal["labels"] = "labels"


class Number(Pooling):
    """A number, for a text or two: ŷ = m + d (w·z + b), of mean m and standard deviation d of the training data (Cer et
    al. 2017 for the task)."""

    kind: Literal["number"] = "number"


class LabelsHead(nn.Module):
    """p(label | text) = softmax(W z + b) of the pooled states z (Devlin et al. 2019, 4.1). A linear model beside the
    encoder has probabilities of its own, which are multiplied with these (a product of experts; Hinton 2002)."""

    def __init__(self, config: Labels, width: int, size: int) -> None:
        super().__init__()
        self.pool, self.dropout = config.pool, Dropout(config.dropout)
        self.output = linear(width, size)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        return self.output.weight

    @property
    def bias(self) -> Float[Tensor, " V"] | None:
        return self.output.bias

    def gather(self, memory: Memory) -> Output:
        return Output(self.dropout(summary_of(memory, self.pool))[:, None], extras=scores_beside(memory))

    def log_probabilities(self, output: Output) -> Float[Tensor, "N L V"]:
        scores: Tensor = self.output(output.hidden)
        return torch.log_softmax(scores + output.extras[BAG] if BAG in output.extras else scores, -1)


class NumberHead(nn.Module):
    """(ŷ − m) / d = w·z + b of the pooled states z (Devlin et al. 2019, 4.1); beside a linear model, the mean of its
    number and this one."""

    def __init__(self, config: Number, width: int) -> None:
        super().__init__()
        self.pool, self.dropout = config.pool, Dropout(config.dropout)
        self.output = linear(width, 1)

    def gather(self, memory: Memory) -> Output:
        return Output(self.dropout(summary_of(memory, self.pool))[:, None], extras=scores_beside(memory))

    def numbers(self, output: Output) -> Float[Tensor, "N L"]:
        each = self.opinions(output)
        return torch.stack(each).mean(0)

    def opinions(self, output: Output) -> list[Float[Tensor, "N L"]]:
        """The number of each part by itself; each has a loss of its own."""
        found: Tensor = self.output(output.hidden)
        beside = [output.extras[BAG]] if BAG in output.extras else []
        return [each.squeeze(-1) for each in (found, *beside)]


def summary_of(memory: Memory, pool: Pool) -> Float[Tensor, "B D"]:
    """One vector for each text: its pooled states and, beside them, the mean of its n-grams and the overlap of two
    texts, where a model has these."""
    beside = [memory.sequences[name] for name in (WIDE, OVERLAP) if name in memory.sequences]
    return torch.cat([pooled(memory.sequences["source"], pool), *(pooled(one, "mean") for one in beside)], 1)


def scores_beside(memory: Memory) -> dict[str, Float[Tensor, "B 1 V"]]:
    return {BAG: memory.sequences[BAG].states} if BAG in memory.sequences else {}


def pooled(sequence: Remembered, pool: Pool) -> Float[Tensor, "B D"]:
    """One vector for each text; padding has no part in it."""
    states, mask = sequence.states, sequence.mask[:, :, None]
    if pool == "mean":
        return states.masked_fill(~mask, 0.0).sum(1) / mask.sum(1)
    if pool == "max":
        return states.masked_fill(~mask, float("-inf")).amax(1)
    if pool == "first":
        return states[:, 0]
    last = sequence.mask.sum(1) - 1
    return states[torch.arange(len(states), device=states.device), last]
