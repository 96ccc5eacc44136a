"""What the settings of the recurrent encoder mean, beside torch and by their patterns."""

import pytest
import torch

from dragoman.encoders import Rnn, RnnEncoder, build_encoder
from dragoman.nn.recurrent import CELLS, build_cell

VECTORS, MASK = torch.randn(2, 4, 3), torch.tensor([[True] * 4, [True, True, False, False]])


def encoder_of(**options: object) -> RnnEncoder:
    return build_encoder(Rnn(width=5, **options), 3)


@pytest.mark.parametrize("cell", CELLS)
def test_reversed_is_the_turned_round_source_turned_back(cell: str) -> None:
    backward = encoder_of(cell=cell, directions="one", reverse=True).eval()
    forward = encoder_of(cell=cell, directions="one").eval()
    forward.load_state_dict(backward.state_dict())
    found = backward(VECTORS, MASK)
    for row, length in enumerate((4, 2)):
        turned = forward(VECTORS[row : row + 1, :length].flip(1), MASK[row : row + 1, :length])
        expected = turned.sequences["source"].states.flip(1)
        torch.testing.assert_close(found.sequences["source"].states[row : row + 1, :length], expected)
        torch.testing.assert_close(found.final.hidden[row], turned.final.hidden[0])


@pytest.mark.parametrize("directions", ["one", "both"])
def test_residual_layers_add_what_they_read(directions: str) -> None:
    stack = encoder_of(layers=3, directions=directions, residual=True).eval()
    states = VECTORS
    for number, layer in enumerate(stack.layers):
        alone = build_encoder(Rnn(width=5, directions=directions), states.shape[2]).eval()
        alone.layers[0].load_state_dict(layer.state_dict())
        found = alone(states, MASK).sequences["source"].states
        states = found + states if number else found
    expected = states * MASK[:, :, None]
    torch.testing.assert_close(stack(VECTORS, MASK).sequences["source"].states, expected)


def zeros_between(encoder: RnnEncoder) -> torch.Tensor:
    """Which elements the second layer does not get to read."""
    read: list[torch.Tensor] = []
    thinned = encoder.thinned
    encoder.thinned = lambda states: read.append(thinned(states)) or read[-1]  # type: ignore[method-assign]
    encoder(VECTORS, torch.ones(2, 4, dtype=torch.bool))
    return read[0] == 0


def test_plain_dropout_differs_from_step_to_step() -> None:
    torch.manual_seed(4)
    zero = zeros_between(encoder_of(layers=2, dropout=0.5).train())
    assert zero.any()
    assert not (zero[:, :1] == zero).all()
    assert not zeros_between(encoder_of(layers=2, dropout=0.5).eval()).any()


def test_variational_dropout_leaves_out_the_same_at_every_step_and_differs_by_row() -> None:
    torch.manual_seed(4)
    zero = zeros_between(encoder_of(layers=2, dropout=0.5, variational=True).train())
    assert zero.any()
    assert (zero[:, :1] == zero).all()
    assert not torch.equal(zero[0], zero[1])


@pytest.mark.parametrize("cell", CELLS)
def test_variational_dropout_reaches_the_recurrent_state(cell: str) -> None:
    """One layer has nothing between layers: only what goes from step to step is thinned, and not the first step."""
    torch.manual_seed(4)
    encoder = encoder_of(cell=cell, directions="one", dropout=0.5, variational=True)
    plain = encoder.eval()(VECTORS, MASK).sequences["source"].states
    thinned = encoder.train()(VECTORS, MASK).sequences["source"].states
    torch.testing.assert_close(thinned[:, 0], plain[:, 0])
    assert not torch.allclose(thinned[:, 1], plain[:, 1])


@pytest.mark.parametrize("cell", CELLS)
def test_recurrent_weights_start_orthogonal_gate_by_gate(cell: str) -> None:
    for gate in build_cell(cell, 3, 5).of_hidden.weight.detach().split(5):
        torch.testing.assert_close(gate @ gate.t(), torch.eye(5), rtol=0, atol=1e-5)


def test_forget_gates_start_open() -> None:
    enter, forget, candidate, leave = build_cell("lstm", 3, 5).of_input.bias.detach().chunk(4)
    assert forget.tolist() == [1.0] * 5
    assert not torch.cat([enter, candidate, leave]).any()
