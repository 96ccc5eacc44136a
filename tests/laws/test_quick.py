"""The Transformer's path without modules repeats the one with them, and follows its weights."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from model_parts import TRANSFORMER_DECODERS, TRANSFORMER_ENCODERS, Leaves, close, label

from dragoman.contracts import Memory
from dragoman.decoders import TransformerDecoder, build_decoder
from dragoman.encoders import TransformerEncoder, build_encoder

WORDS = 4
MASK = torch.tensor([[True, True, True], [True, False, False]])


# Norms over four elements make rounding larger; packed weights are of single precision alone.
PRECISIONS = [(torch.float32, 1e-4), (torch.float64, 1e-10)]


def decoder_of(config: object, kind: torch.dtype) -> tuple[TransformerDecoder, Memory]:
    encoder = Leaves(config)
    return build_decoder(config, WORDS, encoder).to(kind).eval(), encoder.memory(dtype=kind)


@pytest.mark.parametrize("config", TRANSFORMER_DECODERS, ids=label)
@pytest.mark.parametrize(("kind", "tolerance"), PRECISIONS, ids=["single", "double"])
@torch.no_grad()
def test_decoders_step_alike_with_and_without_modules(config: object, kind: torch.dtype, tolerance: float) -> None:
    decoder, memory = decoder_of(config, kind)
    quick = slow = decoder.start(memory).select(torch.tensor([0, 0, 0, 1, 1, 1]))
    for rows in ([1, 0, 2, 5, 3, 3], [0, 0, 1, 3, 4, 5], [2, 1, 0, 5, 5, 5]):
        words = torch.randn(6, 2, WORDS, dtype=kind)
        output, quick = decoder.run(words, quick)
        expected, slow = decoder.run(words, slow, attention=True)  # what looks are asked of goes through the modules
        close(output.hidden, expected.hidden, tolerance)
        quick, slow = (state.select(torch.tensor(rows)) for state in (quick, slow))
    assert decoder.quick.layers is not None


@pytest.mark.parametrize("config", TRANSFORMER_ENCODERS, ids=label)
@torch.no_grad()
def test_encoders_read_alike_with_and_without_modules(config: object) -> None:
    encoder, vectors = build_encoder(config, WORDS).eval(), torch.randn(2, 3, WORDS)
    one, other = encoder(vectors, MASK), encoder(vectors, MASK, attention=True)
    close(one.sequences["source"].states, other.sequences["source"].states, 1e-5)
    assert encoder.quick.layers is not None


@torch.no_grad()
def double(encoder: TransformerEncoder) -> None:
    for weight in encoder.parameters():
        weight.mul_(2)


def step(encoder: TransformerEncoder) -> None:
    """A fused optimiser raises no version of the weights that it moves."""
    encoder.train()
    optimiser = torch.optim.Adam(encoder.parameters(), 0.1, fused=True)
    with torch.enable_grad():
        encoder(torch.randn(2, 3, WORDS), MASK).sequences["source"].states.square().sum().backward()
    optimiser.step()
    encoder.eval()


def load(encoder: TransformerEncoder) -> None:
    other = build_encoder(TRANSFORMER_ENCODERS[1], WORDS)
    encoder.load_state_dict(other.state_dict(), assign=True)


@pytest.mark.parametrize("change", [double, step, load])
@torch.no_grad()
def test_changed_weights_are_noticed(change: Callable[[TransformerEncoder], None]) -> None:
    encoder, vectors = build_encoder(TRANSFORMER_ENCODERS[1], WORDS).eval(), torch.randn(2, 3, WORDS)
    before = encoder(vectors, MASK).sequences["source"].states
    change(encoder)
    after = encoder(vectors, MASK).sequences["source"].states
    expected = encoder(vectors, MASK, attention=True).sequences["source"].states
    assert not torch.allclose(before, after)
    close(after, expected, 1e-5)


@torch.no_grad()
def test_a_copy_has_its_own() -> None:
    encoder, vectors = build_encoder(TRANSFORMER_ENCODERS[1], WORDS).eval(), torch.randn(2, 3, WORDS)
    before = encoder(vectors, MASK).sequences["source"].states
    other = deepcopy(encoder)
    double(other)
    close(encoder(vectors, MASK).sequences["source"].states, before, 0)
    assert not torch.allclose(other(vectors, MASK).sequences["source"].states, before)


def test_gradients_go_through_the_modules() -> None:
    encoder, vectors = build_encoder(TRANSFORMER_ENCODERS[1], WORDS).eval(), torch.randn(2, 3, WORDS)
    with torch.no_grad():
        encoder(vectors, MASK)
    encoder(vectors, MASK).sequences["source"].states.sum().backward()
    assert all(weight.grad is not None for weight in encoder.parameters())
