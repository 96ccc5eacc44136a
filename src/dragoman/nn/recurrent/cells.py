"""Recurrent cells: what one step does with an input, and with the state of the step before.

Equations and layout of the parameters are those of torch.nn.RNNCell, GRUCell and LSTMCell. Plain autograd: with two
cores and 64 to 300 rows, seven tenths of the time are matrix products. Hand-written backward passes were measured: of
each step, at most 7 % faster; with the weight gradients of all steps in one product, a fifth slower or worse.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.linear import Prepared, linear

Cell = Literal["tanh", "sigmoid", "gru", "lstm"]
Rows = tuple[Tensor, ...]  # a cell's state: (hidden,) or (hidden, cell), each (N, D)
Kept = Tensor | None  # (N, D): what variational dropout leaves of the hidden state on its way into the next step

# Input part, further inputs, state, what is kept of the state → the next state.
Joined = Callable[[Tensor, Sequence[Tensor], Rows, Kept], Rows]

OVERWHELMING = 10_000.0  # closes or opens a gate entirely, whatever else it hears; half precision can hold it


def start_recurrent(layer: nn.Linear) -> None:
    """Orthogonal weights, gate by gate (Saxe et al. 2014), as Bahdanau et al. 2015 (B.1) start theirs."""
    for gate in layer.weight.detach().view(-1, layer.in_features, layer.in_features):
        nn.init.orthogonal_(gate)


class Recurrent(nn.Module):
    """A cell: gates of the input W x + b and of the hidden state U h + d, which the kinds combine."""

    names: ClassVar[tuple[str, ...]] = ("hidden",)  # of the tensors that make its state
    per_unit: ClassVar[int] = 1  # gates, the candidate counted
    pause: ClassVar[tuple[float, ...] | None] = None  # added to the gates, it leaves a state as it was

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__()
        self.width, self.gates = width, self.per_unit * width
        self.of_input = linear(input_width, self.gates)
        self.of_hidden = linear(width, self.gates)
        start_recurrent(self.of_hidden)
        self.prepared = Prepared()

    def constant(self) -> Float[Tensor, " gates"]:
        """What `joined` expects in the input part beside the products: the biases."""
        return self.of_input.bias + self.of_hidden.bias

    def of_words(self, words: Float[Tensor, "N L E"]) -> Float[Tensor, "N L gates"]:
        """The input part of `joined` for all steps at once."""
        return F.linear(words, self.of_input.weight, self.constant())

    def joined(self, weights: Sequence[Float[Tensor, "gates _"]]) -> Joined:
        """Steps with further inputs through these weights, in one product with the hidden state where that can be:
        3 to 7 % faster, with noise of that size."""
        product = self.prepared.of([*weights, self.of_hidden.weight])

        def step(base: Tensor, vectors: Sequence[Tensor], state: Rows, kept: Kept = None) -> Rows:
            hidden = state[0] if kept is None else state[0] * kept
            inputs = torch.cat([*vectors, hidden], 1) if vectors else hidden
            return self.opened(product(inputs, base), state)

        return step

    def rounds(self, weights: Sequence[Float[Tensor, "gates _"]]) -> bool:
        """Whether steps with these further weights are int8."""
        return self.prepared.rounds([*weights, self.of_hidden.weight])

    def opened(self, gates: Float[Tensor, "N gates"], state: Rows) -> Rows:
        """The next state from all that the gates hear."""
        raise NotImplementedError


class VanillaCell(Recurrent):
    """h′ = tanh(Wx + Uh + b) (Elman 1990)."""

    squash = staticmethod(torch.tanh)

    def opened(self, gates: Float[Tensor, "N gates"], state: Rows) -> Rows:
        return (self.squash(gates),)


class SigmoidCell(VanillaCell):
    """h′ = σ(Wx + Uh + b) (Elman 1990)."""

    squash = staticmethod(torch.sigmoid)


class GruCell(Recurrent):
    """r = σ(Wᵣx + Uᵣh); z = σ(W_z x + U_z h); n = tanh(Wₙx + r∘Uₙh); h′ = (1−z)∘n + z∘h (Cho et al. 2014).

    The paper's encoder resets the state before the product: Uₙ(r∘h); after it, as here and in cuDNN, all gates are one
    product. In the paper's decoder the reset gate holds the context back as well as the state; here the state alone.
    """

    per_unit = 3
    pause = (0.0, OVERWHELMING, 0.0)  # update gates open

    def constant(self) -> Float[Tensor, " gates"]:
        return self.of_input.bias

    def joined(self, weights: Sequence[Float[Tensor, "gates _"]]) -> Joined:
        """The reset gate keeps the part of the hidden state apart: two products."""
        product = self.prepared.of(weights) if weights else None

        def step(base: Tensor, vectors: Sequence[Tensor], state: Rows, kept: Kept = None) -> Rows:
            of_input = base if product is None else product(torch.cat(list(vectors), 1), base)
            return self.mixed(of_input, self.of_hidden(state[0] if kept is None else state[0] * kept), state[0])

        return step

    def rounds(self, weights: Sequence[Float[Tensor, "gates _"]]) -> bool:
        return self.prepared.rounds(weights) or self.prepared.rounds([self.of_hidden.weight])

    def mixed(self, of_input: Tensor, of_hidden: Tensor, hidden: Tensor) -> Rows:
        switches = 2 * self.width
        reset, update = torch.sigmoid(of_input[..., :switches] + of_hidden[:, :switches]).chunk(2, 1)
        new = torch.tanh(of_input[..., switches:] + reset * of_hidden[:, switches:])
        return (new + update * (hidden - new),)


class LstmCell(Recurrent):
    """i, f, o = σ(Wx + Uh); g = tanh(W_g x + U_g h); c′ = f∘c + i∘g; h′ = o∘tanh(c′) (Gers et al. 2000)."""

    names = ("hidden", "cell")
    per_unit = 4
    pause = (-OVERWHELMING, OVERWHELMING, 0.0, 0.0)  # nothing enters, nothing is forgotten

    def __init__(self, input_width: int, width: int) -> None:
        super().__init__(input_width, width)
        nn.init.ones_(self.of_input.bias.detach()[width : 2 * width])  # forget gates open (Jozefowicz et al. 2015)

    def opened(self, gates: Float[Tensor, "N gates"], state: Rows) -> Rows:
        enter, forget, candidate, leave = gates.chunk(4, 1)
        if not torch.is_grad_enabled():  # six operations in place of ten
            new = candidate.tanh()
            gates.sigmoid_()
            cell = (forget * state[1]).addcmul_(enter, new)
            return leave * cell.tanh(), cell
        cell = torch.sigmoid(forget) * state[1] + torch.sigmoid(enter) * torch.tanh(candidate)
        return torch.sigmoid(leave) * torch.tanh(cell), cell


CELLS: dict[Cell, type[Recurrent]] = {"tanh": VanillaCell, "sigmoid": SigmoidCell, "gru": GruCell, "lstm": LstmCell}


def build_cell(kind: Cell, input_width: int, width: int) -> Recurrent:
    return CELLS[kind](input_width, width)


def cells_of(modules: nn.Module) -> list[Recurrent]:
    """The members of a ModuleList of cells, by their type."""
    return cast(list[Recurrent], list(modules.children()))
