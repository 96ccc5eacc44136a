"""Numbers that are not finite: where they come from, what becomes of a run that goes back, and what is huge."""

import math
import signal
from pathlib import Path

import numpy as np
import pytest
import torch
from test_update import CPU, LENGTHS, broken_at, chunk, draw, learner, weights
from torch import Tensor, nn

from dragoman.contracts import Batch, Loss
from dragoman.data.tokenizers import UNKNOWN
from dragoman.errors import NumericalError
from dragoman.models import build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.recipes import compose
from dragoman.regimes import Teacher, build_regime
from dragoman.training import fit
from dragoman.training.diagnosis import Diagnosis, diagnose
from dragoman.training.events import Saved, Skipped, Stepped, Warned
from dragoman.training.learner import Learner
from dragoman.training.update import Draw, update
from tiny import Corpus, bits, of_kind, run_all, run_until, state, tiny


class Poison(torch.autograd.Function):
    """Passes numbers on, and a gradient that is not one."""

    @staticmethod
    def forward(context: object, values: Tensor) -> Tensor:
        return values.clone()

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:
        return gradient * math.nan


def diagnosed(module: Learner, *draws: Draw) -> Diagnosis:
    return diagnose(module, draws or [draw(LENGTHS)], 1, 1, 1, CPU)


def test_a_parameter_is_named() -> None:
    module = learner()
    module.model.decoder.cells[0].of_hidden.weight.data[2, 1] = math.nan
    assert diagnosed(module).part == "the parameter model.decoder.cells.0.of_hidden.weight"


@pytest.mark.parametrize("name", ["source", "target", "encoder", "decoder.readout"])
def test_what_overflows_forwards_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoder's states are finite, and its final cells, one of several tensors of its memory, are not."""
    module = learner()
    if name == "encoder":
        monkeypatch.setattr("dragoman.nn.recurrent.layers.torch.lstm", broken_lstm)
    else:
        module.model.get_submodule(name).register_forward_hook(lambda part, inputs, output: output / 0.0)
    assert diagnosed(module).part == f"model.{name}"


@pytest.mark.parametrize("name", ["target", "decoder.layers.1.feed_forward", "head.output"])
def test_masks_of_a_transformer_are_no_fault(name: str) -> None:
    """What stands behind the masks of padding and of the future is still named."""
    torch.manual_seed(5)
    model = build_model(compose("vaswani2017", "tiny", overrides=["model.tie=none"]).settings.model, 7, 8)
    module = Learner(model, build_regime(Teacher()), build_objective(CrossEntropy()))
    if name == "head.output":
        model.head.output.bias.data[3] = math.inf
        assert diagnosed(module).part == "the parameter model.head.output.bias"
        return
    model.get_submodule(name).register_forward_hook(lambda part, inputs, output: output / 0.0)
    assert diagnosed(module).part == f"model.{name}"


def test_a_part_that_is_not_entered_by_forward_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    module = learner()
    cell = module.model.decoder.cells[0]
    monkeypatch.setattr(cell, "opened", lambda gates, before: opened(cell, gates, before))
    assert diagnosed(module).part == "model.decoder.cells.0"


def opened(cell: nn.Module, gates: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    self = cell  # noqa: F841 (a method of the cell, as far as the frames tell)
    return before[0], torch.log(before[1] - 1e9)


real_lstm = torch.lstm


def broken_lstm(*arguments: object) -> tuple[Tensor, Tensor, Tensor]:
    states, hidden, cell = real_lstm(*arguments)
    return states, hidden, cell / 0.0


@pytest.mark.parametrize("name", ["source", "target", "decoder.readout", "decoder.bridge"])
def test_what_breaks_backwards_only_is_named(name: str) -> None:
    module = learner()
    module.model.get_submodule(name).register_forward_hook(lambda part, inputs, output: Poison.apply(output) + 0.0)
    found = diagnosed(module)
    assert "gradient of model" in found.part
    assert all(value.grad is None for value in module.parameters())  # the trial leaves no trace


def test_the_guilty_line_is_named() -> None:
    """One symbol has an embedding that overflows; line 13 alone holds it."""
    module = learner()
    some = chunk(LENGTHS)
    some.source[some.source_offsets[2]] = UNKNOWN
    embedding = next(module.model.source.parameters())
    embedding.data[UNKNOWN] = 1e200
    module.model.source.register_forward_hook(lambda part, inputs, vectors: vectors * vectors)
    found = diagnosed(module, Draw(some, np.arange(7)))
    assert found == Diagnosis("model.source", 13, tuple(range(11, 18)))


def test_the_sentence_names_part_file_and_line(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_a_bad_part(*arguments):
        model = build_model(*arguments)
        model.target.register_forward_hook(lambda module, inputs, vectors: vectors * math.nan)
        return model

    monkeypatch.setattr("dragoman.experiment.training.build_model", with_a_bad_part)
    with pytest.raises(NumericalError, match=rf"first seen in model\.target, with {corpus.train}:\d+\)"):
        run_all(tiny(corpus), out)


def stepped(step: int):
    return lambda event: isinstance(event, (Stepped, Skipped)) and event.step == step


@pytest.mark.parametrize("stop", [stepped(7), lambda event: event == Saved(7), stepped(9)], ids=["7", "saved", "9"])
def test_a_rollback_repeats_after_a_crash(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop
) -> None:
    broken_at(monkeypatch, {5, 6, 7})
    settings = tiny(corpus, training__steps=12, training__save_every=4, training__validate_every=99)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    events = run_all(settings, whole)
    assert Saved(7) in events  # what came of going back is on the disk at once
    assert bits(whole, 12) != bits(whole, 7)
    run_until(settings, broken, stop)
    run_all(settings, broken)
    assert bits(broken, 12) == bits(whole, 12)
    assert state(broken, 12) == state(whole, 12)


def test_a_signal_does_not_decide_where_a_rollback_goes(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saves of steps 5 and 6 that came out of turn are newer than step 0, to which the undisturbed run goes back."""
    broken_at(monkeypatch, {7, 8, 9})
    settings = tiny(corpus, training__steps=12, training__save_every=99, training__validate_every=99, training__keep=1)
    run_all(settings, tmp_path / "whole")
    for step in (5, 6):
        training = fit_until_signal(settings, tmp_path / "broken", step)
        assert Saved(step) in training
    events = run_all(settings, tmp_path / "broken")
    assert "back to the weights of step 0" in of_kind(events, Warned)[0].message
    assert bits(tmp_path / "broken", 12) == bits(tmp_path / "whole", 12)


def fit_until_signal(settings, out: Path, step: int) -> list[object]:
    from dragoman.experiment import train

    events = []
    for event in train(settings, out):
        events.append(event)
        if isinstance(event, Stepped) and event.step == step:
            signal.raise_signal(signal.SIGTERM)
    return events


def test_old_rollbacks_are_forgiven(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of them, with four finite updates between each two: three would be the end otherwise."""
    monkeypatch.setattr(fit, "FORGIVEN", 4)
    broken_at(monkeypatch, {2, 3, 4, 9, 10, 11, 16, 17, 18, 23, 24, 25})
    events = run_all(tiny(corpus, training__steps=26, training__validate_every=99), out)
    assert len([event for event in of_kind(events, Warned) if "back to" in event.message]) == 4
    assert state(out, 26)["rollbacks"] == 1


def test_weights_that_overflow_are_not_saved(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A finite gradient times a huge rate: noticed before the save, and gone back on."""
    real = fit.update

    def overflowing(learner: Learner, *arguments, **named):
        result = real(learner, *arguments, **named)
        if named["step"] == 5:
            next(learner.parameters()).data.fill_(math.inf)
        return result

    monkeypatch.setattr(fit, "update", overflowing)
    events = run_all(tiny(corpus, training__steps=6), out)
    messages = [event.message for event in of_kind(events, Warned)]
    assert messages[0].startswith("Step 5: 'source.")
    assert messages[1] == "Step 5: back to the weights of step 0; the data goes on."
    assert bits(out, 5) != bits(out, 6)


def test_a_huge_loss_moves_the_weights_no_further_than_the_clip() -> None:
    module = learner()
    forward = module.forward
    module.forward = lambda *given: {
        name: Loss(loss.total * 1e30, loss.count) for name, loss in forward(*given).items()
    }
    before = weights(module)
    optimiser = torch.optim.SGD(module.parameters(), 1.0)
    result = update(module, optimiser, [draw(LENGTHS)], seed=1, step=1, clip=0.5, parts=1, device=CPU)
    assert result.finite
    assert result.gradient_norm > 1e20
    assert float((weights(module) - before).norm()) <= 0.5 + 1e-9


@pytest.mark.parametrize("per", ["token", "sentence"])
def test_gradients_of_the_whole_training_step_are_those_of_differences(per: str) -> None:
    """Every layer, frontends and head included, and the smoothed loss on top."""
    torch.manual_seed(3)
    own = {f"model.{name}": 3 for name in ("source.width", "target.width", "encoder.width", "decoder.width")}
    own |= {"model.decoder.readout_width": 3, "model.decoder.attention.width": 3}
    model = build_model(compose("g2p", "tiny", settings=own).settings.model, 7, 8)
    module = Learner(model, build_regime(Teacher()), build_objective(CrossEntropy(smoothing=0.1, per=per))).double()
    [batch] = draw([1, 3, 2]).batches(1)

    def loss(*parameters: Tensor) -> Tensor:
        return torch.stack([loss.total / loss.count for loss in module.eval()(batch, 1).values()]).sum()

    assert isinstance(batch, Batch)
    assert torch.autograd.gradcheck(loss, tuple(module.parameters()), rtol=1e-6, atol=1e-8, fast_mode=True)
