"""The path without modules repeats the one with them, and follows its weights."""

from collections.abc import Callable
from copy import deepcopy

import pytest
import torch
from model_parts import EVERY_DECODER, TRANSFORMER_DECODERS, TRANSFORMER_ENCODERS, Leaves, close, label
from torch import Tensor, nn

from dragoman.contracts import Memory
from dragoman.decoders import DecoderConfig, TransformerDecoder, build_decoder
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


@pytest.mark.parametrize("config", EVERY_DECODER, ids=label)
@pytest.mark.parametrize("lengths", [(3, 2), (3, 3), (3,)], ids=["padded", "full", "alone"])
@torch.no_grad()
def test_steps_of_a_search_are_those_of_the_modules(config: DecoderConfig, lengths: tuple[int, ...]) -> None:
    encoder = Leaves(config)
    decoder, memory = build_decoder(config, WORDS, encoder).double().eval(), encoder.memory(lengths, torch.float64)
    each = torch.arange(len(lengths)).repeat_interleave(3)
    quick = slow = decoder.start(memory).select(each)
    for rows in ([1, 0, 2, 5, 3, 3], [0, 0, 1, 3, 4, 5], [2, 1, 0, 5, 5, 5]):
        word, chosen = torch.randn(len(each), 1, WORDS, dtype=torch.float64), torch.tensor(rows[: len(each)])
        output, quick = decoder.run(word, quick)
        expected, slow = decoder.run(word, slow, attention=True)
        close(output.hidden, expected.hidden, 1e-10)
        quick, slow = quick.select(chosen), slow.select(chosen)


@pytest.mark.parametrize("config", TRANSFORMER_DECODERS, ids=label)
@pytest.mark.parametrize(("kind", "tolerance"), PRECISIONS, ids=["single", "double"])
@pytest.mark.parametrize("words", [1, 2, 9])
@torch.no_grad()
def test_a_source_alone_is_brought_near(config: object, kind: torch.dtype, tolerance: float, words: int) -> None:
    """Where it is short: with two heads of a width of four, up to three words."""
    encoder = Leaves(config)
    decoder, memory = build_decoder(config, WORDS, encoder).to(kind).eval(), encoder.memory((words,), kind)
    for bias in (layer.cross.of_query.bias for layer in decoder.layers):
        bias.normal_()
    quick = slow = decoder.start(memory).select(torch.tensor([0, 0, 0]))
    assert ("near.0.0" in quick.fixed) == (words * (config.heads - 1) < WORDS)
    for rows in ([1, 0, 2], [0, 0, 1]):
        fed = torch.randn(3, 2, WORDS, dtype=kind)
        output, quick = decoder.run(fed, quick)
        expected, slow = decoder.run(fed, slow, attention=True)
        close(output.hidden, expected.hidden, tolerance)
        quick, slow = (state.select(torch.tensor(rows)) for state in (quick, slow))


@pytest.mark.parametrize("config", EVERY_DECODER, ids=label)
@torch.no_grad()
def test_a_decoder_follows_its_weights_and_a_copy_has_its_own(config: DecoderConfig) -> None:
    encoder = Leaves(config)
    decoder, memory, fed = build_decoder(config, WORDS, encoder).eval(), encoder.memory(), torch.randn(2, 1, WORDS)

    def answer(one: nn.Module) -> Tensor:
        hidden: Tensor = one.run(fed, one.start(memory))[0].hidden
        return hidden

    before = answer(decoder)
    other = deepcopy(decoder)
    for weight in other.parameters():
        weight.mul_(1.5)
    fresh = build_decoder(config, WORDS, encoder).eval()
    fresh.load_state_dict(other.state_dict())
    close(answer(other), answer(fresh), 0)
    assert not torch.allclose(answer(other), before)
    close(answer(decoder), before, 0)


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
