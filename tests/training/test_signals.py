"""Signals: save and stop, save and go on, leave at once; the bits are the same in the end."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.data.collate import collate
from dragoman.evaluation import validation
from dragoman.training.events import Finished, Validated
from dragoman.training.signals import Signals
from tiny import Corpus, bits, of_kind, run_all, tiny, words

SETTINGS = {"training__steps": 150, "training__save_every": 1000, "training__validate_every": 60}


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} seconds"
        time.sleep(0.005)


def wait_for_steps(out: Path, lines: int) -> None:
    """Until the log has so many lines."""
    log = out / "metrics.jsonl"
    wait_for(lambda: log.exists() and log.read_bytes().count(b"\n") >= lines, f"line {lines} of the log")


@pytest.fixture(scope="module")
def undisturbed(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory, dragoman: CommandLine) -> Path:
    out = tmp_path_factory.mktemp("signals") / "run"
    assert dragoman(*words(corpus, out, **SETTINGS)).code == 0
    return out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"])
def test_stop_and_go_on(
    corpus: Corpus, undisturbed: Path, out: Path, dragoman: CommandLine, number: int, code: int
) -> None:
    process = dragoman.start(*words(corpus, out, **SETTINGS))
    wait_for_steps(out, 9)
    os.kill(process, number)
    done = dragoman.wait()
    assert done.code == code
    assert "Run the same command to go on." in done.err
    assert "Traceback" not in done.err
    again = dragoman(*words(corpus, out, **SETTINGS))
    assert again.code == 0
    assert "Going on from step" in again.err
    assert bits(out, 150) == bits(undisturbed, 150)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_stop_during_the_start(
    corpus: Corpus, undisturbed: Path, out: Path, dragoman: CommandLine, number: int
) -> None:
    """Whether the flag is there yet or not: no traceback, and the same bits in the end."""
    process = dragoman.start(*words(corpus, out, **SETTINGS))
    wait_for(out.exists, "the folder")
    os.kill(process, number)
    done = dragoman.wait()
    assert done.code in (128 + number, -number)
    assert "Traceback" not in done.err
    assert dragoman(*words(corpus, out, **SETTINGS)).code == 0
    assert bits(out, 150) == bits(undisturbed, 150)


def test_a_validation_does_not_keep_a_signal_waiting(
    corpus: Corpus, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The validation is cut short, and the run that goes on makes up for it."""
    settings = tiny(corpus, training__steps=6, training__validate_every=3, training__batching__tokens=60)
    whole = run_all(settings, tmp_path / "whole")

    def interrupted(*arguments: object) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        return collate(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(validation, "collate", interrupted)
        events = run_all(settings, out)
    assert of_kind(events, Validated) == []
    assert of_kind(events, Finished) == [Finished(3, "signal", signal.SIGTERM)]
    assert of_kind(run_all(settings, out), Validated) == of_kind(whole, Validated)
    assert bits(out, 6) == bits(tmp_path / "whole", 6)


def test_save_and_go_on(corpus: Corpus, undisturbed: Path, out: Path, dragoman: CommandLine) -> None:
    process = dragoman.start(*words(corpus, out, **SETTINGS))
    wait_for_steps(out, 3)
    os.kill(process, signal.SIGUSR1)
    saved = out / "checkpoints"
    wait_for(lambda: any(path.name != "step-0" for path in saved.glob("step-*")), "a save")
    assert dragoman.wait().code == 0
    assert bits(out, 150) == bits(undisturbed, 150)


def test_the_second_signal_leaves_at_once(corpus: Corpus, undisturbed: Path, out: Path, dragoman: CommandLine) -> None:
    process = dragoman.start(*words(corpus, out, **SETTINGS))
    wait_for_steps(out, 5)
    os.kill(process, signal.SIGTERM)
    os.kill(process, signal.SIGTERM)
    os.kill(process, signal.SIGINT)
    assert dragoman.wait().code in (143, 130)
    assert dragoman(*words(corpus, out, **SETTINGS)).code == 0
    assert bits(out, 150) == bits(undisturbed, 150)


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Signals():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
