"""The spike detector: quick, and quiet where nothing happens."""

import random
from pathlib import Path

import pytest

from dragoman.contracts import Batch, Loss
from dragoman.training import fit, spikes
from dragoman.training.events import Spiked, Stepped, Warned
from dragoman.training.learner import Learner
from dragoman.training.spikes import Spikes
from tiny import Corpus, bits, of_kind, run_all, run_until, state, tiny


def clean_log(seed: int, steps: int) -> list[float]:
    """A loss that falls like a power of the step; batches of short and long examples, now and then an odd one."""
    chance = random.Random(seed)
    floor, height, noise = chance.uniform(0.3, 3), chance.uniform(1, 6), chance.uniform(0.02, 0.12)
    by_length = [chance.gauss(0, 0.1) for _ in range(12)]  # batches hold examples of one length
    log = []
    for step in range(1, steps + 1):
        level = floor + height / (1 + step / chance.uniform(50, 60)) ** 0.7
        odd = chance.expovariate(3) if chance.random() < 0.01 else 0.0
        log.append(level * max(0.1, 1 + chance.gauss(0, noise) + chance.choice(by_length) + odd))
    return log


def test_false_alarms_are_rare() -> None:
    """At most one in 10,000 updates of 20 clean logs."""
    alarms = 0
    for seed in range(20):
        watch = Spikes()
        alarms += sum(watch.see(loss) for loss in clean_log(seed, 10_000))
    assert alarms <= 20


@pytest.mark.parametrize("seed", range(20))
def test_a_spike_is_seen_within_ten_updates(seed: int) -> None:
    """Ten standard deviations of the last thousand losses, at a moment when all was quiet."""
    log = clean_log(seed, 10_000)
    at = random.Random(seed + 100).randint(3_000, 9_000)
    recent = log[at - 1000 : at]
    mean = sum(recent) / 1000
    deviation = (sum((loss - mean) ** 2 for loss in recent) / 1000) ** 0.5
    watch = Spikes()
    assert sum(watch.see(loss) for loss in log[:at]) <= 1
    watch.seen = max(watch.seen, spikes.FIRST)
    assert any(watch.see(loss + 10 * deviation) for loss in log[at : at + 10])


QUIET = {"training__optimiser__rate": 1e-4}  # so that the loss hardly falls, as late in a training


def leaping(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Losses are four times as large from a step on, until the weights go back."""
    now = 0
    real, forward = fit.update, Learner.forward

    def counted(learner: Learner, *arguments, **named):
        nonlocal now
        now = named["step"]
        return real(learner, *arguments, **named)

    def higher(self: Learner, batch: Batch, step: int) -> dict[str, Loss]:
        factor = 4.0 if at <= now < at + 6 else 1.0
        return {name: Loss(loss.total * factor, loss.count) for name, loss in forward(self, batch, step).items()}

    monkeypatch.setattr(fit, "update", counted)
    monkeypatch.setattr(Learner, "forward", higher)
    monkeypatch.setattr(spikes, "FIRST", 10)


def test_a_spike_is_told_and_nothing_else_changes(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaping(monkeypatch, 15)
    events = run_all(tiny(corpus, **QUIET), out)
    [spiked] = of_kind(events, Spiked)
    assert 15 <= spiked.step <= 20
    assert spiked.action == "warn"
    assert of_kind(events, Warned) == []


def test_a_spike_goes_back_if_wanted_and_a_crash_changes_nothing(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaping(monkeypatch, 16)
    settings = tiny(corpus, training__on_spike="rollback", training__steps=24, training__keep=1, **QUIET)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    events = run_all(settings, whole)
    step = of_kind(events, Spiked)[0].step
    [warned] = of_kind(events, Warned)
    assert step < 20
    assert warned.message == f"Step {step}: back to the weights of step 10; the data goes on."  # 15 is too near
    assert state(whole, 24)["rollbacks"] == 1
    run_until(settings, broken, lambda event: isinstance(event, Stepped) and event.step == step + 1)
    run_all(settings, broken)
    assert bits(broken, 24) == bits(whole, 24)
    assert state(broken, 24) == state(whole, 24)
