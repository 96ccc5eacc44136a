"""Word vectors that are rows of the output layer as well: one table, in memory, in a gradient and in a file."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch, Padded, Target
from dragoman.errors import ConfigError
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.regimes import teacher
from dragoman.weights import load_weights, weight_bytes, weights_of

STACK: dict[str, Any] = {"heads": 2, "layers": 1, "feed_forward": 7, "dropout": 0.0}
TRANSFORMER = EncoderDecoder(
    source=frontends.Tokens(width=4, dropout=0.0, scaled=True),
    target=frontends.Tokens(width=4, dropout=0.0, scaled=True),
    encoder=encoders.Transformer(**STACK),
    decoder=decoders.Transformer(**STACK),
)
RNN = EncoderDecoder(
    source=frontends.Tokens(width=4, dropout=0.0),
    target=frontends.Tokens(width=4, dropout=0.0),
    encoder=encoders.Rnn(width=3, dropout=0.0),
    decoder=decoders.Rnn(width=5, readout_width=4, dropout=0.0),
)
SYMBOLS = 11  # as many rows as no other matrix has
TIED = [model.changed(tie=tie) for model in (TRANSFORMER, RNN) for tie in ("target", "all")]
every_tie = pytest.mark.parametrize("config", TIED, ids=lambda config: f"{config.decoder.kind} {config.tie}")


def padded(*rows: list[int]) -> Padded:
    values = torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])
    return Padded(values, values != 0)


def batch() -> Batch:
    inputs, outputs = padded([1, 3, 4], [1, 7]), padded([3, 4, 2], [7, 2])
    target = Target(inputs, outputs, outputs.mask.flatten().nonzero().squeeze(1))
    return Batch((0, 1), {"source": padded([3, 4, 5], [6, 5])}, target)


def loss_of(model: EncoderDecoderModel) -> torch.Tensor:
    objective = build_objective(CrossEntropy())
    return objective(teacher(model, batch()), model.head, batch())["cross_entropy"].total


@every_tie
def test_one_table(config: EncoderDecoder) -> None:
    model = build_model(config, SYMBOLS, SYMBOLS)
    assert model.head.output.weight is model.target.embedding.weight
    assert (model.source.embedding.weight is model.target.embedding.weight) == (config.tie == "all")
    apart = build_model(config.changed(tie="none"), SYMBOLS, SYMBOLS)
    fewer = sum(value.numel() for value in apart.parameters()) - sum(value.numel() for value in model.parameters())
    assert fewer == SYMBOLS * 4 * (2 if config.tie == "all" else 1)


@every_tie
def test_saved_once_and_loaded_as_one(config: EncoderDecoder, tmp_path: Path) -> None:
    """On the device that is nowhere first, as a pipeline does; and what was loaded can be saved again."""
    model, path = build_model(config, SYMBOLS, SYMBOLS).eval(), tmp_path / "model.safetensors"
    path.write_bytes(weight_bytes(weights_of(model), {}))
    with safe_open(path, "pt") as file:
        tables = [name for name in file.keys() if tuple(file.get_slice(name).get_shape()) == (SYMBOLS, 4)]  # noqa: SIM118
    sides = ["source"] if config.tie == "all" else ["source", "target"]
    assert sorted(tables) == [f"{side}.embedding.weight" for side in sides]
    with torch.device("meta"):
        other = build_model(config, SYMBOLS, SYMBOLS).eval()
    load_weights(other, path)
    assert torch.equal(teacher(other, batch()).hidden, teacher(model, batch()).hidden)
    assert torch.equal(loss_of(other), loss_of(model))
    assert other.head.output.weight is other.target.embedding.weight
    assert weight_bytes(weights_of(other), {}) == path.read_bytes()


@every_tie
def test_the_gradient_is_that_of_all_its_parts(config: EncoderDecoder) -> None:
    """With the same numbers in tables of their own, theirs added up."""
    model, apart = build_model(config, SYMBOLS, SYMBOLS), build_model(config.changed(tie="none"), SYMBOLS, SYMBOLS)
    apart.load_state_dict(model.state_dict())
    for one in (model, apart):
        loss_of(one).backward()
    tables = [apart.target.embedding, apart.head.output] + ([apart.source.embedding] if config.tie == "all" else [])
    expected = torch.stack([table.weight.grad for table in tables]).sum(0)
    torch.testing.assert_close(model.head.output.weight.grad, expected)


@every_tie
def test_it_trains_as_one(config: EncoderDecoder) -> None:
    model = build_model(config, SYMBOLS, SYMBOLS).train()
    optimiser, before = torch.optim.Adam(model.parameters(), 0.02), loss_of(model)
    for _ in range(30):
        optimiser.zero_grad()
        loss_of(model).backward()
        assert all(value.grad is not None and value.grad.any() for value in model.parameters())
        optimiser.step()
    assert loss_of(model) < before / 2
    assert model.head.output.weight is model.target.embedding.weight


@pytest.mark.parametrize(
    ("config", "sizes", "said"),
    [
        (
            TRANSFORMER.changed(tie="all"),
            (7, 1008),
            "model.tie = 'all' has one vector for a word of either side, and the vocabularies have 7 and 1,008 "
            "symbols. Set target.kind = 'shared' for one vocabulary, or model.tie = 'target'.",
        ),
        (
            TRANSFORMER.changed(tie="all", target=frontends.Tokens(width=6)),
            (8, 8),
            "model.tie = 'all' has one table of vectors: model.target.width must be 4, not 6.",
        ),
        (
            RNN.changed(tie="target", target=frontends.Tokens(width=3)),
            (7, 8),
            "model.tie has word vectors as rows of the output layer, which reads vectors of width 4 from the decoder: "
            "set model.target.width = 4, not 3 (of a recurrent decoder, readout_width is what it gives).",
        ),
        (
            TRANSFORMER.changed(source=frontends.Tokens(width=5)),
            (7, 8),
            "2 heads cannot share a width of 5 equally. The width is that of the vectors: set model.source.width, "
            "model.target.width or heads.",
        ),
        (
            TRANSFORMER.changed(share="cells"),
            (7, 8),
            "model.share = 'cells' is for recurrent layers on both sides. Set model.share = 'none'.",
        ),
    ],
    ids=["vocabularies", "widths", "readout", "heads", "cells"],
)
def test_parts_that_do_not_fit(config: EncoderDecoder, sizes: tuple[int, int], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        build_model(config, *sizes)
    assert str(raised.value) == said
