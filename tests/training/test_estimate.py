"""The estimate before training: about right, and without a trace."""

import time
from mmap import mmap
from pathlib import Path

import pytest
import torch

from command_line import CommandLine
from dragoman.cli.progress import line_of
from dragoman.devices import PeakMemory
from dragoman.errors import OutOfMemoryError
from dragoman.models import build_model
from dragoman.training.events import Estimated, Event, Resumed, Stepped, Warned
from tiny import Corpus, bits, of_kind, run_all, run_until, state, tiny, words


def test_the_training_is_the_same_with_and_without(corpus: Corpus, tmp_path: Path) -> None:
    with_it, without = tmp_path / "with", tmp_path / "without"
    assert len(of_kind(run_all(tiny(corpus), with_it), Estimated)) == 1
    assert of_kind(run_all(tiny(corpus, training__estimate=False), without), Estimated) == []
    assert bits(with_it, 20) == bits(without, 20)
    assert state(with_it, 20) == state(without, 20)


def test_counts_are_those_of_the_training(corpus: Corpus, out: Path) -> None:
    """600 pairs in batches of 50, two an update: 6 updates an epoch."""
    settings = tiny(corpus, training__steps=None, training__epochs=3, training__accumulate=2, training__average=0.5)
    events = run_all(settings, out)
    [estimated] = of_kind(events, Estimated)
    assert (estimated.updates_per_epoch, estimated.updates, estimated.epochs) == (6, 18, 3)
    assert len(of_kind(events, Stepped)) == 18
    files = (out / "checkpoints/step-18").glob("*.safetensors")
    assert estimated.checkpoint_bytes == pytest.approx(sum(file.stat().st_size for file in files), rel=0.1)
    assert estimated.checkpoints == 4
    assert estimated.memory_bytes > 20_000_000
    assert estimated.parts == 1


def test_weights_count(corpus: Corpus, out: Path) -> None:
    """Each of the 600 pairs twice an epoch."""
    [estimated] = of_kind(run_until(tiny(corpus, data__weights=[2.0]), out, is_estimated), Estimated)
    assert estimated.updates_per_epoch == 24


def is_estimated(event: Event) -> bool:
    return isinstance(event, Estimated)


def test_minutes_become_epochs(corpus: Corpus, out: Path) -> None:
    settings = tiny(corpus, training__steps=None, training__minutes=0.01)
    [estimated] = of_kind(run_until(settings, out, is_estimated), Estimated)
    assert estimated.seconds == pytest.approx(0.6, abs=estimated.seconds / estimated.updates)
    assert estimated.epochs == pytest.approx(0.6 / estimated.seconds_per_epoch, rel=0.2)


def test_the_time_is_about_right(corpus: Corpus, out: Path) -> None:
    """On a machine that others use: within a factor of three of what the updates then took."""
    settings = tiny(corpus, training__steps=60, training__validate_every=999, training__save_every=999)
    events = run_all(settings, out)
    [estimated] = of_kind(events, Estimated)
    taken = of_kind(events, Stepped)[-1].seconds
    assert taken / 3 < estimated.seconds < taken * 3


def test_it_is_not_made_again(corpus: Corpus, out: Path) -> None:
    run_until(tiny(corpus), out, lambda event: isinstance(event, Stepped))
    events = run_all(tiny(corpus), out)
    assert len(of_kind(events, Resumed)) == 1
    assert of_kind(events, Estimated) == []


def small_memory(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    def built(*arguments):
        model = build_model(*arguments)
        model.source.register_forward_hook(lambda module, values, _: refuse(len(values[0])))
        return model

    def refuse(found: int) -> None:
        if found > rows and torch.is_grad_enabled():
            raise torch.OutOfMemoryError("too much")

    monkeypatch.setattr("dragoman.experiment.training.build_model", built)


def test_a_batch_that_does_not_fit_is_cut_before_the_training(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_memory(monkeypatch, 13)
    events = run_all(tiny(corpus, training__steps=2), out)
    [warned] = of_kind(events, Warned)
    assert warned.message == "Memory is too small for the longest batch; every batch is now cut into 4 parts."
    assert events.index(warned) < events.index(of_kind(events, Stepped)[0])
    assert state(out, 2)["parts"] == 4


def test_an_example_that_does_not_fit_alone_is_told_at_once(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_memory(monkeypatch, 0)
    with pytest.raises(OutOfMemoryError, match=r"train\.tsv:\d+, with 12 tokens"):
        run_all(tiny(corpus), out)


def test_the_line_in_the_terminal(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    event = Estimated(1203, 72.0, 12030, 720.0, 912_000_000, 44_000_000, 3, 10**10, 1)
    assert line_of(event, out) == (
        "about 12 min for 10 epochs of 1,203 updates on 1 thread, 0.9 GB of memory at the longest batch; "
        "checkpoints 3 × 44 MB"
    )
    assert "epochs of 12 updates" in dragoman(*words(corpus, out, training__steps=2)).err


def test_a_disk_that_is_too_small_is_told(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 600_000

    monkeypatch.setattr("dragoman.training.estimate.shutil.disk_usage", lambda folder: Usage)
    [warned] = of_kind(run_until(tiny(corpus), out, lambda event: isinstance(event, Warned)), Warned)
    assert "has 600,000 bytes left, and 4 checkpoints of" in warned.message


def test_peak_memory_sees_what_was_freed_again() -> None:
    with PeakMemory(torch.device("cpu")) as memory:
        large = mmap(-1, 80_000_000)  # from the system: torch may have pages of its own left
        large.write(bytes(80_000_000))
        time.sleep(0.05)
        large.close()
    assert memory.peak - memory.before > 60_000_000
