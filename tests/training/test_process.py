"""What happens around a training: memory that ends, clocks that jump, signals at any moment."""

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from test_kill import wait_for_a_new_save
from test_update import CPU, LENGTHS, chunk, cramped, draw, learner, weights

from command_line import CommandLine
from dragoman.errors import OutOfMemoryError
from dragoman.evaluation import validation
from dragoman.training.events import Stepped, Validated
from dragoman.training.optimisers import Adam, build_optimiser
from dragoman.training.update import Draw, update
from tiny import Corpus, bits, metrics, of_kind, run_all, tiny, words

STEPS_A_SIGNAL = 60


def failing(optimiser: torch.optim.Optimizer, times: int) -> None:
    """Memory ends in the step, when half of the weights have moved and one moment is there."""
    real, failures = optimiser.step, iter(range(times))

    def step() -> None:
        if next(failures, None) is None:
            real()
            return
        first = optimiser.param_groups[0]["params"][0]
        first.data.add_(1.0)
        optimiser.state[first] = {"step": torch.tensor(0.0)}
        raise torch.OutOfMemoryError("no room for moments")

    optimiser.step = step


def adam_step(times: int) -> torch.Tensor:
    module = learner()
    optimiser = build_optimiser(Adam(), module.parameters())
    failing(optimiser, times)
    for step in (1, 2):
        update(module, optimiser, [draw(LENGTHS)], seed=1, step=step, clip=1.0, parts=1, device=CPU)
    return weights(module)


def test_memory_that_ends_in_the_first_step_leaves_no_half_step() -> None:
    assert torch.equal(adam_step(times=1), adam_step(times=0))


def test_memory_that_stays_too_small_for_moments_ends_the_training() -> None:
    with pytest.raises(OutOfMemoryError, match="Memory ended in the optimiser's step") as raised:
        adam_step(times=2)
    assert "run the same command to go on" in str(raised.value)


def test_the_longest_of_all_draws_is_named() -> None:
    """Two draws an update: the longest example is in the smaller one."""
    some = chunk([2, 2, 2, 9])
    module = cramped(0)
    optimiser = torch.optim.SGD(module.parameters(), 1.0)
    draws = [Draw(some, np.array([0, 1, 2])), Draw(some, np.array([3]))]
    with pytest.raises(OutOfMemoryError, match="line 14 of the training data, with 19 tokens"):
        update(module, optimiser, draws, seed=1, step=1, clip=1.0, parts=1, device=CPU)


@pytest.mark.parametrize("monitor", ["loss", "exact_match"])
def test_a_validation_that_does_not_fit_is_cut(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, monitor: str
) -> None:
    settings = tiny(corpus, training__steps=4, training__validate_every=2, training__monitor=monitor)
    whole = run_all(settings, tmp_path / "whole")
    real, sizes = validation.collate, []

    def cramped_collate(chunk, indices):
        sizes.append(len(indices))
        if len(indices) > 6:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return real(chunk, indices)

    monkeypatch.setattr(validation, "collate", cramped_collate)
    cut = run_all(settings, tmp_path / "cut")
    assert max(sizes) > 6
    for one, other in zip(of_kind(whole, Validated), of_kind(cut, Validated), strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-5)
    assert bits(tmp_path / "cut", 4) == bits(tmp_path / "whole", 4)


def test_a_clock_that_jumps_changes_nothing(corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(tiny(corpus), tmp_path / "whole")
    real, ticks = time.monotonic, iter(range(10**9))
    monkeypatch.setattr(time, "monotonic", lambda: real() - 3600 * (next(ticks) // 10))
    monkeypatch.setattr(time, "time", lambda: -5.0)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    try:
        steps = of_kind(run_all(tiny(corpus), tmp_path / "jumping"), Stepped)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert bits(tmp_path / "jumping", 20) == bits(tmp_path / "whole", 20)
    assert metrics(tmp_path / "jumping") == metrics(tmp_path / "whole")
    seconds = [event.seconds for event in steps]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0
    assert all(event.seconds_left >= 0 and event.tokens_per_second >= 0 for event in steps)


@pytest.mark.parametrize("signals", [7, pytest.param(200, marks=pytest.mark.slow)])
def test_signals_at_random_moments(corpus: Corpus, tmp_path: Path, dragoman: CommandLine, signals: int) -> None:
    """SIGTERM and SIGINT in turn, at the start, in a save, in a validation; now and then SIGUSR1 before, or twice."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    steps = STEPS_A_SIGNAL * signals
    own = {"training__save_every": 20, "training__validate_every": 30, "training__log_every": 10}
    settings = {**own, "training__steps": steps, "training__monitor": "exact_match", "training__validate_lines": 10}
    assert dragoman(*words(corpus, whole, **settings)).code == 0
    moments = random.Random(11)
    ended = 0
    for turn in range(signals):
        number = (signal.SIGTERM, signal.SIGTERM, signal.SIGINT, signal.SIGINT)[turn % 4]
        process = dragoman.start(*words(corpus, broken, **settings))
        if turn % 2:
            wait_for_a_new_save(broken / "checkpoints")
        time.sleep(moments.uniform(0.02, 0.1 if turn % 2 else 0.5))
        if turn % 6 == 5:
            os.kill(process, signal.SIGUSR1)
        os.kill(process, number)
        if turn % 7 == 6:
            os.kill(process, number)
        done = dragoman.wait()
        assert done.code in (128 + number, -number), done.err
        assert "Traceback" not in done.err
        ended += "Run the same command to go on." in done.err
    assert ended > signals / 3
    assert dragoman(*words(corpus, broken, **settings)).code == 0
    assert bits(broken, steps) == bits(whole, steps)
    assert metrics(broken) == metrics(whole)


def test_the_log_does_not_shift_the_training(corpus: Corpus, tmp_path: Path) -> None:
    run_all(tiny(corpus, training__log_every=1, training__save_every=3), tmp_path / "loud")
    run_all(tiny(corpus, training__log_every=99), tmp_path / "quiet")
    assert bits(tmp_path / "loud", 20) == bits(tmp_path / "quiet", 20)
