"""What holds for every model that learns to read, whatever encodes its texts."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from model_parts import ENCODERS, STACKS, TRANSFORMER, close, without_gradient

from dragoman import encoders, frontends, heads
from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.encoding import flattened
from dragoman.data.masking import Masking, Masks, collate_passages
from dragoman.evaluation.pretraining import measured
from dragoman.models import EncoderOnly, EncoderOnlyModel, build_model
from dragoman.nn.positions import longest
from dragoman.objectives import Pretraining, build_objective
from dragoman.regimes import Teacher, build_regime
from dragoman.training.learner import Learner
from dragoman.weights import give_weights, weights_of

SYMBOLS = 9
NORMED = [encoders.Transformer(**(TRANSFORMER | options), first_norm=True) for options in STACKS.values()]
LEARNS = ("both", "masked_words", "next_sentence")
MODELS = [
    EncoderOnly(
        source=frontends.Tokens(width=4),
        encoder=encoder,
        head=heads.Pretraining(learns=LEARNS[number % 3], length=12),
        sentences="one" if LEARNS[number % 3] == "masked_words" and number % 2 else "two",
    )
    for number, encoder in enumerate([*NORMED, *ENCODERS[::3], *NORMED[::-1]])
]
every_model = pytest.mark.parametrize("config", MODELS, ids=lambda one: f"{one.encoder.kind}-{one.head.learns}")
PAIRS = [[4, 5, 3, 6, 7, 8], [6, 3, 7], [5, 3, 4, 4], [8, 7, 5, 4, 3, 6, 7, 7, 8]]


def model_of(config: EncoderOnly) -> EncoderOnlyModel:
    model = build_model(config, SYMBOLS, SYMBOLS).eval()
    assert isinstance(model, EncoderOnlyModel)
    return model


def batch_for(config: EncoderOnly, numbers: list[int] = [0, 1, 2, 3]) -> Batch:  # noqa: B006
    rows = PAIRS if config.sentences == "two" else [[symbol for symbol in row if symbol != 3] for row in PAIRS]
    source, target = flattened(rows), flattened([[number % 2, number] for number in range(len(rows))])
    chunk = Chunk(source[0], offsets(source[1]), target[0], offsets(target[1]), np.arange(1, len(rows) + 1))
    masking = Masking(Masks(share=0.4), SYMBOLS, None, seed=3)
    return collate_passages(chunk, np.array(numbers), None if config.head.learns == "next_sentence" else masking)


def learner_of(model: EncoderOnlyModel) -> Learner:
    return Learner(model, build_regime(Teacher()), build_objective(Pretraining()))


@every_model
def test_a_loss_is_the_sum_of_those_of_its_rows(config: EncoderOnly) -> None:
    """Neighbours and padding change nothing."""
    learner = learner_of(model_of(config))
    whole = learner(batch_for(config), 1)
    parts = [learner(batch_for(config, [number]), 1) for number in range(len(PAIRS))]
    wanted = {"both": {"masked_words", "next_sentence"}}.get(config.head.learns, {config.head.learns})
    assert set(whole) == wanted
    for name, loss in whole.items():
        close(torch.stack([part[name].total for part in parts]).sum(), loss.total, 1e-5)
        assert loss.count == sum(part[name].count for part in parts)
        assert learner.objective.count(batch_for(config))[name] == loss.count


def reads_one_state(config: EncoderOnly) -> bool:
    """The first state of a recurrent layer follows from no other."""
    return config.encoder.kind == "rnn" and config.head.learns == "next_sentence"


@pytest.mark.parametrize("config", [config for config in MODELS if not reads_one_state(config)])
def test_every_parameter_gets_a_gradient(config: EncoderOnly) -> None:
    learner = learner_of(model_of(config).train())
    positions = longest(config.encoder.positions) if isinstance(config.encoder, encoders.Transformer) else None
    torch.stack([loss.total for loss in learner(batch_for(config), 1).values()]).sum().backward()
    missing = without_gradient(learner)
    assert [name for name in missing if positions is None or "positions" not in name] == []


@every_model
def test_a_measurement_is_the_loss(config: EncoderOnly) -> None:
    """By quick layers, without gradients."""
    model = model_of(config)
    losses = learner_of(model)(batch_for(config), 1)
    sums = torch.from_numpy(measured(model, batch_for(config)).sum(0)).float()
    for name, place in (("masked_words", 1), ("next_sentence", 4)):
        if name in losses:
            close(sums[place], losses[name].total.detach(), 1e-5)
            assert sums[place - 1] == losses[name].count


@every_model
def test_weights_come_back(config: EncoderOnly) -> None:
    """What is shared is written once; what reads has the names that it has in any other model that only reads."""
    model, other = model_of(config), model_of(config)
    weights = weights_of(model)
    assert "head.words.output.weight" not in weights
    give_weights(other, weights)
    assert (measured(model, batch_for(config)) == measured(other, batch_for(config))).all()
    labels = EncoderOnly(source=config.source, encoder=config.encoder, sentences=config.sentences)
    body = [name for name in weights if not name.startswith(("head.", "mask."))]
    assert body == [name for name in weights_of(model_of(labels)) if not name.startswith("head.")]


def test_what_is_hidden_is_matched_with_nothing() -> None:
    """Else a mark at a gap would say that its word occurs in the other text. The word itself is under the mask."""
    config = MODELS[0].model_copy(update={"matches": "exact", "sentences": "two", "head": heads.Pretraining(length=12)})
    model, batch = model_of(config), batch_for(config)
    source, hidden = batch.sources["source"], batch.sources["masked"].values > 0
    assert hidden.any()
    states = model.encode(batch).sequences["source"].states
    for symbol in range(4, SYMBOLS):
        other = replace(source, values=source.values.masked_fill(hidden, symbol))
        changed = model.encode(replace(batch, sources={**batch.sources, "source": other}))
        assert torch.equal(changed.sequences["source"].states, states)
    nothing = replace(
        batch, sources={**batch.sources, "masked": replace(source, values=torch.zeros_like(source.values))}
    )
    assert not torch.equal(model.encode(nothing).sequences["source"].states, states)


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="asks whether a text follows another, and sentences = 'one'"):
        EncoderOnly(head=heads.Pretraining(), sentences="one")
    stack = encoders.Transformer(positions={"kind": "learned", "length": 100})
    with pytest.raises(ValueError, match=r"head.length = 128 needs as many positions, and .* is 100"):
        EncoderOnly(head=heads.Pretraining(), sentences="two", encoder=stack)
