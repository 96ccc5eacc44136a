"""What holds for every model of tracks: a batch is its rows, any cut and stepping give the same as teacher forcing."""

import pytest
import torch
from model_parts import ENCODERS, TRANSFORMER_DECODERS, TRANSFORMER_ENCODERS, close

from dragoman import decoders, frontends
from dragoman.contracts import Batch, Padded, Target
from dragoman.heads import Mixture, Points
from dragoman.models import Forecaster, ForecasterModel, Sizes, build_model
from dragoman.nn.attention import Additive, NoAttention
from dragoman.regimes import Free, Scheduled, Teacher, TwoPass, build_regime, feed, teacher
from dragoman.search.rollout import drawn_numbers, rollout, sampled

SIZES = Sizes(source=3, points=2, context=1, neighbour=4)
NAN = float("nan")
RNN = decoders.Rnn(width=6, readout_width=4, attention=Additive(width=7), dropout=0.0)
MODELS = {
    "recurrent": (ENCODERS[0], RNN, Points()),
    "from the point before": (ENCODERS[0], RNN.changed(attention=NoAttention()), Points(origin="fed")),
    "mixture": (ENCODERS[1], RNN, Mixture(components=3, covariance="full")),
    "transformer": (TRANSFORMER_ENCODERS[0], TRANSFORMER_DECODERS[0], Mixture(components=2, origin="fed")),
    "rotary": (TRANSFORMER_ENCODERS[2], TRANSFORMER_DECODERS[2], Points()),
}
every_model = pytest.mark.parametrize("name", MODELS)


def model_of(name: str) -> ForecasterModel:
    torch.manual_seed(1)
    encoder, decoder, head = MODELS[name]
    frames = frontends.Frames(width=4)
    config = Forecaster(source=frames, target=frames, encoder=encoder, decoder=decoder, head=head)
    model = build_model(config, 0, 0, SIZES)
    assert isinstance(model, ForecasterModel)
    torch.nn.init.normal_(model.neighbours.together.weight)  # which starts as nothing
    return model.eval()


def batch_of(rows: int = 3, lengths: tuple[int, ...] = (4, 2, 3), steps: tuple[int, ...] = (5, 3, 4)) -> Batch:
    torch.manual_seed(2)
    past, future = torch.randn(3, 4, 3), torch.randn(3, 5, 2)
    past[0, 1, 0], future[0, 2, 1] = NAN, NAN
    neighbours = torch.randn(3, 4, 8)
    neighbours[1, :, 4:] = NAN
    mask, real = torch.arange(4) < torch.tensor(lengths)[:, None], torch.arange(5) < torch.tensor(steps)[:, None]
    fed = torch.cat([past[torch.arange(3), torch.tensor(lengths) - 1][:, None, :2], future[:, :-1]], 1)
    sources = {
        "source": Padded(past.where(mask[..., None], 0), mask),
        "neighbours": Padded(neighbours.where(mask[..., None], 0), mask),
        "context": Padded(torch.randn(3, 5, 1), real),
    }
    outputs = Padded(future.where(real[..., None], 0), real)
    target = Target(Padded(fed, real), outputs, real.flatten().nonzero().squeeze(1))
    return Batch((1, 2, 3), sources, target)


def row_of(batch: Batch, row: int) -> Batch:
    """One example without padding."""
    length, steps = (int(batch.sources[name].mask[row].sum()) for name in ("source", "context"))

    def part(padded: Padded, end: int) -> Padded:
        return Padded(padded.values[row : row + 1, :end], padded.mask[row : row + 1, :end])

    ends = {"source": length, "neighbours": length, "context": steps}
    sources = {name: part(padded, ends[name]) for name, padded in batch.sources.items()}
    target = batch.truth()
    alone = Target(part(target.inputs, steps), part(target.outputs, steps), torch.arange(steps))
    return Batch((row,), sources, alone)


@every_model
def test_a_batch_is_its_rows(name: str) -> None:
    model, batch = model_of(name), batch_of()
    whole = model.head.numbers(teacher(model, batch))
    for row in range(3):
        alone = model.head.numbers(teacher(model, row_of(batch, row)))
        close(whole[row : row + 1, : alone.shape[1]], alone)


@every_model
@pytest.mark.parametrize("cut", [[1, 1, 1, 1, 1], [2, 3], [1, 4]], ids=str)
def test_any_cut_gives_the_same_result(name: str, cut: list[int]) -> None:
    model, batch = model_of(name), batch_of()
    whole = model.head.numbers(teacher(model, batch))
    for gradient in (True, False):
        with torch.set_grad_enabled(gradient):
            state, parts = model.start(model.encode(batch)), []
            for piece in batch.truth().inputs.values.split(cut, 1):
                output, state = model.decode(piece, state)
                parts.append(model.head.numbers(output))
        close(torch.cat(parts, 1), whole)


@every_model
def test_a_future_that_is_fed_back_is_that_of_the_free_regime(name: str) -> None:
    model, batch = model_of(name), batch_of()
    state = model.start(model.encode(batch))
    points, _ = rollout(model.decode, model.head, batch.truth().inputs.values[:, 0], state, 5)
    close(
        model.head.numbers(feed(model, batch, 0.0)).where(batch.truth().outputs.mask[..., None], 0),
        points.where(batch.truth().outputs.mask[..., None], 0),
    )


def test_several_futures_are_each_drawn_by_itself() -> None:
    model, batch = model_of("mixture"), batch_of()
    first = batch.truth().inputs.values[:, 0]
    draws = drawn_numbers(1, [0, 1, 2], 4, 5, 2)
    together, logs = sampled(model.decode, model.head, first, model.start(model.encode(batch)), 5, draws)
    assert together.shape == (12, 5, 2)
    alone = row_of(batch, 1)
    one = drawn_numbers(1, [1], 4, 3, 2)
    apart, _ = sampled(
        model.decode, model.head, alone.truth().inputs.values[:, 0], model.start(model.encode(alone)), 3, one
    )
    assert not torch.equal(apart[0], apart[1])
    assert torch.equal(drawn_numbers(1, [1], 4, 5, 2), draws[4:8])  # of the track and the draw alone
    assert logs.isfinite().all()


@pytest.mark.parametrize("regime", [Teacher(), Free(), Scheduled(), TwoPass(), Free(truncate=2)], ids=str)
@pytest.mark.parametrize("name", ["recurrent", "transformer"])
def test_every_regime_learns_from_points(name: str, regime: object) -> None:
    model, batch = model_of(name).train(), batch_of()
    output = build_regime(regime)(model, batch, 10_000)
    known = ~batch.truth().outputs.values.isnan() & batch.truth().outputs.mask[..., None]
    model.head.numbers(output)[known].square().sum().backward()
    grads = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert grads
    assert all(grad.isfinite().all() for grad in grads)


def test_the_gradient_runs_through_own_points_and_not_beyond_a_cut() -> None:
    model, batch = model_of("from the point before").train(), batch_of()
    for truncate, reaches in ((None, True), (2, False)):
        model.zero_grad()
        model.head.numbers(feed(model, batch, 0.0, truncate=truncate))[:, 2:4].sum().backward()
        start = model.decoder.bridge
        found = sum(float(weight.grad.abs().sum()) for weight in start.parameters() if weight.grad is not None)
        assert (found > 0) == reaches


def test_without_context_or_neighbours_there_are_no_weights_for_them() -> None:
    frames = frontends.Frames(width=4)
    config = Forecaster(source=frames, target=frames, encoder=ENCODERS[0], decoder=RNN)
    model = build_model(config, 0, 0, Sizes(3, 2))
    assert isinstance(model, ForecasterModel)
    assert model.context is None
    assert model.neighbours is None


def test_the_order_of_neighbours_does_not_count() -> None:
    model, batch = model_of("recurrent"), batch_of()
    values = batch.sources["neighbours"].values
    turned = torch.cat([values[..., 4:], values[..., :4]], -1)
    other = Batch(
        batch.examples, {**batch.sources, "neighbours": Padded(turned, batch.sources["source"].mask)}, batch.target
    )
    close(teacher(model, batch).hidden, teacher(model, other).hidden)
