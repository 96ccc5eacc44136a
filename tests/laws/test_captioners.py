"""What holds for every model that describes pictures."""

import pytest
import torch
from model_parts import close, label, without_gradient

from dragoman import decoders, encoders, frontends
from dragoman.contracts import Batch
from dragoman.data.captions import collate_pictures
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.nn import attention as attentions
from dragoman.objectives import CrossEntropy, CrossEntropyObjective, target_log_probabilities
from dragoman.regimes import Teacher, build_regime, teacher
from dragoman.training.learner import Learner

GRID = frontends.ImageGrid(size=8, grid=2, width=6, channels=4, groups=2)
SOFT = attentions.Additive(width=5, gate="scalar")
HARD = [SOFT.changed(weights=attentions.Hard(choice=choice)) for choice in ("closest", "sampled")]
SMALL = {"width": 6, "readout_width": 4, "dropout": 0.3}
STACK = {"heads": 2, "layers": 1, "feed_forward": 7, "dropout": 0.3}
MODELS = [
    EncoderDecoder(source=source, target=frontends.Tokens(width=4), encoder=encoder, decoder=decoder)
    for source, encoder, decoder in [
        (GRID, encoders.Identity(), decoders.Rnn(cell="lstm", attention=SOFT, bridge="mlp", readout="linear", **SMALL)),
        (GRID, encoders.Identity(), decoders.Rnn(attention=HARD[0], **SMALL)),
        (GRID, encoders.Identity(), decoders.Rnn(attention=HARD[1], **SMALL)),
        (GRID.changed(positions="none", blocks=2), encoders.Rnn(width=3), decoders.Rnn(**SMALL)),
        (GRID, encoders.Transformer(**STACK), decoders.Transformer(**STACK)),
        (GRID.changed(grid=4), encoders.Identity(), decoders.Transformer(**STACK)),
        (GRID.changed(grid=4, summary="columns"), encoders.Identity(), decoders.Rnn(attention=SOFT, **SMALL)),
        (GRID, encoders.Transformer(**STACK), decoders.Rnn(cell="gru", attention=SOFT, **SMALL)),
    ]
]
every_model = pytest.mark.parametrize("config", MODELS, ids=label)
TARGETS = [[3, 4], [7, 5, 6, 3], [4]]


def model_of(config: EncoderDecoder) -> EncoderDecoderModel:
    torch.manual_seed(1)
    model = build_model(config, 0, 8)
    assert isinstance(model, EncoderDecoderModel)
    return model.eval()


def batch_of(*rows: int) -> Batch:
    pictures = torch.randint(0, 256, (3, 8, 8, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    return collate_pictures(pictures[list(rows)].numpy(), [TARGETS[row] for row in rows])


@every_model
def test_stepping_repeats_teacher_forcing(config: EncoderDecoder) -> None:
    model, batch = model_of(config), batch_of(0, 1, 2)
    expected, state = model.head.log_probabilities(teacher(model, batch)), model.begin(batch)
    for step, last in enumerate(batch.truth().inputs.values.unbind(1)):
        found = model.step(last, state)
        state = found.state
        close(found.log_probabilities, expected[:, step], 1e-5)


@every_model
def test_any_cut_gives_the_same_result(config: EncoderDecoder) -> None:
    model, batch = model_of(config), batch_of(0, 1, 2)
    inputs, whole = batch.truth().inputs.values, teacher(model, batch).hidden
    state, found = model.begin(batch), []
    for part in inputs.split([2, 1, 2], 1):
        output, state = model.decode(part, state)
        found.append(output.hidden)
    close(torch.cat(found, 1), whole, 1e-5)


@every_model
def test_a_batch_equals_its_rows(config: EncoderDecoder) -> None:
    model = model_of(config)
    together = target_log_probabilities(teacher(model, batch_of(0, 1, 2)), model.head, batch_of(0, 1, 2))
    for row, target in enumerate(TARGETS):
        alone = target_log_probabilities(teacher(model, batch_of(row)), model.head, batch_of(row))
        close(together[row, : len(target) + 1], alone[0], 1e-5)


@every_model
def test_every_parameter_gets_a_gradient(config: EncoderDecoder) -> None:
    model, batch = model_of(config).train(), batch_of(0, 1, 2)
    losses = CrossEntropyObjective(CrossEntropy())(teacher(model, batch), model.head, batch)
    torch.stack([loss.total for loss in losses.values()]).sum().backward()
    assert without_gradient(model) == []


def test_attention_that_is_not_doubly_stochastic_costs() -> None:
    """λ Σ_j (1 − Σ_i α_ij)² of what the decoder did, beside the cross entropy, with its divisor."""
    model, batch = model_of(MODELS[0]).train(), batch_of(0, 1, 2)
    for part in (model.source, model.target, model.decoder):
        part.dropout.p = 0.0
    objective = CrossEntropyObjective(CrossEntropy(smoothing=0.0, doubly_stochastic=0.5))
    losses = Learner(model, build_regime(Teacher()), objective)(batch, 1)
    weights = teacher(model, batch, attention=True).attention["source"][:, 0]
    sums = [weights[row, : len(target) + 1].sum(0) for row, target in enumerate(TARGETS)]
    expected = 0.5 * sum((1 - one).square().sum() for one in sums)
    close(losses["doubly_stochastic"].total, expected, 1e-5)
    assert losses["doubly_stochastic"].auxiliary
    assert losses["doubly_stochastic"].count == losses["cross_entropy"].count == batch.target_tokens
