"""The recurrent encoder, one way or both."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Choices, Config
from dragoman.contracts import Final, FinalShape, Memory, Remembered
from dragoman.nn.dropout import Dropout, mask_of
from dragoman.nn.recurrent import CELLS, Cell, build_cell, cells_of, in_order, reversing, unroll


class Rnn(Config):
    """Recurrent layers over the source (Sutskever et al. 2014), in both directions (Bahdanau et al. 2015)."""

    kind: Literal["rnn"] = "rnn"
    cell: Annotated[Cell, Choices(CELLS)] = "gru"
    """of each layer: tanh, sigmoid, gru or lstm"""
    layers: Annotated[int, Field(ge=1, le=1000)] = 1
    """one upon the other; each reads both directions of the one below"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of each direction; the states are twice as wide when there are two"""
    directions: Literal["one", "both"] = "both"
    """one: from first to last (Sutskever et al. 2014); both: also from last to first (Schuster & Paliwal 1997)"""
    reverse: bool = False
    """whether the source is read from its last symbol to its first (Sutskever et al. 2014, 3.3); of two directions this
    makes the other two"""
    residual: bool = False
    """whether each layer above the first adds what it read to what it gives (He et al. 2016; Wu et al. 2016)"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """between the layers; if variational, of the recurrent states as well"""
    variational: bool = False
    """whether dropout leaves out the same elements at every step (Gal and Ghahramani 2016); not of the words"""


class RnnEncoder(nn.Module):
    """h_j = [→f(x_j, →h_{j−1}); ←f(x_j, ←h_{j+1})] (Bahdanau et al. 2015, eq. 7).

    The final state of a layer is →h_S and ←h_1 side by side; padding never changes a state. A source that is read in
    reverse leaves its states in the order of the source, so that whoever looks at them sees the source.
    """

    def __init__(self, config: Rnn, input_width: int) -> None:
        super().__init__()
        directions = 2 if config.directions == "both" else 1
        self.width = config.width * directions
        widths = [input_width] + [self.width] * (config.layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(build_cell(config.cell, width, config.width) for _ in range(directions)) for width in widths
        )
        parts = cells_of(self.layers[0])[0].names
        self.shape = FinalShape(len(parts), config.layers, self.width)
        self.dropout = Dropout(config.dropout)
        self.reverse, self.residual, self.variational = config.reverse, config.residual, config.variational

    @property
    def final(self) -> FinalShape:
        return self.shape

    def forward(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False) -> Memory:
        """There is no attention to tell of."""
        order = reversing(mask) if self.reverse else None
        states = vectors if order is None else in_order(vectors, order)
        recurrent = self.dropout.p if self.training and self.variational else 0.0
        finals: list[tuple[Tensor, ...]] = []
        for number, cells in enumerate(self.layers):
            found, last = unroll(cells_of(cells), states if number == 0 else self.thinned(states), mask, recurrent)
            states = found + states if self.residual and number else found
            finals.append(last)
        if order is not None:
            states = in_order(states, order)
        source = Remembered(states * mask[:, :, None], mask)
        return Memory(
            mask.shape[0], {"source": source}, Final(*(torch.stack(part, 1) for part in zip(*finals, strict=True)))
        )

    def thinned(self, states: Float[Tensor, "B S D"]) -> Float[Tensor, "B S D"]:
        """Dropout between two layers."""
        if self.variational and self.training and self.dropout.p:
            return states * mask_of(states[:, 0], self.dropout.p)[:, None]
        thinned: Tensor = self.dropout(states)
        return thinned
