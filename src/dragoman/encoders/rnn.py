"""The recurrent encoder, one way or both."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Final, Memory, Remembered
from dragoman.nn.recurrent import CELLS, Cell, build_cell, cells_of, unroll


class Rnn(Config):
    """Recurrent layers over the source (Sutskever et al. 2014), in both directions (Bahdanau et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Annotated[Cell, CELLS] = "gru"
    """of each layer: gru or lstm"""
    layers: Annotated[int, Field(ge=1, le=1000)] = 1
    """one upon the other; each reads both directions of the one below"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of each direction; the states are twice as wide when there are two"""
    directions: Literal["one", "both"] = "both"
    """one: from first to last; both: also from last to first"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """between the layers"""


class RnnEncoder(nn.Module):
    """h_j = [→f(x_j, →h_{j−1}); ←f(x_j, ←h_{j+1})] (Bahdanau et al. 2015, eq. 7).

    The final state of a layer is →h_S and ←h_1 side by side; padding never changes a state.
    """

    def __init__(self, config: Rnn, input_width: int) -> None:
        super().__init__()
        directions = 2 if config.directions == "both" else 1
        self.width = config.width * directions
        widths = [input_width] + [self.width] * (config.layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(build_cell(config.cell, width, config.width) for _ in range(directions)) for width in widths
        )
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Memory:
        finals: list[tuple[Tensor, ...]] = []
        states = vectors
        for number, cells in enumerate(self.layers):
            inputs = states if number == 0 else self.dropout(states)
            states, last = unroll(cells_of(cells), inputs, mask)
            finals.append(last)
        source = Remembered(states * mask[:, :, None], mask)
        return Memory(
            mask.shape[0], {"source": source}, Final(*(torch.stack(part, 1) for part in zip(*finals, strict=True)))
        )
