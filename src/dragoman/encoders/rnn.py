"""The recurrent encoder, one way or both."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import Final, Memory, Remembered
from dragoman.nn.masks import last_real, reorder, reversed_positions
from dragoman.nn.recurrent import Cell, Recurrent, build_cell, cells_of, unroll


class Rnn(Config):
    """Recurrent layers over the source (Sutskever et al. 2014), in both directions (Bahdanau et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Cell = "gru"
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

    Padding stands on the right, so the forward direction never meets it before the last real step; the backward
    direction runs over the row reversed. The final state of a layer is →h_S and ←h_1 side by side.
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
        turned = reversed_positions(mask)
        finals: list[tuple[Tensor, ...]] = []
        states = vectors
        for number, cells in enumerate(self.layers):
            inputs = states if number == 0 else self.dropout(states)
            states, final = both_ways(cells_of(cells), inputs, mask, turned)
            finals.append(final)
        source = Remembered(states * mask[:, :, None], mask)
        return Memory({"source": source}, Final(*(torch.stack(part, 1) for part in zip(*finals, strict=True))))


def both_ways(
    cells: list[Recurrent],
    inputs: Float[Tensor, "B S E"],
    mask: Bool[Tensor, "B S"],
    turned: Tensor,
) -> tuple[Float[Tensor, "B S D"], tuple[Float[Tensor, "B D"], ...]]:
    """One layer: the states of its directions side by side, and its final states (hidden, or hidden and cell)."""
    runs = [unroll(cells[0], inputs)]
    if len(cells) == 2:
        runs.append(unroll(cells[1], reorder(inputs, turned)))
    final = tuple(torch.cat([last_real(part, mask) for part in parts], 1) for parts in zip(*runs, strict=True))
    states = [runs[0][0], *(reorder(run[0], turned) for run in runs[1:])]
    return torch.cat(states, 2), final
