"""In int8, too, any cut of the inputs gives the same result, and no row depends on its neighbours."""

import pytest
import torch
from model_parts import EVERY_DECODER, TRANSFORMER_ENCODERS, Leaves, close, label

from dragoman.contracts import Memory
from dragoman.decoders import DecoderConfig, RnnDecoder, TransformerDecoder, build_decoder
from dragoman.encoders import build_encoder
from dragoman.nn import int8
from dragoman.nn.attention import Softmax
from dragoman.nn.quantized import quantize, quantized

pytestmark = pytest.mark.skipif(not int8.int8_works(), reason="FBGEMM is for Intel's and AMD's processors")
WORDS = 4
every_decoder = pytest.mark.parametrize("config", EVERY_DECODER, ids=label)


@pytest.fixture(autouse=True)
def everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of any size are int8."""
    monkeypatch.setattr(int8, "WORTH_ROUNDING", 1)


def decoder_of(config: DecoderConfig) -> tuple[RnnDecoder | TransformerDecoder, Memory]:
    encoder = Leaves(config)
    decoder = build_decoder(config, WORDS, encoder).eval()
    quantize(decoder)
    return decoder, encoder.memory()


@every_decoder
@pytest.mark.parametrize("attention", [True, False], ids=["looks", "answers alone"])
@torch.no_grad()
def test_any_cut_gives_the_same_result(config: DecoderConfig, attention: bool) -> None:
    decoder, memory = decoder_of(config)
    inputs = torch.randn(2, 4, WORDS)
    state = first = decoder.start(memory)
    whole, _ = decoder.run(inputs, first, attention=True)
    hidden = []
    for piece in inputs.split([1, 2, 1], 1):
        output, state = decoder.run(piece, state, attention=attention)
        hidden.append(output.hidden)
    close(torch.cat(hidden, 1), whole.hidden, 1e-4)


@every_decoder
@torch.no_grad()
def test_a_decoder_in_int8_is_another_one_and_hardly_differs(config: DecoderConfig) -> None:
    encoder = Leaves(config)
    decoder, inputs = build_decoder(config, WORDS, encoder).eval(), torch.randn(2, 3, WORDS)
    other, memory = quantized(decoder), encoder.memory()
    exact, _ = decoder.run(inputs, decoder.start(memory))
    found, _ = other.run(inputs, other.start(memory))
    assert not torch.equal(found.hidden, exact.hidden)
    if getattr(getattr(config, "attention", None), "weights", Softmax()).kind == "softmax":  # others look elsewhere
        assert (found.hidden - exact.hidden).square().mean() <= 0.05**2 * exact.hidden.square().mean()
    again, _ = decoder.run(inputs, decoder.start(memory))
    assert torch.equal(again.hidden, exact.hidden), "the original goes on as before"


@pytest.mark.parametrize("config", TRANSFORMER_ENCODERS, ids=label)
@torch.no_grad()
def test_encoders_read_alike_with_and_without_modules(config: object) -> None:
    encoder, vectors = build_encoder(config, WORDS).eval(), torch.randn(2, 3, WORDS)
    quantize(encoder)
    mask = torch.tensor([[True, True, True], [True, False, False]])
    one, other = encoder(vectors, mask), encoder(vectors, mask, attention=True)
    alone = encoder(vectors[:1], mask[:1])
    close(one.sequences["source"].states, other.sequences["source"].states, 1e-4)
    close(one.sequences["source"].states[:1], alone.sequences["source"].states, 1e-4)
