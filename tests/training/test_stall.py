"""A learning rate at which the loss does not fall is lowered early, and said so."""

import json
import math
from pathlib import Path

import pytest

from dragoman.experiment import train
from dragoman.training.events import Finished, Resumed, Saved, Stepped, Validated, Warned
from dragoman.training.stall import FEWEST, FEWEST_OF_MANY, fewest_of, unigram_loss
from labels import small
from tiny import Corpus, bits, of_kind, run_all, tiny

HIGH = {"training__optimiser__rate": 0.3, "training__steps": 400, "training__clip": 0.0, "training__estimate": False}
HIGH |= {"training__validate_every": 100, "training__save_every": 100}


def lowered(events: list[object]) -> list[Warned]:
    return [event for event in events if isinstance(event, Warned) and "is lowered to" in event.message]


def test_a_rate_that_stalls_is_lowered_and_the_model_learns(corpus: Corpus, out: Path) -> None:
    events = run_all(tiny(corpus, **HIGH), out)
    [warned, *_] = lowered(events)
    assert "The learning rate is lowered to 0.09" in warned.message
    steps = of_kind(events, Stepped)
    before, after = (next(one for one in steps if one.step == step) for step in (30, 399))
    assert after.rate < before.rate
    assert of_kind(events, Validated)[-1].values["loss"] < math.log(7)  # of seven letters


def test_no_rollback_goes_back_to_the_higher_rate(corpus: Corpus, out: Path) -> None:
    settings = tiny(corpus, **(HIGH | {"training__on_spike": "rollback", "training__save_every": 30}))
    for event in train(settings, out):
        if isinstance(event, Saved):
            state = json.loads((out / "checkpoints" / f"step-{event.step}" / "state.json").read_text())
            if state["lowered"]:
                break
    assert state["anchors"] == [event.step]


def test_a_run_that_is_killed_after_it_ends_with_the_same_bits(corpus: Corpus, out: Path) -> None:
    whole = out.with_name("whole")
    run_all(tiny(corpus, **HIGH), whole)
    events = train(tiny(corpus, **HIGH), out)
    while not (isinstance(event := next(events), Saved) and event.step >= 200):
        pass
    events.close()  # type: ignore[attr-defined]
    again = [*train(tiny(corpus, **HIGH), out)]
    assert of_kind(again, Resumed)
    assert isinstance(again[-1], Finished)
    assert bits(out, 400) == bits(whole, 400)


def test_a_rate_that_learns_is_left_alone(corpus: Corpus, out: Path) -> None:
    usual = HIGH | {"training__optimiser__rate": 0.01, "training__steps": 130}
    assert lowered(run_all(tiny(corpus, **usual), out)) == []


def test_many_classes_take_more_updates_before_the_rate_is_blamed(
    corpus: Corpus, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fewest_of(7) == FEWEST < fewest_of(4_000) == FEWEST_OF_MANY
    monkeypatch.setattr("dragoman.experiment.training.fewest_of", lambda classes: 150)
    [first, *others] = lowered(run_all(tiny(corpus, **HIGH), out))
    assert 150 <= int(first.message.split()[1].rstrip(":")) < 200
    assert others == []  # 150 updates later half of the training is over


def test_two_classes_that_cannot_be_told_apart_are_no_stall(tmp_path: Path) -> None:
    """Labels that say nothing of their texts: the loss stays at ln 2, whatever the rate is."""
    rows = [f"word {number} of a text\t{('a', 'b')[number * 7 % 5 % 2]}\n" for number in range(40)]
    (tmp_path / "rows.tsv").write_text("".join(rows))
    files = Corpus(tmp_path / "rows.tsv", tmp_path / "rows.tsv")
    usual = {"training__steps": 130, "training__optimiser__rate": 1e-6, "training__estimate": False}
    assert lowered(run_all(small(files, "labels", **usual), tmp_path / "run")) == []


class Targets:
    """A store of one chunk whose targets are a b and a: with the ends, 2 of a, 1 of b, 2 ends."""

    layout = "pairs"

    def __len__(self) -> int:
        return 2

    def chunk(self, number: int) -> "Targets":
        return self

    target, size = [4, 5, 4], 2


def test_the_loss_of_unigrams() -> None:
    entropy = -(0.4 * math.log(0.4) + 0.2 * math.log(0.2) + 0.4 * math.log(0.4))
    assert unigram_loss(Targets(), 6, 0.0) == pytest.approx(entropy)  # type: ignore[arg-type]
    smoothed = unigram_loss(Targets(), 6, 0.1)  # type: ignore[arg-type]
    assert smoothed is not None
    assert smoothed > entropy
