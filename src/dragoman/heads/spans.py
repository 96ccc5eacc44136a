"""The states of a document → where in it an answer begins and ends."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output
from dragoman.data.tokenizers import END
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear


class Spans(Config):
    """A span of a document that answers a question, or nothing (Devlin et al. 2019, 4.2 and 4.3)."""

    kind: Literal["spans"] = "spans"
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the states' elements that training leaves out"""


class SpansHead(nn.Module):
    """p(start = i) = softmax_i(S·h_i), p(end = j) = softmax_j(E·h_j) of the states h of START and of the document
    (Devlin et al. 2019, 4.2); START stands for no answer."""

    def __init__(self, config: Spans, width: int) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = linear(width, 2, False)  # what is added to all places alike changes no softmax

    def gather(self, memory: Memory) -> Output:
        return Output(self.dropout(memory.sequences["source"].states))

    def scores(self, output: Output) -> Float[Tensor, "N L 2"]:
        """S·h and E·h of every symbol, those that are barred too."""
        found: Tensor = self.output(output.hidden)
        return found


def open_places(batch: Batch) -> Bool[Tensor, "B S"]:
    """Where an answer may begin or end: in the document, or at START; not in the question, at END or in padding."""
    values = batch.sources["source"].values
    places = (batch.sources["segments"].values == 1) & (values != END)
    first = torch.arange(values.shape[1], device=values.device) == 0
    return places | first


def span_log_probabilities(scores: Float[Tensor, "B S 2"], batch: Batch) -> Float[Tensor, "B S 2"]:
    """log p(start = i) and log p(end = j), over the places that are open."""
    barred = ~open_places(batch)[:, :, None]
    return torch.log_softmax(scores.masked_fill(barred, torch.finfo(scores.dtype).min), 1)
