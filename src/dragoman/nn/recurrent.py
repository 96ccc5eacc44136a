"""Recurrent cells whose input part runs for all steps at once; a step only adds what depends on the step before.

Equations and layout of the parameters are those of torch.nn.GRUCell and torch.nn.LSTMCell. Plain autograd: with two
cores and 64 to 300 rows, nine tenths of the time are matrix products, and hand-written backward passes (one step at a
time, or weight gradients of all steps in one product) were measured between 3 % faster and 40 % slower.
"""

from typing import Literal, cast

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.linear import linear

Cell = Literal["gru", "lstm"]
Rows = tuple[Tensor, ...]  # a cell's state: (hidden,) or (hidden, cell), each (N, D)


def start_recurrent(layer: nn.Linear) -> None:
    """Orthogonal weights, gate by gate (Saxe et al. 2014), as Bahdanau et al. 2015 (B.1) start theirs."""
    for gate in layer.weight.detach().view(-1, layer.in_features, layer.in_features):
        nn.init.orthogonal_(gate)


class GruCell(nn.Module):
    """r = σ(Wᵣx + Uᵣh); z = σ(W_z x + U_z h); n = tanh(Wₙx + r∘Uₙh); h′ = (1−z)∘n + z∘h (Cho et al. 2014)."""

    names = ("hidden",)

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.gates = 3 * width
        self.of_input = linear(input_width, self.gates)
        self.of_hidden = linear(width, self.gates)
        start_recurrent(self.of_hidden)

    def step(self, of_input: Float[Tensor, "N gates"], state: Rows) -> Rows:
        hidden = state[0]
        of_hidden = self.of_hidden(hidden)
        switches = 2 * self.width
        reset, update = torch.sigmoid(of_input[:, :switches] + of_hidden[:, :switches]).chunk(2, 1)
        new = torch.tanh(of_input[:, switches:] + reset * of_hidden[:, switches:])
        return (new + update * (hidden - new),)


class LstmCell(nn.Module):
    """i, f, o = σ(Wx + Uh); g = tanh(W_g x + U_g h); c′ = f∘c + i∘g; h′ = o∘tanh(c′) (Gers et al. 2000)."""

    names = ("hidden", "cell")

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.gates = 4 * width
        self.of_input = linear(input_width, self.gates)
        self.of_hidden = linear(width, self.gates)
        start_recurrent(self.of_hidden)
        nn.init.ones_(self.of_input.bias.detach()[width : 2 * width])  # forget gates open (Jozefowicz et al. 2015)

    def step(self, of_input: Float[Tensor, "N gates"], state: Rows) -> Rows:
        hidden, cell = state
        enter, forget, candidate, leave = (of_input + self.of_hidden(hidden)).chunk(4, 1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(cell), cell


Recurrent = GruCell | LstmCell


def build_cell(kind: Cell, input_width: int, width: int) -> Recurrent:
    return GruCell(input_width, width) if kind == "gru" else LstmCell(input_width, width)


def cells_of(modules: nn.Module) -> list[Recurrent]:
    """The members of a ModuleList of cells, by their type."""
    return cast(list[Recurrent], list(modules.children()))


def unroll(cell: Recurrent, inputs: Float[Tensor, "B S E"]) -> tuple[Float[Tensor, "B S D"], ...]:
    """The states after every step from a start of zeros: (hidden,) or (hidden, cell)."""
    state: Rows = (inputs.new_zeros(inputs.shape[0], cell.width),) * len(cell.names)
    steps: list[Rows] = []
    for of_input in cell.of_input(inputs).unbind(1):
        state = cell.step(of_input, state)
        steps.append(state)
    return tuple(torch.stack(part, 1) for part in zip(*steps, strict=True))
