"""Regimes in a whole training: resumed to the bit, logged, estimated; auxiliary losses move and are not told."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_update import draw, step, weights
from torch import Tensor, nn

from command_line import CommandLine
from dragoman.contracts import Batch, Output
from dragoman.models import build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.recipes import compose
from dragoman.regimes import Linear, share_of_truth
from dragoman.training.events import Estimated, Stepped
from dragoman.training.learner import Learner
from tiny import Corpus, bits, metrics, of_kind, run_all, run_until, state, tiny, words

DECAY = {"kind": "linear", "updates": 12, "lowest": 0.2}
MIXED = {"kind": "scheduled", "decay": DECAY, "own": "sampled", "truncate": 3}
TWICE = {"kind": "two_pass", "decay": DECAY, "own": "sampled"}
SHORT = {"training__steps": 12, "training__save_every": 4, "training__validate_every": 8, "training__accumulate": 2}


LESS_OFTEN = [(MIXED, "g2p", 4), (MIXED, "vaswani2017", 7), (TWICE, "g2p", 7), (TWICE, "vaswani2017", 4)]


@pytest.mark.parametrize(
    ("regime", "recipe", "at"),
    [
        (MIXED, "g2p", 7),
        (MIXED, "vaswani2017", 4),
        (TWICE, "g2p", 4),
        (TWICE, "vaswani2017", 7),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in LESS_OFTEN),
    ],
)
def test_a_schedule_resumes_in_its_middle(
    corpus: Corpus, tmp_path: Path, regime: dict[str, Any], recipe: str, at: int
) -> None:
    """Micro-batches, sampled words, truncation, noise and dropout together."""
    noise = {"model__target__noise": 0.1, "model__source__noise": 0.1}
    settings = tiny(corpus, recipe=recipe, regime=regime, **noise, **SHORT)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run_all(settings, whole)
    run_until(settings, broken, lambda event: isinstance(event, Stepped) and event.step == at)
    run_all(settings, broken)
    assert bits(broken, 12) == bits(whole, 12)
    assert state(broken, 12) == state(whole, 12)
    assert metrics(broken) == metrics(whole)


def test_the_share_of_true_words_is_logged(corpus: Corpus, out: Path) -> None:
    events = run_all(tiny(corpus, regime=MIXED, training__log_every=3, **SHORT), out)
    decay = Linear(updates=12, lowest=0.2)
    assert [event.truth for event in of_kind(events, Stepped)] == [share_of_truth(decay, i) for i in range(1, 13)]
    logged = {record["step"]: record["truth"] for record in metrics(out) if "truth" in record}
    assert logged == {i: share_of_truth(decay, i) for i in (3, 6, 9, 12)}


def test_a_teacher_has_nothing_to_log(corpus: Corpus, out: Path) -> None:
    run_all(tiny(corpus, training__steps=4), out)
    assert not any("truth" in record for record in metrics(out))


def test_another_regime_is_refused_on_resume(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    run_all(tiny(corpus, training__steps=4), out)
    done = dragoman(*words(corpus, out, regime__kind="free", training__steps=8))
    assert done.code == 2
    assert "regime.kind: teacher → free" in done.err


def test_the_estimate_tries_what_is_going_to_be_fed(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trial of the speed and the estimate try batches as in updates on the way, and the estimate the longest as in
    the last update, where most words are the model's own."""
    tried: list[int] = []
    forward = Learner.forward

    def watched(self: Learner, batch: Batch, step: int) -> Any:
        tried.append(step)
        return forward(self, batch, step)

    monkeypatch.setattr(Learner, "forward", watched)
    run_until(tiny(corpus, regime=MIXED, training__steps=40), out, lambda event: isinstance(event, Estimated))
    assert tried == [25, 5, 15, 25, 35, 40, 5, 15, 25, 35]


class Drawn(nn.Module):
    """The regime's output with positions drawn from a small layer, as a hard attention would leave them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.of_hidden = nn.Linear(model.decoder.width, 2, dtype=torch.float64)

    def truth(self, update: int) -> float:
        return 1.0

    def __call__(self, model: nn.Module, batch: Batch, update: int) -> Output:
        output = Output(model.decode(batch.target.inputs.values, model.start(model.encode(batch)))[0].hidden)
        chosen, foreseen = self.of_hidden(output.hidden.detach()).unbind(-1)
        logs = torch.nn.functional.logsigmoid(chosen)
        names = ("attention.log_probability", "attention.entropy", "attention.baseline")
        return replace(output, extras=dict(zip(names, (logs, -logs, foreseen), strict=True)))


@pytest.mark.parametrize("cut", [None, 3])
def test_auxiliary_losses_move_weights_and_are_not_told(cut: int | None) -> None:
    lengths = [1, 5, 2, 4, 3, 3, 1]
    torch.manual_seed(5)
    model = build_model(compose("g2p", "tiny").settings.model, 7, 8).double()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    learner = Learner(model, Drawn(model), build_objective(CrossEntropy()))
    before, start = weights(learner.regime), learner.state_dict()
    start = {name: value.clone() for name, value in start.items()}
    told = step(learner, [draw(lengths)])
    moved = weights(learner.regime)
    assert not torch.equal(before, moved)
    assert set(told.others) == {"reinforce", "baseline"}
    learner.load_state_dict(start)
    learner.objective = Alone(learner.objective)
    plain = step(learner, [draw(lengths)])
    assert (plain.loss, plain.others) == (told.loss, {})
    if cut is not None:
        learner.load_state_dict(start)
        learner.objective = learner.objective.whole
        parts = step(learner, [draw(lengths, *range(cut)), draw(lengths, *range(cut, 7))])
        torch.testing.assert_close(weights(learner.regime), moved, rtol=0, atol=1e-10)
        assert parts.loss == pytest.approx(told.loss)
        assert parts.others == pytest.approx(told.others)


class Alone:
    """An objective without its auxiliary losses."""

    def __init__(self, whole: Any) -> None:
        self.whole, self.count = whole, whole.count

    def __call__(self, output: Output, head: Any, batch: Batch) -> dict[str, Tensor]:
        losses = self.whole(output, head, batch)
        return {name: loss for name, loss in losses.items() if not loss.auxiliary}
