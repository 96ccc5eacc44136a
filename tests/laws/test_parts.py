"""What holds for every encoder and every whole model."""

import pytest
import torch
from model_parts import (
    CNN,
    ENCODERS,
    HIERARCHICAL,
    IDENTITY,
    MODELS,
    SOURCE_SYMBOLS,
    TARGET_SYMBOLS,
    TRANSFORMER_ENCODERS,
    batch_of,
    close,
    example,
    label,
    model_of,
    tolerance_of,
    without_gradient,
)

from dragoman.contracts import Batch
from dragoman.encoders import EncoderConfig, build_encoder
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.objectives import CrossEntropy, CrossEntropyObjective, target_log_probabilities
from dragoman.regimes import teacher
from dragoman.training.optimisers import values_of

every_encoder = pytest.mark.parametrize(
    "config", [*ENCODERS, *TRANSFORMER_ENCODERS, *HIERARCHICAL, CNN, IDENTITY], ids=label
)
every_model = pytest.mark.parametrize("config", MODELS, ids=label)


def logs_of(model: EncoderDecoderModel, batch: Batch) -> torch.Tensor:
    return target_log_probabilities(teacher(model, batch), model.head, batch)


def loss_of(model: EncoderDecoderModel, batch: Batch) -> torch.Tensor:
    losses = CrossEntropyObjective(CrossEntropy())(teacher(model, batch), model.head, batch)
    return torch.stack([loss.total for loss in losses.values()]).sum()


@every_model
def test_stepping_repeats_teacher_forcing(config: EncoderDecoder) -> None:
    model, batch = model_of(config), example()
    expected = model.head.log_probabilities(teacher(model, batch))
    state = model.start(model.encode(batch))
    for step, last in enumerate(batch.target.inputs.values.unbind(1)):
        found = model.step(last, state)
        state = found.state
        close(found.log_probabilities, expected[:, step], tolerance_of(config))


@every_model
def test_padding_never_changes_a_result(config: EncoderDecoder) -> None:
    model = model_of(config)
    tight, wide = logs_of(model, example()), logs_of(model, example(longer=3))
    close(wide[:, : tight.shape[1]], tight, tolerance_of(config))
    assert not wide[:, tight.shape[1] :].any()


@every_model
def test_a_batch_equals_its_rows(config: EncoderDecoder) -> None:
    model, batch = model_of(config), example()
    together = logs_of(model, batch)
    for row in range(batch.size):
        source, target = batch.sources["source"], batch.target.outputs
        length = int(target.mask[row].sum())
        alone = batch_of([source.values[row][source.mask[row]].tolist()], [target.values[row, : length - 1].tolist()])
        close(together[row, :length], logs_of(model, alone)[0], tolerance_of(config))


@every_model
def test_an_empty_source_gives_numbers(config: EncoderDecoder) -> None:
    model = model_of(config)
    batch = batch_of([[3, 4], []], [[3], [4, 5]])
    loss_of(model, batch).backward()
    assert logs_of(model, batch).isfinite().all()
    assert all(values_of(value.grad).isfinite().all() for value in model.parameters() if value.grad is not None)


@every_model
def test_every_parameter_gets_a_gradient(config: EncoderDecoder) -> None:
    model = model_of(config).train()
    loss_of(model, example()).backward()
    assert without_gradient(model) == []


@every_model
def test_no_part_looks_at_values_or_names_a_device(config: EncoderDecoder) -> None:
    nowhere = torch.device("meta")
    with nowhere:
        model = build_model(config, SOURCE_SYMBOLS, TARGET_SYMBOLS)
    batch = example().to(nowhere)
    loss = loss_of(model, batch)
    loss.backward()
    found = model.step(batch.target.inputs.values[:, 0], model.start(model.encode(batch)))
    assert {loss.device, found.log_probabilities.device, logs_of(model, batch).device} == {nowhere}
    assert all(value.grad is not None and value.grad.device == nowhere for value in model.parameters())


@every_model
def test_the_seed_alone_decides_the_weights(config: EncoderDecoder) -> None:
    torch.manual_seed(3)
    one = model_of(config)
    torch.manual_seed(3)
    other = model_of(config)
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


@every_encoder
def test_encoder_gradients_are_those_of_differences(config: EncoderConfig) -> None:
    encoder = build_encoder(config, 4).double().eval()
    mask = torch.tensor([[True, True, True], [True, False, False]])

    def everything(vectors: torch.Tensor, *parameters: torch.Tensor) -> tuple[torch.Tensor, ...]:
        memory = encoder(vectors, mask)
        final = () if memory.final is None else (memory.final.hidden, memory.final.cell)
        return memory.sequences["source"].states, *(part for part in final if part is not None)

    vectors = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    values = (vectors, *encoder.parameters())
    assert torch.autograd.gradcheck(everything, values, rtol=1e-6, atol=1e-8, fast_mode=True)


@every_encoder
def test_padding_leaves_no_state(config: EncoderConfig) -> None:
    encoder = build_encoder(config, 4).eval()
    mask = torch.tensor([[True, True, True], [True, False, False]])
    memory = encoder(torch.randn(2, 3, 4), mask)
    assert memory.sequences["source"].states.shape == (2, 3, encoder.width)
    if memory.final is not None:
        assert memory.final.hidden.shape == (2, encoder.final.layers, encoder.final.width)
    assert not memory.sequences["source"].states[~mask].any()


@pytest.mark.parametrize("config", [one for one in MODELS if one.encoder.kind == "hierarchical"], ids=label)
def test_histories_that_share_turns_have_the_loss_of_each_alone(config: EncoderDecoder) -> None:
    """The turns 3 4, 5, 6 3 of one conversation, read once for three replies: the same loss and gradient."""
    histories, replies = [[3, 4], [3, 4, 2, 5], [3, 4, 2, 5, 2, 6, 3]], [[5], [6, 3], [4]]
    together, alone = model_of(config), model_of(config)
    alone.load_state_dict(together.state_dict())
    whole = loss_of(together, batch_of(histories, replies))
    parts = sum(loss_of(alone, batch_of([history], [reply])) for history, reply in zip(histories, replies, strict=True))
    close(whole, parts, 1e-5)
    whole.backward()
    parts.backward()
    for one, other in zip(together.parameters(), alone.parameters(), strict=True):
        close(one.grad, other.grad, 1e-5)
