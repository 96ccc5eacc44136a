"""Regimes with numbers done by hand; what holds for every decoder is in the laws."""

import math

import pytest
import torch
from torch import Tensor, nn

from dragoman.config import validate
from dragoman.contracts import Batch, Head, Memory, Output, Padded, State, Target
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.models import EncoderDecoder, build_model
from dragoman.regimes import (
    Exponential,
    Free,
    InverseSigmoid,
    Linear,
    Scheduled,
    Teacher,
    TwoPass,
    build_regime,
    choose_words,
    feed,
    feed_twice,
    joined,
    share_of_truth,
    sigmoid_constant,
    teacher,
)


def test_teacher_needs_a_target() -> None:
    source = Padded(torch.tensor([[3, 4]]), torch.tensor([[True, True]]))
    for regime in (Teacher(), Free()):
        with pytest.raises(DataError, match="no target"):
            build_regime(regime)(build_model(EncoderDecoder(), 5, 6), Batch((0,), {"source": source}), 1)


def test_a_line_falls_to_its_lowest_share() -> None:
    """k = 0.9, c = (0.9 − 0.1) / 8 = 0.1"""
    shares = [share_of_truth(Linear(start=0.9, lowest=0.1, updates=8), i) for i in (0, 1, 4, 8, 9, 10**9)]
    assert shares == pytest.approx([0.9, 0.8, 0.5, 0.1, 0.1, 0.1])


def test_a_power_halves_again_and_again() -> None:
    """k = 2^(−1/3), so that k³ is a half."""
    k = 0.5 ** (1 / 3)
    shares = [share_of_truth(Exponential(half=3), i) for i in (0, 1, 2, 3, 6, 10**9)]
    assert shares == pytest.approx([1, k, k**2, 0.5, 0.25, 0])


@pytest.mark.parametrize("half", [1, 2, 100, 5000, 10**9])
def test_an_inverse_sigmoid_is_a_half_where_it_was_asked(half: int) -> None:
    k, config = sigmoid_constant(half), InverseSigmoid(half=half)
    assert k * math.log(k) == pytest.approx(half)
    assert share_of_truth(config, half) == pytest.approx(0.5)
    for i in (0, half // 3, 2 * half):
        assert share_of_truth(config, i) == pytest.approx(k / (k + math.exp(i / k)))
    assert share_of_truth(config, 10**9 * half) == 0.0  # where exp(i/k) is no number any more


def test_what_a_regime_says_of_itself() -> None:
    regime = build_regime(Scheduled(decay=Exponential(half=10)))
    assert [build_regime(Teacher()).truth(9), build_regime(Free()).truth(9)] == [1.0, 0.0]
    assert [regime.truth(10), regime.truth(20)] == pytest.approx([0.5, 0.25])
    twice = build_regime(TwoPass(decay=Exponential(half=10)))
    assert [twice.truth(10), twice.truth(20)] == pytest.approx([0.5, 0.25])


def test_a_schedule_that_rises_is_refused() -> None:
    table = {"regime": {"kind": "scheduled", "decay": {"kind": "linear", "start": 0.2, "lowest": 0.5}}}
    with pytest.raises(ConfigError, match=r"regime.decay: the share of true words falls, so lowest \(0.5\) cannot be"):
        validate(Experiment, table)


def test_a_misspelt_regime_is_told() -> None:
    with pytest.raises(ConfigError, match=r"No regime is called 'scheduld'. Did you mean 'scheduled'\?"):
        validate(Experiment, {"regime": {"kind": "scheduld"}})


def test_two_passes_cannot_be_cut() -> None:
    with pytest.raises(ConfigError, match=r"regime.truncate belongs to regime.kind = free or scheduled or teacher"):
        validate(Experiment, {"regime": {"kind": "two_pass", "truncate": 4}})


class Fixed:
    """A head that always gives these probabilities."""

    def __init__(self, *probabilities: float) -> None:
        self.logs = torch.tensor(probabilities).log()

    def log_probabilities(self, output: Output) -> Tensor:
        return self.logs.expand(*output.hidden.shape[:2], -1)


def test_own_words_are_drawn_from_the_distribution() -> None:
    """Padding (0) and START (1) are never written, so that 2, 3 and 4 have 1/8, 3/8 and 4/8."""
    head: Head = Fixed(0.1, 0.1, 0.1, 0.3, 0.4)
    rows = 4000
    output, start = Output(torch.zeros(rows, 1, 3)), torch.ones(rows, dtype=torch.long)
    drawn = choose_words(head, output, start, "sampled").bincount(minlength=5) / rows
    torch.testing.assert_close(drawn, torch.tensor([0, 0, 1 / 8, 3 / 8, 4 / 8]), atol=0.03, rtol=0)
    assert choose_words(head, output, start, "best").eq(4).all()
    assert choose_words(Fixed(0.5, 0.3, 0.1, 0.05, 0.05), output, start, "best").eq(2).all()


def test_numbers_that_are_not_finite_do_not_break_the_choice() -> None:
    """The update is then left out, by whoever looks at the loss."""
    broken: Head = Fixed(*[math.nan] * 5)
    words = choose_words(broken, Output(torch.zeros(2, 1, 3)), torch.ones(2, dtype=torch.long), "sampled")
    assert ((words >= 0) & (words < 5)).all()


def test_pieces_are_joined_key_by_key() -> None:
    def piece(steps: int, value: float) -> Output:
        extras = {"gate": torch.full((2, steps), value), "window": torch.full((2, steps, 3), value)}
        return Output(torch.full((2, steps, 4), value), {"source": torch.full((2, 1, steps, 5), value)}, extras)

    whole = joined([piece(1, 1.0), piece(2, 2.0)])
    assert whole.hidden[0, :, 0].tolist() == [1, 2, 2]
    assert whole.attention["source"][0, 0, :, 0].tolist() == [1, 2, 2]
    assert whole.extras["gate"][0].tolist() == [1, 2, 2]
    assert whole.extras["window"].shape == (2, 3, 3)


class Pencil(nn.Module):
    """h_t = w h_{t−1} + m + x_t with h_0 = m, the memory: small enough to differentiate by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.m = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.tensor(2.0))
        self.head = Fixed(0.1, 0.1, 0.1, 0.3, 0.4)
        self.calls = 0

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        return Memory(1, {})

    def start(self, memory: Memory) -> State:
        return State({"h": self.m.view(1, 1)}, {"m": self.m.view(1, 1)})

    def decode(self, inputs: Tensor, state: State, attention: bool = False) -> tuple[Output, State]:
        self.calls += 1
        hidden, h = [], state.moving["h"]
        for word in inputs.unbind(1):
            h = self.w * h + state.fixed["m"] + word[:, None]
            hidden.append(h)
        return Output(torch.stack(hidden, 1)), State({"h": h}, state.fixed)


INPUTS = Padded(torch.tensor([[1, 2, 3]]), torch.ones(1, 3, dtype=torch.bool))
PAIR = Batch((0,), {}, Target(INPUTS, INPUTS, torch.arange(3)))


def test_a_truncated_gradient_by_hand() -> None:
    """h = 4, 6, 8 with x = 1, 2, 3; the loss is h_3, and the gradient is cut after the second step.

    Whole: ∂h_3/∂w = h_2 + w (h_1 + w (h_0)) = 6 + 0.5 · (4 + 0.5 · 2) = 8.5; cut: h_2 alone, 6.
    ∂h_3/∂m = 1 + w (1 + w (1 + w)) = 1.875 with h_0 = m; cut: 1, for m as it is looked at in the third step.
    """
    for truncate, by_w, by_m in ((None, 8.5, 1.875), (3, 8.5, 1.875), (2, 6.0, 1.0)):
        model = Pencil()
        output = build_regime(Teacher(truncate=truncate))(model, PAIR, 1)
        assert output.hidden.flatten().tolist() == [4, 6, 8]
        output.hidden[0, 2, 0].backward()
        assert (model.w.grad.item(), model.m.grad.item()) == (by_w, by_m)


def test_a_state_is_detached_where_it_moves_only() -> None:
    model = Pencil()
    _, state = model.decode(INPUTS.values, model.start(Memory(1, {})))
    cut = state.detach()
    assert not cut.moving["h"].requires_grad
    assert torch.equal(cut.moving["h"], state.moving["h"])
    assert cut.fixed["m"].requires_grad


def test_steps_without_an_own_word_are_run_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the third of three words is the model's own: two runs, and one look at the head."""
    places = torch.tensor([[False, False, True]])
    monkeypatch.setattr("dragoman.regimes.own_places", lambda mask, truth: places)
    looks = []
    model = Pencil()
    give = model.head.log_probabilities
    model.head.log_probabilities = lambda output: looks.append(output.hidden.shape[:2]) or give(output)
    output = feed(model, PAIR, 0.5)
    assert (model.calls, looks) == (2, [(1, 1)])
    assert output.hidden.flatten().tolist() == [4, 6, 9]  # 0.5 · 6 + 2 + 4, the most probable word


def test_no_gradient_runs_through_the_choice() -> None:
    model = Pencil()
    output = feed(model, PAIR, 0.0)
    assert output.hidden.flatten().tolist() == [4, 8, 10]
    output.hidden[0, 2, 0].backward()
    assert model.w.grad.item() == 8 + 0.5 * (4 + 0.5 * 2)
    assert teacher(model, PAIR).hidden.flatten().tolist() == [4, 6, 8]


class Echo(nn.Module):
    """Writes, after each word x that it is fed, the word x + 1; what it is fed is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.fed: list[list[list[int]]] = []
        self.encoded = 0

    @property
    def head(self) -> Head:
        return self

    def encode(self, batch: Batch, attention: bool = False) -> Memory:
        self.encoded += 1
        return Memory(2, {})

    def start(self, memory: Memory) -> State:
        return State({})

    def decode(self, inputs: Tensor, state: State, attention: bool = False) -> tuple[Output, State]:
        self.fed.append(inputs.tolist())
        return Output(inputs[:, :, None].float()), state

    def log_probabilities(self, output: Output) -> Tensor:
        return nn.functional.one_hot(output.hidden[:, :, 0].long() + 1, 10).float().log()


def two_targets() -> Batch:
    """START is 1 and END is 2: 5 3 8 and 6, as they are fed."""
    inputs = torch.tensor([[1, 5, 3, 8], [1, 6, 0, 0]])
    outputs = torch.tensor([[5, 3, 8, 2], [6, 2, 0, 0]])
    real = torch.tensor([0, 1, 2, 3, 4, 5])
    return Batch((0, 1), {}, Target(Padded(inputs, inputs != 0), Padded(outputs, outputs != 0), real))


def test_the_second_pass_is_fed_what_the_first_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 1 it writes 2, END, which is fed on; after 5 a 6 and after 3 a 4. The first pass saw true words alone: a
    loop of steps would have fed 1 2 3 4, each word after its own."""
    model, batch = Echo(), two_targets()
    output = feed_twice(model, batch, 0.0)
    assert model.fed == [batch.truth().inputs.values.tolist(), [[1, 2, 6, 4], [1, 2, 0, 0]]]
    assert output.hidden[:, :, 0].tolist() == [[1, 2, 6, 4], [1, 2, 0, 0]]
    assert model.encoded == 1
    places = torch.tensor([[False, False, True, False], [False, False, False, False]])
    monkeypatch.setattr("dragoman.regimes.own_places", lambda mask, truth: places)
    feed_twice(model, batch, 0.5)
    assert model.fed[-1] == [[1, 5, 6, 8], [1, 6, 0, 0]]


def test_a_first_pass_that_nobody_needs_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    model, batch = Echo(), two_targets()
    feed_twice(model, batch, 1.0)
    monkeypatch.setattr("dragoman.regimes.own_places", lambda mask, truth: torch.zeros_like(mask))
    feed_twice(model, batch, 0.9)
    assert model.fed == [batch.truth().inputs.values.tolist()] * 2


def test_no_gradient_runs_through_the_first_pass() -> None:
    """Words 4 and 4 are the model's own: h = 4, 8, 10, as in a loop of steps, with the same gradient by w."""
    model = Pencil()
    output = feed_twice(model, PAIR, 0.0)
    assert (model.calls, output.hidden.flatten().tolist()) == (2, [4, 8, 10])
    output.hidden[0, 2, 0].backward()
    assert model.w.grad.item() == 8 + 0.5 * (4 + 0.5 * 2)
