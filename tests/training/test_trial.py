"""The trial before training: the fastest number of threads, and a plan that follows from the speed."""

import json
from itertools import count, takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dragoman.config import read_toml
from dragoman.experiment import train
from dragoman.experiment.training import REPORT
from dragoman.recipes import Composed, compose
from dragoman.training.events import Chosen, Estimated, Finished, Prepared, Reported, Resumed, Saved, Warned
from dragoman.training.speed import Speed
from dragoman.training.trial import fastest
from tiny import Corpus, of_kind, run_all


def test_more_threads_must_be_clearly_faster() -> None:
    assert fastest({1: 0.02, 2: 0.0199}, 10).threads == 1
    assert fastest({1: 0.02, 2: 0.015}, 10).threads == 2
    assert fastest({1: 0.02, 2: 0.5}, 10) == Speed(1, 0.02, 10, ((1, 0.02), (2, 0.5)))
    assert fastest({1: 0.02, 2: 0.5}, 10).seconds_per_epoch == pytest.approx(0.2)


def test_a_short_training_has_no_trial_and_keeps_its_threads(corpus: Corpus, out: Path) -> None:
    run_all(undecided(corpus).settings, out)
    assert "threads" not in read_toml(out / "config.toml").table["training"]


def undecided(corpus: Corpus, **own: Any) -> Composed:
    brief = {"training.steps": 6, "training.validate_every": 3, "evaluation.report": 0, "training.device": "cpu"}
    return compose(train=(str(corpus.train),), valid=(str(corpus.valid),), settings=brief | own)


def test_the_fastest_number_of_threads_is_kept(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.training.trial.LONG", 0.0)
    monkeypatch.setattr(
        "dragoman.training.trial.fastest", lambda found, updates: Speed(2, 0.01, updates, ((1, 0.02), (2, 0.01)))
    )
    torch.set_num_threads(3)
    given = undecided(corpus)
    events = train(given.settings, out, given.given, undecided=given.undecided)
    seen = list(takewhile(lambda event: not (isinstance(event, Saved) and event.step == 3), events))
    events.close()  # type: ignore[attr-defined]
    assert of_kind(seen, Estimated)[0].threads == torch.get_num_threads() == 2
    assert ("training.threads", 2) in [choice[:2] for choice in of_kind(seen, Chosen)[0].choices]
    assert read_toml(out / "config.toml").table["training"]["threads"] == 2
    torch.set_num_threads(1)  # as another process would begin
    assert of_kind([*train(given.settings, out, given.given, undecided=given.undecided)], Resumed)
    assert torch.get_num_threads() == 2


def test_a_run_killed_before_its_first_checkpoint_keeps_its_threads(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.training.trial.LONG", 0.0)
    for threads in (2, 1):  # another machine load may find another number
        speed = Speed(threads, 0.01, 5, ((1, 0.02), (2, 0.01)))
        monkeypatch.setattr("dragoman.training.trial.fastest", lambda found, updates, speed=speed: speed)
        torch.set_num_threads(3)
        given = undecided(corpus)
        events = train(given.settings, out, given.given, undecided=given.undecided)
        while not isinstance(next(events), Prepared):
            pass
        events.close()  # type: ignore[attr-defined]
        assert not (out / "checkpoints").exists()
        assert read_toml(out / "config.toml").table["training"]["threads"] == 2


def test_the_plan_follows_from_the_speed(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 pairs in two minutes: at 0.1 s per epoch they are seen 1,200 times, at 100 s hardly once."""
    chosen = {}
    for seconds in (0.1, 100.0):
        monkeypatch.setattr(
            "dragoman.training.trial.Trial.speed", lambda trial, stopped, s=seconds: Speed(1, s, 1, ((1, s),))
        )
        folder = out / str(seconds)
        given = undecided(corpus, **{"training.minutes": 2.0, "training.steps": None})
        events = train(given.settings, folder, given.given, undecided=given.undecided)
        found = next(event for event in events if isinstance(event, Chosen))
        events.close()  # type: ignore[attr-defined]
        chosen[seconds] = {key: value for key, value, _ in found.choices}
        saved = read_toml(folder / "config.toml").table["model"]["decoder"]
        assert saved.get("dropout", 0.0) == chosen[seconds]["model.decoder.dropout"]
    assert chosen[0.1]["model.decoder.dropout"] == 0.3
    assert chosen[100.0]["model.decoder.dropout"] == 0.0


def test_the_rest_is_planned_anew_where_updates_are_slower_than_in_the_trial(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial says a microsecond, the first five updates take longer; what is left follows from these."""
    monkeypatch.setattr("dragoman.training.fit.TIMED", 5)
    monkeypatch.setattr(
        "dragoman.training.trial.Trial.speed", lambda trial, stopped: Speed(1, 1e-6, 1, ((1, 1e-6), (2, 1.0)))
    )
    own = {"training.minutes": 0.03, "training.steps": None, "training.validate_every": None}
    given = undecided(corpus, **own)
    events = [*train(given.settings, out, given.given, undecided=given.undecided)]
    assert [event for event in of_kind(events, Warned) if "unlike in the trial" in event.message]
    first = {key: value for key, value, _ in of_kind(events, Chosen)[0].choices}
    now, config = (read_toml(out / name).table for name in ("defaults.toml", "config.toml"))
    assert now["model"]["decoder"]["dropout"] == config["model"]["decoder"]["dropout"]
    assert now["training"]["threads"] == config["training"]["threads"] == 1
    assert first["training.validate_every"] != now["training"]["validate_every"] == config["training"]["validate_every"]
    assert isinstance(events[-1], Finished)


def test_minutes_count_everything(corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves a hundredth of a second whenever somebody looks at it: of six seconds the report gets
    0.24, the start and the longest validation what they take, and the updates the rest."""
    seconds = (number / 100 for number in count())
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    for module in ("training.fit", "experiment.training"):
        monkeypatch.setattr(f"dragoman.{module}.time", clock)
    given = undecided(corpus, **{"training.minutes": 0.1, "training.steps": None, "evaluation.report": 20})
    events = [*train(given.settings, out, given.given, undecided=given.undecided)]
    assert of_kind(events, Reported)
    [state] = [json.loads(path.read_text()) for path in out.glob(f"checkpoints/step-{events[-1].step}/state.json")]
    assert state["spent"] > 0
    assert state["validation_seconds"] > 0
    trained = 6 - REPORT * 6 - state["spent"] - state["validation_seconds"]
    assert trained <= state["seconds"] <= trained + 0.1
