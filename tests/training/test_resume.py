"""The same bits after any interruption."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.storage import read_record, write_record
from dragoman.training.events import Finished, Resumed, Saved, Stepped, Validated, Warned
from tiny import TRANSFORMER, Corpus, bits, metrics, of_kind, run_all, run_until, state, tiny, words


@pytest.fixture(scope="module")
def undisturbed(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty steps without a break."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    run_all(tiny(corpus), out)
    return out


def test_ten_steps_and_ten_more_are_twenty(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    run_all(tiny(corpus, training__steps=10), out)
    events = run_all(tiny(corpus), out)
    assert of_kind(events, Resumed) == [Resumed(10)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)


@pytest.mark.parametrize(
    "model",
    [{"model__decoder__cell": "gru"}, {"model__decoder__cell": "lstm"}, TRANSFORMER],
    ids=["gru", "lstm", "transformer"],
)
@pytest.mark.parametrize("average", [{}, {"training__average": 0.9}], ids=["last", "mean"])
def test_a_validation_does_not_depend_on_those_before(
    corpus: Corpus, tmp_path: Path, model: dict[str, Any], average: dict[str, float]
) -> None:
    """What a model prepares for answering is prepared again after every change of its weights."""
    often, once = (
        run_all(tiny(corpus, training__validate_every=every, **model, **average), tmp_path / name)
        for name, every in (("often", 4), ("once", 20))
    )
    assert len(of_kind(often, Validated)) == 5
    assert of_kind(often, Validated)[-1].values == of_kind(once, Validated)[-1].values


def saved(step: int):
    return lambda event: event == Saved(step)


def stepped(step: int):
    return lambda event: isinstance(event, Stepped) and event.step == step


def validated(step: int):
    return lambda event: isinstance(event, Validated) and event.step == step


@pytest.mark.parametrize(
    ("stop", "resumes_at"),
    [
        (saved(0), 0),
        (stepped(1), 0),
        (saved(5), 5),
        (stepped(9), 5),
        (validated(10), 5),
        (saved(10), 10),
        (stepped(12), 10),
        (stepped(20), 15),
        (saved(20), 20),
    ],
    ids=[
        "before the first batch",
        "first batch",
        "mid-epoch, at a save",
        "mid-epoch, unsaved",
        "validated, unsaved",
        "validated and saved",
        "epoch end, unsaved",
        "last batch, unsaved",
        "saved, not finished",
    ],
)
def test_a_crash_leaves_no_trace(corpus: Corpus, undisturbed: Path, out: Path, stop, resumes_at: int) -> None:
    run_until(tiny(corpus), out, stop)
    events = run_all(tiny(corpus), out)
    assert of_kind(events, Resumed) == [Resumed(resumes_at)]
    assert bits(out, 20) == bits(undisturbed, 20)
    assert state(out, 20) == state(undisturbed, 20)
    assert metrics(out) == metrics(undisturbed)
    assert (out / "model/model.safetensors").read_bytes() == (undisturbed / "model/model.safetensors").read_bytes()


@pytest.mark.parametrize("step", [pytest.param(12, marks=pytest.mark.slow), 24], ids=["first epoch's end", "second's"])
def test_resume_at_the_end_of_an_epoch(corpus: Corpus, tmp_path: Path, step: int) -> None:
    settings = tiny(corpus, training__save_every=12, training__steps=30)
    run_all(settings, tmp_path / "whole")
    events = run_until(settings, tmp_path / "broken", saved(step))
    assert [event.epoch for event in of_kind(events, Stepped)] == [n // 12 + 1 for n in range(step)]
    assert state(tmp_path / "broken", step)["position"]["batch"] == 0
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 30) == bits(tmp_path / "whole", 30)


def test_resume_in_the_third_of_five_epochs(corpus: Corpus, tmp_path: Path) -> None:
    """Epochs of twelve updates: it stops in the middle of the third, and each pair is still met five times."""
    settings = tiny(corpus, training__epochs=5, training__steps=999, training__save_every=10)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    tokens = [event.target_tokens for event in of_kind(run_all(settings, whole), Stepped)]
    run_until(settings, broken, stepped(33))
    events = run_all(settings, broken)
    assert of_kind(events, Resumed) == [Resumed(30)]
    assert [event.target_tokens for event in of_kind(events, Stepped)] == tokens[30:]
    assert bits(broken, 60) == bits(whole, 60)
    assert state(broken, 60)["examples"] == 5 * 600


@pytest.mark.parametrize(
    ("stop", "schedule"),
    [
        (saved(5), "constant"),
        (stepped(7), "cosine"),
        (validated(10), "inverse_square_root"),
        (stepped(12), "plateau"),
    ],
    ids=["saved, constant", "unsaved, cosine", "validated, inverse_square_root", "after validation, plateau"],
)
def test_accumulation_and_every_schedule(corpus: Corpus, tmp_path: Path, stop, schedule: str) -> None:
    """Three batches an update, so that epochs of twelve end within the fifth update and others."""
    own = {"training__schedule__kind": schedule, "training__schedule__warmup": 4}
    settings = tiny(corpus, training__accumulate=3, training__steps=13, **own)
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", stop)
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 13) == bits(tmp_path / "whole", 13)
    assert metrics(tmp_path / "broken") == metrics(tmp_path / "whole")


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_other_optimisers_resume(corpus: Corpus, tmp_path: Path, kind: str) -> None:
    own = {"training__optimiser__kind": kind} | ({"training__optimiser__momentum": 0.5} if kind == "sgd" else {})
    settings = tiny(corpus, training__steps=8, **own)
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", stepped(7))
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 8) == bits(tmp_path / "whole", 8)


def test_the_recipe_of_a_transformer_resumes(corpus: Corpus, tmp_path: Path) -> None:
    """Tied weights, dropout of every kind and a moving average."""
    dropout = {f"model__encoder__{name}": 0.2 for name in ("dropout", "attention_dropout", "feed_forward_dropout")}
    settings = tiny(corpus, recipe="vaswani2017", training__steps=12, training__average=0.9, **dropout)
    assert settings.model.tie == "all"
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", stepped(8))
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 12) == bits(tmp_path / "whole", 12)
    assert metrics(tmp_path / "broken") == metrics(tmp_path / "whole")


ROTARY = {
    f"model__{part}__{name}": value
    for part in ("encoder", "decoder")
    for name, value in {"positions": {"kind": "rotary"}, "activation": "swiglu", "norm": "rms"}.items()
}


@pytest.mark.parametrize(("stop", "at"), [(saved(3), 3), (stepped(5), 4)], ids=["saved", "after a validation"])
@pytest.mark.parametrize("own", [{}, ROTARY | {"training__average": 0.9}], ids=["paper", "rotary, tied, averaged"])
def test_a_transformer_resumes(corpus: Corpus, tmp_path: Path, own: dict[str, Any], stop, at: int) -> None:
    """Three steps and three more are six: dropout everywhere, tied vectors, a validation between, at the fourth."""
    every = {"training__steps": 6, "training__save_every": 3, "training__validate_every": 4}
    settings, whole, broken = tiny(corpus, **TRANSFORMER, **own, **every), tmp_path / "whole", tmp_path / "broken"
    run_all(settings, whole)
    run_until(settings, broken, stop)
    assert of_kind(run_all(settings, broken), Resumed) == [Resumed(at)]
    assert bits(broken, 6) == bits(whole, 6)
    assert metrics(broken) == metrics(whole)
    assert (broken / "model/model.safetensors").read_bytes() == (whole / "model/model.safetensors").read_bytes()


def test_every_pair_once_an_epoch_across_a_crash(corpus: Corpus, out: Path) -> None:
    run_until(tiny(corpus), out, stepped(9))
    run_all(tiny(corpus), out)
    assert state(out, 20)["examples"] == 20 * 50
    assert state(out, 20)["position"] == {"chunk": 1, "batch": 8}


def test_practical_settings_may_change(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    run_until(tiny(corpus), out, saved(10))
    changed = {"training__save_every": 3, "training__log_every": 4, "training__keep": 1, "training__steps": 25}
    events = run_all(tiny(corpus, training__patience=9, **changed), out)
    assert of_kind(events, Finished) == [Finished(25, "steps")]
    run_all(tiny(corpus), tmp := out.with_name("other"))
    run_all(tiny(corpus, training__steps=25), tmp)
    assert bits(out, 25) == bits(tmp, 25)


def test_validation_does_not_shift_training(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    run_all(tiny(corpus, valid=False, training__validate_every=3), out)
    assert bits(out, 20) == bits(undisturbed, 20)
    monitored = out.with_name("monitored")
    run_all(tiny(corpus, training__monitor="exact_match", training__validate_every=4), monitored)
    assert bits(monitored, 20) == bits(undisturbed, 20)


def test_without_validation_the_newest_model_is_handed_out(corpus: Corpus, out: Path) -> None:
    """Also after a crash, when nothing remembers how many were handed out before."""
    settings = tiny(corpus, valid=False, training__validate_every=2)
    run_until(settings, out, saved(10))
    events = run_all(settings, out)
    assert of_kind(events, Validated) == []
    last = (out / "checkpoints/step-20/model.safetensors").read_bytes()
    served = (out / "model/model.safetensors").read_bytes()
    assert last[-1000:] == served[-1000:]
    assert b'"step":"20"' in served
    assert b"monitor" not in served[:5000]


def test_the_seed_decides(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    run_all(tiny(corpus, training__seed=2), out)
    same = bits(undisturbed, 20).items() & bits(out, 20).items()
    assert {name.split(".")[-1] for name, _ in same} <= {"step"}


def test_dropout_does_not_change_the_order(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    events = run_all(tiny(corpus, model__decoder__dropout=0.0, training__log_every=1), out)
    other = run_all(tiny(corpus, training__log_every=1), out.with_name("other"))
    counts, others = ([event.target_tokens for event in of_kind(all_, Stepped)] for all_ in (events, other))
    assert counts == others
    assert bits(out, 20) != bits(undisturbed, 20)


def test_another_mathematical_setting_is_refused(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    run_until(tiny(corpus), out, saved(5))
    before = bits(out, 5)
    done = dragoman(*words(corpus, out, training__optimiser__rate=0.5, training__clip=2.0))
    assert done.code == 2
    assert "training.optimiser.rate: 0.008 → 0.5" in done.err
    assert "training.clip: 1.0 → 2.0" in done.err
    assert "--fresh" in done.err
    assert "Traceback" not in done.err
    assert bits(out, 5) == before


def test_fresh_sets_the_old_run_aside(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    run_until(tiny(corpus), out, saved(5))
    before = bits(out, 5)
    done = dragoman(*words(corpus, out, training__optimiser__rate=0.5), "--fresh")
    assert done.code == 0
    assert bits(out.with_name("run.old-1"), 5) == before
    assert "Finished at step 20 (steps)" in done.err


def test_fresh_does_not_pull_the_folder_from_under_a_trainer(corpus: Corpus, out: Path) -> None:
    training = train(tiny(corpus), out)
    next(training)
    with pytest.raises(ConfigError, match="Another process is training"):
        run_all(tiny(corpus), out, fresh=True)
    assert isinstance(list(training)[-1], Finished)


def test_changed_data_is_refused(corpus: Corpus, tmp_path: Path, out: Path, dragoman: CommandLine) -> None:
    mine = Corpus(tmp_path / "train.tsv", corpus.valid)
    mine.train.write_bytes(corpus.train.read_bytes())
    run_until(tiny(mine), out, saved(5))
    mine.train.write_bytes(corpus.train.read_bytes() + b"ab\tb a\n")
    done = dragoman(*words(mine, out))
    assert done.code == 3
    assert f"{mine.train} changed since {out} was begun" in done.err
    assert "Traceback" not in done.err
    mine.train.write_bytes(corpus.train.read_bytes())  # restored, though its time of change is another
    assert dragoman(*words(mine, out)).code == 0


def test_moved_data_is_the_same_data(corpus: Corpus, undisturbed: Path, tmp_path: Path, out: Path) -> None:
    run_until(tiny(corpus), out, saved(5))
    moved = Corpus(tmp_path / "moved.tsv", corpus.valid)
    moved.train.write_bytes(corpus.train.read_bytes())
    run_all(tiny(moved), out)
    assert bits(out, 20) == bits(undisturbed, 20)


def test_a_finished_run_is_not_overwritten(corpus: Corpus, out: Path, dragoman: CommandLine) -> None:
    run_all(tiny(corpus, training__steps=3), out)
    done = dragoman(*words(corpus, out, training__steps=3))
    assert done.code == 2
    assert f"{out} is finished (step 3, stopped by steps); nothing was changed." in done.err
    with pytest.raises(ConfigError, match="is finished"):
        run_all(tiny(corpus, training__steps=2), out)


def test_a_finished_run_that_goes_on_may_be_interrupted(corpus: Corpus, undisturbed: Path, out: Path) -> None:
    run_all(tiny(corpus, training__steps=10), out)
    run_until(tiny(corpus), out, stepped(17))
    run_all(tiny(corpus), out)
    assert bits(out, 20) == bits(undisturbed, 20)


def test_a_cosine_cannot_be_stretched(corpus: Corpus, out: Path) -> None:
    run_all(tiny(corpus, training__schedule__kind="cosine", training__steps=3), out)
    with pytest.raises(ConfigError, match=r"training.steps: 3 → 9"):
        run_all(tiny(corpus, training__schedule__kind="cosine", training__steps=9), out)


def test_a_preparation_that_failed_leaves_no_trace(corpus: Corpus, undisturbed: Path, tmp_path: Path) -> None:
    """Bad data is refused; mended, with the advice of the message followed, it trains as if nothing had been."""
    mine, out = Corpus(tmp_path / "train.tsv", corpus.valid), tmp_path / "run"
    mine.train.write_bytes(b"zzz zz z\n" * 100 + b"zzz\tz z z\n" + corpus.train.read_bytes())
    with pytest.raises(DataError, match="100 bad lines"):
        run_all(tiny(mine, data__max_source_length=99), out)
    mine.train.write_bytes(corpus.train.read_bytes())
    run_all(tiny(mine), out)
    assert bits(out, 20) == bits(undisturbed, 20)


def test_a_folder_of_something_else_is_refused(corpus: Corpus, out: Path) -> None:
    """Nothing in it is touched, whatever its files are called."""
    (out / "data/train").mkdir(parents=True)
    (out / "config.toml").write_text("mine")
    for fresh in (False, True):
        with pytest.raises(ConfigError, match=r"is no run, and holds config.toml, data"):
            run_all(tiny(corpus), out, fresh=fresh)
    assert (out / "config.toml").read_text() == "mine"


def test_data_inside_the_run_is_not_set_aside(corpus: Corpus, out: Path) -> None:
    run_until(tiny(corpus), out, saved(5))
    inside = out / "train.tsv"
    inside.write_bytes(corpus.train.read_bytes())
    with pytest.raises(ConfigError, match="lies inside"):
        run_all(tiny(Corpus(inside, corpus.valid)), out, fresh=True)


def test_validation_data_is_not_forgotten(corpus: Corpus, out: Path) -> None:
    run_until(tiny(corpus), out, saved(5))
    with pytest.raises(ConfigError, match="was begun with valid data"):
        run_all(tiny(corpus, valid=False), out)


def test_an_update_does_not_cross_the_end_of_an_epoch(corpus: Corpus, out: Path) -> None:
    """12 batches an epoch, 5 an update: 5, 5 and 2."""
    events = run_all(tiny(corpus, training__accumulate=5, training__epochs=2, training__steps=99), out)
    tokens = [event.target_tokens for event in of_kind(events, Stepped)]
    assert len(tokens) == 6
    assert sum(tokens[:3]) == sum(tokens[3:])


def test_the_same_command_elsewhere_gives_the_same_bits(corpus: Corpus, undisturbed: Path, tmp_path: Path) -> None:
    """Another hash seed, working directory, locale and folder name; this starts Python twice."""
    for number in (1, 2):
        place = tmp_path / f"place {number}"
        place.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": str(number), "LC_ALL": "C", "TZ": f"Etc/GMT+{number}"}
        command = [sys.executable, "-m", "dragoman", *words(corpus, Path(f"rün-{number}"))]
        subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)
        assert bits(place / f"rün-{number}", 20) == bits(undisturbed, 20)


def test_another_machine_is_told(corpus: Corpus, out: Path) -> None:
    run_until(tiny(corpus), out, saved(5))
    write_record(out / "environment.json", read_record(out / "environment.json") | {"torch": "1.0"})
    warned = of_kind(run_all(tiny(corpus), out), Warned)
    assert "The machine changed (torch 1.0 → " in warned[0].message
    assert "not bit for bit" in warned[0].message


def test_a_training_of_the_lot_resumes(corpus: Corpus, tmp_path: Path) -> None:
    """Halving by epochs, Adadelta, shared cells, variational dropout, drawn positions: the same bits after a break."""
    settings = {
        "training__schedule": {"kind": "halving", "epochs": 0.5, "every": 0.5},
        "training__optimiser": {"kind": "adadelta"},
        "model__share": "cells",
        "model__encoder": {"directions": "one", "width": 16, "dropout": 0.3, "variational": True},
        "model__decoder__width": 16,
        "model__decoder__variational": True,
        "model__decoder__attention": {"kind": "general", "weights": {"kind": "hard", "choice": "sampled"}},
    }
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    told = run_all(tiny(corpus, **settings), whole)
    run_until(tiny(corpus, **settings), broken, stepped(13))
    run_all(tiny(corpus, **settings), broken)
    assert bits(whole, 20) == bits(broken, 20)
    assert metrics(whole) == metrics(broken)
    rates = [event.rate for event in of_kind(told, Stepped)]
    assert rates == [1.0] * 6 + [0.5] * 6 + [0.25] * 6 + [0.125] * 2  # twelve updates are an epoch
