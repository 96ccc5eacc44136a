"""A language model of this project beside GPT-2 of Hugging Face with the same weights."""

import os

import pytest
import torch

from dragoman import decoders, frontends, heads
from dragoman.data.collate import collate_sources
from dragoman.models import DecoderOnly, DecoderOnlyModel, build_model
from dragoman.nn.positions import Learned

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers")

SYMBOLS, WIDTH, LAYERS, HEADS, CONTEXT = 11, 8, 2, 2, 7


def theirs() -> torch.nn.Module:
    config = transformers.GPT2Config(
        vocab_size=SYMBOLS,
        n_positions=CONTEXT,
        n_embd=WIDTH,
        n_layer=LAYERS,
        n_head=HEADS,
        activation_function="gelu",
        initializer_range=0.5,
    )
    return transformers.GPT2LMHeadModel(config).eval()


def ours(other: torch.nn.Module) -> DecoderOnlyModel:
    """The same numbers by our names; theirs are written the other way round."""
    config = DecoderOnly(
        target=frontends.Tokens(width=WIDTH),
        decoder=decoders.Transformer(
            layers=LAYERS,
            heads=HEADS,
            feed_forward=4 * WIDTH,
            activation="gelu",
            positions=Learned(length=CONTEXT),
        ),
        head=heads.Tokens(bias=False),
        context=CONTEXT,
        tie="target",
    )
    model = build_model(config, SYMBOLS, SYMBOLS).eval()
    theirs = other.state_dict()
    names = {
        "ln_1": "around_attention.norm",
        "attn.c_attn": "attention.of_all",
        "attn.c_proj": "attention.output",
        "ln_2": "around_feed_forward.norm",
        "mlp.c_fc": "feed_forward.wide",
        "mlp.c_proj": "feed_forward.output",
    }
    found = {"decoder.positions.table": theirs["transformer.wpe.weight"]}
    found |= dict.fromkeys(("target.embedding.weight", "head.output.weight"), theirs["transformer.wte.weight"])
    for part in ("weight", "bias"):
        found[f"decoder.last_norm.{part}"] = theirs[f"transformer.ln_f.{part}"]
        for layer in range(LAYERS):
            for name, own in names.items():
                value = theirs[f"transformer.h.{layer}.{name}.{part}"]
                found[f"decoder.layers.{layer}.{own}.{part}"] = value.t() if value.dim() == 2 else value
    model.load_state_dict(found)
    assert isinstance(model, DecoderOnlyModel)
    return model


@torch.inference_mode()
def test_the_same_weights_give_the_same_probabilities() -> None:
    other = theirs()
    model = ours(other)
    text = torch.randint(1, SYMBOLS, (3, CONTEXT))
    expected = other(text).logits.log_softmax(-1)
    state = model.begin(collate_sources([[]] * 3))
    found, _ = model.logs(text, state)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for step in range(CONTEXT):
        taken = model.step(text[:, step], state)
        state = taken.state
        torch.testing.assert_close(taken.log_probabilities, expected[:, step], rtol=1e-4, atol=1e-5)
