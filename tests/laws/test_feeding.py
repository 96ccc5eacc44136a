"""What holds for every decoder under every regime: what it is fed, when it stops, and what is compared."""

import pytest
import torch
from model_parts import MODELS, batch_of, close, example, label, tolerance_of, with_dropout, without_gradient
from torch import Tensor

from dragoman.contracts import Batch, Output, State
from dragoman.models import EncoderDecoder, EncoderDecoderModel, build_model
from dragoman.objectives import CrossEntropy, build_objective, target_log_probabilities
from dragoman.regimes import Free, Linear, RegimeConfig, Scheduled, Teacher, TwoPass, build_regime, teacher
from dragoman.training.learner import Learner

START, END = 1, 2
PARTS = ("source", "target", "encoder", "decoder")  # that drop
HALF, NONE = Linear(start=0.5, lowest=0.5), Linear(start=0.0, lowest=0.0)
FREE, MIXED = Free(), Scheduled(decay=HALF)
TWICE, NONE_TRUE = TwoPass(decay=HALF), TwoPass(decay=NONE)
EVERY = list({label(config.decoder): config for config in MODELS}.values())  # each decoder once
# Every second one in the quick tier: all of them take a minute and a half.
OFTEN = [
    config if number % 2 == 0 else pytest.param(config, marks=pytest.mark.slow) for number, config in enumerate(EVERY)
]
every_decoder = pytest.mark.parametrize("config", OFTEN, ids=label)
some_decoders = pytest.mark.parametrize("config", EVERY[::4], ids=label)  # where the regime's own code is at stake


class Watched:
    """A model in training that writes down all that its decoder is fed and learns from; it may be forced to write one
    symbol."""

    def __init__(self, config: EncoderDecoder, always: int | None = None, dropout: float = 0.3) -> None:
        torch.manual_seed(4)
        parts = {name: with_dropout(getattr(config, name), dropout) for name in PARTS}
        self.model: EncoderDecoderModel = build_model(config.changed(**parts), 7, 8).train()
        if always is not None:
            self.model.head.output.bias.data[always] = 100.0
        self.pieces: list[Tensor] = []
        self.decode = self.model.decode
        self.model.decode = self.watch

    def watch(self, inputs: Tensor, state: State, attention: bool = False) -> tuple[Output, State]:
        """A first pass, without gradient, is no part of what is learned from."""
        if torch.is_grad_enabled():
            self.pieces.append(inputs)
        return self.decode(inputs, state, attention)

    @property
    def fed(self) -> Tensor:
        return torch.cat(self.pieces, 1)


def run(watched: Watched, regime: RegimeConfig, batch: Batch, seed: int = 7) -> Output:
    """With dropout and whatever else is drawn, from the same random numbers each time."""
    torch.manual_seed(seed)
    return build_regime(regime)(watched.model, batch, 1)


@every_decoder
def test_the_true_end_is_never_fed(config: EncoderDecoder) -> None:
    """Under any regime, with a model that writes END nowhere: it is expected, and nothing follows it."""
    for regime in (Teacher(), FREE, MIXED, TWICE):
        watched, batch = Watched(config, always=4), example()
        run(watched, regime, batch)
        assert batch.target.outputs.values.eq(END).any(1).all()
        assert not watched.fed.eq(END).any()


@every_decoder
def test_a_wrong_end_is_not_fed_by_a_teacher(config: EncoderDecoder) -> None:
    watched, batch = Watched(config, always=END), example()
    run(watched, Teacher(), batch)
    assert torch.equal(watched.fed, batch.target.inputs.values)


@every_decoder
@pytest.mark.parametrize("regime", [FREE, NONE_TRUE], ids=["steps", "two passes"])
def test_a_wrong_end_is_fed_on_and_still_has_a_loss(config: EncoderDecoder, regime: RegimeConfig) -> None:
    """A model that writes nothing but END sees END until the true length, and every true word still counts."""
    watched, batch = Watched(config, always=END), example()
    output = run(watched, regime, batch)
    mask = batch.target.inputs.mask
    assert watched.fed[:, 0].eq(START).all()
    assert watched.fed[:, 1:][mask[:, 1:]].eq(END).all()
    output.hidden.retain_grad()
    loss = build_objective(CrossEntropy(smoothing=0.0))(output, watched.model.head, batch)["cross_entropy"]
    logs = target_log_probabilities(output, watched.model.head, batch)
    wrong = mask & batch.target.outputs.values.ne(END)
    assert loss.count == mask.sum()
    assert (logs[wrong] < -50).all()  # each of them, also those behind the END that was written
    close(loss.total, -logs.sum(), 1e-3)
    loss.total.backward()
    assert output.hidden.grad[wrong].any(-1).all()


@every_decoder
@pytest.mark.parametrize("always", [4, END], ids=["never END", "always END"])
def test_training_stops_at_the_true_length(config: EncoderDecoder, always: int) -> None:
    """As many steps as the longest target has, START for END; a row that is over gets padding, and has no loss."""
    for regime in (Teacher(truncate=2), FREE, MIXED, TWICE):
        watched, batch = Watched(config, always), example(longer=2)
        output = run(watched, regime, batch)
        mask = batch.target.inputs.mask
        assert watched.fed.shape == mask.shape == output.hidden.shape[:2]
        assert not watched.fed[~mask].any()
        assert watched.fed[mask].ne(0).all()
        output.hidden.retain_grad()
        loss = build_objective(CrossEntropy())(output, watched.model.head, batch)["cross_entropy"]
        loss.total.backward()
        assert loss.count == 10  # 2, 4 and 1 words and an END each
        assert not output.hidden.grad[~mask].any()
        assert output.hidden.grad[mask].any(-1).all()


@every_decoder
def test_free_running_feeds_what_was_written(config: EncoderDecoder) -> None:
    """Step by step, by hand, from the same random numbers."""
    watched, batch = Watched(config), example()
    output = run(watched, FREE, batch)
    torch.manual_seed(7)
    model, mask = watched.model, batch.target.inputs.mask
    state = model.start(model.encode(batch))
    last, hidden = batch.target.inputs.values[:, 0], []
    for step in range(mask.shape[1]):
        assert torch.equal(watched.fed[:, step], last)
        found, state = watched.decode(last[:, None], state)
        hidden.append(found.hidden)
        if step + 1 < mask.shape[1]:
            logs = model.head.log_probabilities(found)[:, 0]
            last = (logs[:, 2:].argmax(-1) + 2) * mask[:, step + 1]  # neither padding nor START is ever written
    assert torch.equal(output.hidden, torch.cat(hidden, 1))


@every_decoder
def test_all_true_is_teacher_forcing_and_none_is_free(config: EncoderDecoder) -> None:
    """To the bit, in one run where all is true; dropout included."""
    watched, batch = Watched(config), example()
    all_true = run(watched, Scheduled(decay=Linear(start=1.0, lowest=1.0)), batch)
    assert len(watched.pieces) == 1
    torch.manual_seed(7)
    assert torch.equal(all_true.hidden, teacher(watched.model, batch).hidden)
    assert torch.equal(run(watched, Teacher(), batch).hidden, all_true.hidden)
    assert torch.equal(run(watched, TwoPass(decay=Linear(start=1.0, lowest=1.0)), batch).hidden, all_true.hidden)
    for own in ("best", "sampled"):
        none = run(watched, Scheduled(decay=NONE, own=own), batch)
        assert torch.equal(none.hidden, run(watched, Free(own=own), batch).hidden)


@every_decoder
def test_a_second_pass_is_fed_what_follows_the_true_words(config: EncoderDecoder) -> None:
    """By hand, from the same random numbers: one run over the true words, one over what was written to them."""
    watched, batch = Watched(config), example()
    output = run(watched, NONE_TRUE, batch)
    torch.manual_seed(7)
    model, inputs = watched.model, batch.target.inputs
    state = model.start(model.encode(batch))
    logs = model.head.log_probabilities(watched.decode(inputs.values, state)[0])
    written = (logs[:, :-1, 2:].argmax(-1) + 2) * inputs.mask[:, 1:]  # neither padding nor START is ever written
    assert torch.equal(watched.fed[:, 1:], written)
    assert torch.equal(output.hidden, watched.decode(watched.fed, state)[0].hidden)


@every_decoder
def test_two_passes_of_a_batch_are_those_of_its_rows(config: EncoderDecoder) -> None:
    """Where nothing is drawn: no dropout, no true words, and no positions that are chosen by lot."""
    sources, targets = [[3, 4, 5, 6], [5, 3]], [[3, 4], [7, 5, 6, 3]]
    watched = Watched(config, dropout=0.0)
    whole = run(watched, NONE_TRUE, batch_of(sources, targets)).hidden
    if not torch.equal(whole, run(watched, NONE_TRUE, batch_of(sources, targets), seed=8).hidden):
        return
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = run(watched, NONE_TRUE, batch_of([source], [target])).hidden[0]
        close(whole[row, : len(target) + 1], alone, tolerance_of(config))


@every_decoder
@pytest.mark.parametrize("kind", [Scheduled, TwoPass], ids=["steps", "two passes"])
def test_the_share_of_true_words_is_as_asked(config: EncoderDecoder, kind: type[Scheduled | TwoPass]) -> None:
    """400 words of which none is END, and a model that writes nothing else: what is END was its own."""
    batch = batch_of([[3, 4]] * 80, [[3, 4, 5, 6, 7]] * 80)
    watched = Watched(config, always=END)
    run(watched, kind(decay=Linear(start=0.7, lowest=0.7)), batch)
    true = watched.fed[:, 1:].ne(END).float()
    assert abs(float(true.mean()) - 0.7) < 4 * (0.7 * 0.3 / 400) ** 0.5
    assert len(true.mean(0).unique()) > 1  # each word by its own throw: neither whole sentences nor whole steps
    assert len(true.mean(1).unique()) > 1


@some_decoders
@pytest.mark.parametrize("kind", [Scheduled, TwoPass], ids=["steps", "two passes"])
def test_the_seed_decides_what_is_fed(config: EncoderDecoder, kind: type[Scheduled | TwoPass]) -> None:
    watched, batch = Watched(config), batch_of([[3, 4, 5]] * 4, [[3, 4, 5, 6, 7]] * 4)
    drawn = kind(decay=HALF, own="sampled")
    found = []
    for seed in (1, 1, 2):
        watched.pieces.clear()
        hidden = run(watched, drawn, batch, seed).hidden
        found.append((watched.fed, hidden))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])
    assert not torch.equal(found[0][0], found[2][0])


@some_decoders
@pytest.mark.parametrize(
    "regime", [FREE, MIXED, Free(truncate=2), NONE_TRUE], ids=["free", "mixed", "truncated", "two passes"]
)
def test_judging_feeds_the_true_words(config: EncoderDecoder, regime: RegimeConfig) -> None:
    watched, batch = Watched(config), example()
    watched.model.eval()
    output = run(watched, regime, batch)
    assert torch.equal(watched.fed, batch.target.inputs.values)
    assert torch.equal(output.hidden, teacher(watched.model, batch).hidden)


def dense(gradient: torch.Tensor) -> torch.Tensor:
    return gradient.to_dense() if gradient.is_sparse else gradient


@every_decoder
def test_a_cut_gradient_leaves_the_numbers_as_they_are(config: EncoderDecoder) -> None:
    """A piece as long as the target is no cut: the same gradient to the bit; a shorter one gives another.

    Where positions are drawn, pieces draw others.
    """
    batch = batch_of([[3, 4, 5, 6], [5, 3]], [[3, 4, 7, 5], [7, 5]])
    hidden, gradients = {}, {}
    for truncate in (None, 5, 9, 2):
        watched = Watched(config, dropout=0.0)
        output = run(watched, Teacher(truncate=truncate), batch)
        build_objective(CrossEntropy())(output, watched.model.head, batch)["cross_entropy"].total.backward()
        hidden[truncate] = output.hidden.detach()
        gradients[truncate] = torch.cat([dense(part.grad).flatten() for part in model_parameters(watched)])
    draws = not torch.equal(
        run(watched, Teacher(), batch, seed=8).hidden, run(watched, Teacher(), batch, seed=9).hidden
    )
    if not draws:
        close(hidden[2], hidden[None], tolerance_of(config))
    for length in (5, 9):
        assert torch.equal(hidden[length], hidden[None])
        assert torch.equal(gradients[length], gradients[None])
    assert (gradients[2] - gradients[None]).norm() > 1e-3 * gradients[None].norm()  # more than rounding


def model_parameters(watched: Watched) -> list[Tensor]:
    return [value for value in watched.model.parameters() if value.grad is not None]


@every_decoder
def test_every_regime_reaches_every_parameter(config: EncoderDecoder) -> None:
    batch = batch_of([[3, 4, 5, 6], [5, 3]], [[3, 4, 7, 5], [7, 5, 4]])
    for regime in (FREE, Scheduled(decay=HALF, truncate=4), TWICE):
        watched = Watched(config, dropout=0.0)
        learner = Learner(watched.model, build_regime(regime), build_objective(CrossEntropy()))
        torch.stack([loss.total for loss in learner(batch, 1).values()]).sum().backward()
        assert without_gradient(watched.model) == []
