"""What holds for every decoder."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from model_parts import EVERY_DECODER, MEMORY_WIDTH, Leaves, close, label, tolerance_of, without_gradient

from dragoman.contracts import Memory
from dragoman.decoders import DecoderConfig, Rnn, RnnDecoder, Transformer, TransformerDecoder, build_decoder
from dragoman.errors import ConfigError

WORDS = 4  # width of what decoders are fed
every_decoder = pytest.mark.parametrize("config", EVERY_DECODER, ids=label)


def decoder_of(config: DecoderConfig) -> RnnDecoder | TransformerDecoder:
    return build_decoder(config, WORDS, Leaves(config)).eval()


def memory_for(config: DecoderConfig, **options: Any) -> Memory:
    return Leaves(config).memory(**options)


def looks(config: DecoderConfig) -> set[str]:
    """What a decoder looks at, by name."""
    if isinstance(config, Transformer):
        layers = range(1, config.layers + 1)
        return {"source"} | {f"{side}.{layer}" for side in ("source", "target") for layer in layers}
    return set() if config.attention.kind in ("none", "fixed") else {"source"}


def chooses(config: DecoderConfig) -> bool:
    """Whether a change of a query may change nothing, and then everything."""
    return isinstance(config, Rnn) and bool(looks(config)) and config.attention.weights.kind != "softmax"


@every_decoder
@pytest.mark.parametrize("cut", [[1, 1, 1, 1], [1, 3]], ids=str)
def test_any_cut_gives_the_same_result(config: DecoderConfig, cut: list[int]) -> None:
    decoder, inputs = decoder_of(config), torch.randn(2, 4, WORDS)
    state = first = decoder.start(memory_for(config))
    whole, end = decoder.run(inputs, first, attention=True)
    hidden, weights = [], []
    for piece in inputs.split(cut, 1):
        output, state = decoder.run(piece, state, attention=True)
        hidden.append(output.hidden)
        weights.append(output.attention.get("source", output.hidden[:, None]))
    close(torch.cat(hidden, 1), whole.hidden, tolerance_of(config))
    close(torch.cat(weights, 2), whole.attention.get("source", whole.hidden[:, None]), tolerance_of(config))
    assert set(state.moving) == set(end.moving)
    for name, value in end.moving.items():
        close(state.moving[name], value, tolerance_of(config))


@every_decoder
def test_shapes_are_those_of_the_contract(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    state = decoder.start(memory_for(config))
    output, state = decoder.run(torch.randn(2, 4, WORDS), state, attention=True)
    assert output.hidden.shape == (2, 4, decoder.width)
    assert {len(value) for value in state.moving.values()} == {2}
    if isinstance(config, Rnn):
        assert state.moving["hidden"].shape == (2, config.layers, config.width)
    assert set(output.attention) == looks(config)
    for name, weights in output.attention.items():
        heads = config.heads if "." in name else 1
        assert weights.shape == (2, heads, 4, 4 if "target" in name else 3)
        assert (weights.sum(-1) < 1 + 1e-6).all()
        if not chooses(config):
            close(weights.sum(-1), torch.ones(2, heads, 4), tolerance_of(config))
    assert decoder.run(torch.randn(2, 1, WORDS), state)[0].attention == {}


@every_decoder
def test_several_rows_a_sentence_are_separate_runs(config: DecoderConfig) -> None:
    decoder, inputs = decoder_of(config), torch.randn(6, 2, WORDS)
    state = decoder.start(memory_for(config))
    beams = state.select(torch.tensor([0, 0, 0, 1, 1, 1]))
    together = decoder.run(inputs, beams, attention=True)[0]
    for beam in range(3):
        alone = decoder.run(inputs[beam::3], state, attention=True)[0]
        close(together.hidden[beam::3], alone.hidden, tolerance_of(config))
        for name, weights in alone.attention.items():
            close(together.attention[name][beam::3], weights, tolerance_of(config))


@every_decoder
def test_kept_sentences_go_on_as_before(config: DecoderConfig) -> None:
    decoder, first, second = decoder_of(config), torch.randn(6, 1, WORDS), torch.randn(6, 1, WORDS)
    state = decoder.start(memory_for(config, lengths=(3, 1, 2))).select(torch.tensor([0, 0, 1, 1, 2, 2]))
    state = decoder.run(first, state)[1]
    rows = torch.tensor([1, 0, 5, 5])
    kept = state.keep(torch.tensor([0, 2]), rows)
    expected = decoder.run(second, state.select(torch.tensor([1, 0, 2, 3, 5, 5])))[0].hidden
    close(decoder.run(second[[0, 1, 4, 5]], kept)[0].hidden, expected[[0, 1, 4, 5]], tolerance_of(config))


@every_decoder
def test_a_source_that_is_all_padding_gives_numbers(config: DecoderConfig) -> None:
    decoder = decoder_of(config)
    output = decoder.run(torch.randn(2, 3, WORDS), decoder.start(memory_for(config, lengths=(3, 0))), attention=True)[0]
    output.hidden.sum().backward()
    assert output.hidden.isfinite().all()
    assert all(not weights[1].any() for name, weights in output.attention.items() if "target" not in name)
    assert all(value.grad.isfinite().all() for value in decoder.parameters() if value.grad is not None)


@every_decoder
def test_every_parameter_gets_a_gradient(config: DecoderConfig) -> None:
    decoder = decoder_of(config).train()
    output = decoder.run(torch.randn(2, 4, WORDS), decoder.start(memory_for(config, lengths=(3, 2))))[0]
    wanted = [output.hidden, *output.extras.values()]  # what REINFORCE moves is in the extras
    torch.stack([some.square().sum() for some in wanted]).sum().backward()
    assert without_gradient(decoder) == []


@pytest.mark.parametrize("config", [config for config in EVERY_DECODER if not chooses(config)], ids=label)
def test_gradients_are_those_of_differences(config: DecoderConfig) -> None:
    decoder, memory = decoder_of(config).double(), memory_for(config, dtype=torch.float64)
    source = memory.sequences["source"]

    def hidden(inputs: torch.Tensor, *parameters: torch.Tensor) -> torch.Tensor:
        return decoder.run(inputs, decoder.start(memory))[0].hidden

    inputs = torch.randn(2, 2, WORDS, dtype=torch.float64, requires_grad=True)
    source.states.requires_grad_()
    values = (inputs, source.states, *decoder.parameters())
    assert torch.autograd.gradcheck(hidden, values, rtol=1e-6, atol=1e-8, fast_mode=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"bridge": "copy"}, "Set bridge = 'linear'"),
        ({"attention": {"kind": "fixed"}, "bridge": "zeros"}, "leaves none"),
    ],
)
def test_an_encoder_without_a_final_state_is_told(options: dict[str, Any], sentence: str) -> None:
    config = Rnn(**options)
    encoder = Leaves(config)
    encoder.final = None
    with pytest.raises(ConfigError, match=sentence):
        build_decoder(config, WORDS, encoder)


def test_without_a_final_state_the_first_is_made_of_the_mean() -> None:
    """tanh(W mean + b) of the real states alone; a source without any has the mean 0."""
    config = Rnn(cell="lstm", width=MEMORY_WIDTH, bridge="linear")
    encoder = Leaves(config)
    memory = replace(encoder.memory((3, 1, 0)), final=None)
    encoder.final = None
    decoder, states = build_decoder(config, WORDS, encoder), memory.sequences["source"].states
    first = decoder.start(memory).moving
    found = torch.cat([first["hidden"], first["cell"]], 2).squeeze(1)
    means = torch.stack([states[0].mean(0), states[1, 0], torch.zeros(MEMORY_WIDTH)])
    close(found, torch.tanh(decoder.bridge.first(means)))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"context": ()}, "the context goes nowhere"),
        ({"context": ("next_layer",)}, "next_layer needs a second layer"),
        ({"context": ("every_layer",), "query": "current", "layers": 2}, "comes too late"),
        ({"readout": "none"}, "has no place for a context"),
        ({"attention": {"kind": "none"}, "bridge": "zeros"}, "hides the source"),
        ({"readout_state": "previous", "readout_word": False}, "before the one before it is known"),
        ({"readout_state": "previous", "readout": "none", "context": ("input",)}, "before the one before it is known"),
        ({"readout_state": "previous", "residual": True, "layers": 2}, "set residual = false"),
        (
            {
                "attention": {"weights": {"kind": "hard", "choice": "sampled"}},
                "context": ("input",),
                "query": "current",
            },
            "drawn",
        ),
        ({"attention": {"kind": "dot", "key_width": 3}}, "key_width is that of"),
        ({"attention": {"kind": "dot", "value_width": 3}}, "value_width is that of"),
    ],
)
def test_settings_that_contradict_one_another(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Rnn(**options)
