"""Our layers against torch's own."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dragoman.encoders import Rnn, build_encoder
from dragoman.nn import softmax
from dragoman.nn.recurrent import CELLS, Recurrent, build_cell, run_layer
from dragoman.nn.softmax import linear_cross_entropy, masked_softmax

LENGTHS = torch.tensor([4, 1, 3])


def copy_cell(ours: Recurrent, theirs: nn.Module, suffix: str = "") -> None:
    """Give torch's layer our parameters."""
    pairs = {"ih": ours.of_input, "hh": ours.of_hidden}
    for name, layer in pairs.items():
        getattr(theirs, f"weight_{name}{suffix}").data.copy_(layer.weight)
        getattr(theirs, f"bias_{name}{suffix}").data.copy_(layer.bias)


def one_step(cell: Recurrent, inputs: torch.Tensor, state: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return cell.joined([])(cell.of_words(inputs[:, None])[:, 0], [], state, None)


THEIR_CELLS = {"tanh": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}
THEIR_LAYERS = {"tanh": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


@pytest.mark.parametrize("kind", THEIR_CELLS)
def test_a_cell_is_that_of_torch(kind: str) -> None:
    ours = build_cell(kind, 3, 5)
    for value in ours.parameters():
        nn.init.normal_(value)
    theirs = THEIR_CELLS[kind](3, 5)
    copy_cell(ours, theirs)
    inputs, state = torch.randn(2, 3), tuple(torch.randn(2, 5) for _ in ours.names)
    after = one_step(ours, inputs, state)
    expected = theirs(inputs, state if kind == "lstm" else state[0])
    torch.testing.assert_close(after, expected if kind == "lstm" else (expected,))


@pytest.mark.parametrize("kind", CELLS)
def test_all_ways_through_a_cell_agree(kind: str) -> None:
    """Step by step, with a further input joined to it, and all steps in one call of torch."""
    cell, further = build_cell(kind, 3, 5), torch.randn(5 * CELLS[kind].per_unit, 2)
    for value in cell.parameters():
        nn.init.normal_(value)
    words, others = torch.randn(2, 4, 3), torch.randn(2, 4, 2)
    state = plain = first = tuple(torch.randn(2, 5) for _ in cell.names)
    step, alone, hidden = cell.joined([further]), cell.joined([]), []
    for of_word, other in zip(cell.of_words(words).unbind(1), others.unbind(1), strict=True):
        state = step(of_word, [other], state, None)
        plain = alone(of_word + other @ further.t(), [], plain, None)
        hidden.append(state[0])
        torch.testing.assert_close(state, plain)
    states, last = run_layer(cell, [words, others], [cell.of_input.weight, further], first)
    torch.testing.assert_close(states, torch.stack(hidden, 1))
    torch.testing.assert_close(last, state)


def test_a_sigmoid_cell_by_hand() -> None:
    cell = build_cell("sigmoid", 1, 1)
    for layer, weight, bias in ((cell.of_input, 2.0, 0.5), (cell.of_hidden, -1.0, 0.25)):
        layer.weight.data.fill_(weight)
        layer.bias.data.fill_(bias)
    one = 1 / (1 + math.exp(-(2 * 0.3 + 0.75 - 0.1)))
    two = 1 / (1 + math.exp(-(2 * -0.7 + 0.75 - one)))
    states, _ = run_layer(cell, [torch.tensor([[[0.3], [-0.7]]])], [cell.of_input.weight], (torch.tensor([[0.1]]),))
    torch.testing.assert_close(states, torch.tensor([[[one], [two]]]))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("directions", ["one", "both"])
@pytest.mark.parametrize("kind", THEIR_LAYERS)
def test_an_encoder_is_torchs_packed_layer(kind: str, directions: str, layers: int) -> None:
    ours = build_encoder(Rnn(cell=kind, layers=layers, width=5, directions=directions), 3).eval()
    for value in ours.parameters():
        nn.init.normal_(value)
    both = directions == "both"
    theirs = THEIR_LAYERS[kind](3, 5, layers, batch_first=True, bidirectional=both)
    for number, cells in enumerate(ours.layers):
        for cell, turn in zip(cells, ["", "_reverse"], strict=False):
            copy_cell(cell, theirs, f"_l{number}{turn}")
    vectors, mask = torch.randn(3, 4, 3), torch.arange(4) < LENGTHS[:, None]
    packed = nn.utils.rnn.pack_padded_sequence(vectors, LENGTHS, batch_first=True, enforce_sorted=False)
    states, finals = theirs(packed)
    expected = nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0]
    memory = ours(vectors, mask)
    torch.testing.assert_close(memory.sequences["source"].states, expected)
    found = (memory.final.hidden, memory.final.cell) if kind == "lstm" else (memory.final.hidden,)
    for part, final in zip(found, finals if kind == "lstm" else (finals,), strict=True):
        torch.testing.assert_close(part, final.transpose(0, 1).reshape(3, layers, -1))


@pytest.mark.parametrize("kind", CELLS)
def test_cell_gradients_are_those_of_differences(kind: str) -> None:
    cell = build_cell(kind, 2, 3).double()
    inputs, *state = (
        torch.randn(2, width, dtype=torch.float64, requires_grad=True) for width in (2, *(3 for _ in cell.names))
    )

    def after(some: torch.Tensor, *before: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return one_step(cell, some, before[: len(cell.names)])

    assert torch.autograd.gradcheck(after, (inputs, *state, *cell.parameters()), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("largest", [2**23, 14], ids=["whole", "chunks of two rows"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
@pytest.mark.parametrize("biased", [True, False])
def test_cross_entropy_is_torchs(monkeypatch: pytest.MonkeyPatch, largest: int, smoothing: float, biased: bool) -> None:
    monkeypatch.setattr(softmax, "LARGEST_CHUNK", largest)
    hidden, weight = torch.randn(5, 3, requires_grad=True), torch.randn(7, 3, requires_grad=True)
    bias = torch.randn(7, requires_grad=True) if biased else None
    targets = torch.tensor([0, 6, 2, 2, 5])
    inputs = [value for value in (hidden, weight, bias) if value is not None]
    ours = linear_cross_entropy(hidden, weight, bias, targets, smoothing)
    logits = F.linear(hidden, weight, bias)
    theirs = F.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.autograd.grad(ours / 3, inputs), torch.autograd.grad(theirs / 3, inputs))
    with torch.no_grad():
        torch.testing.assert_close(linear_cross_entropy(hidden, weight, bias, targets, smoothing), theirs)


@pytest.mark.parametrize("largest", [2**23, 14], ids=["whole", "chunks of two rows"])
def test_cross_entropy_gradients_are_those_of_differences(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    monkeypatch.setattr(softmax, "LARGEST_CHUNK", largest)
    hidden, weight, bias = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((5, 3), (7, 3), (7,))
    )
    targets = torch.tensor([0, 6, 2, 2, 5])
    values = (hidden, weight, bias, targets, 0.1)
    assert torch.autograd.gradcheck(linear_cross_entropy, values, rtol=1e-6, atol=1e-8)


def test_a_loss_without_rows_is_zero() -> None:
    weight = torch.randn(7, 3, requires_grad=True)
    total = linear_cross_entropy(torch.zeros(0, 3), weight, None, torch.zeros(0, dtype=torch.int64), 0.1)
    total.backward()
    assert total == 0
    assert not weight.grad.any()


def test_masked_softmax_is_softmax_over_what_is_real() -> None:
    scores = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True, True, False, False], [False] * 4])
    weights = masked_softmax(scores, mask)
    torch.testing.assert_close(weights[0, :, :2], scores[0, :, :2].softmax(-1))
    assert not weights[0, :, 2:].any()
    assert not weights[1].any()
    assert torch.autograd.gradcheck(lambda some: masked_softmax(some, mask), (scores,), rtol=1e-6, atol=1e-8)
