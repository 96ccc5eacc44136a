"""Comparisons that break off, fail, are refused, or go on with more."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import typer
from small import MODEL, Page, compared, copied, facts, folder_of, request, run

from dragoman.cli.compare import run as command
from dragoman.comparison import Began, Climbed, Compared, Failed, answering, climbing, compare
from dragoman.comparison.folder import Folder
from dragoman.errors import ConfigError, DataError, StorageError
from dragoman.training.events import Finished, Resumed, Saved, Stepped
from tiny import Corpus, of_kind


@pytest.mark.parametrize(
    "stop",
    [
        lambda event, number: isinstance(event, Saved) and event.step == 2 and number == 3,
        lambda event, number: isinstance(event, Finished) and number == 3,
    ],
    ids=["training", "trained"],
)
def test_broken_off_anywhere_it_comes_to_the_same(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path, stop: Any
) -> None:
    number, events = 0, compare(request(corpus, copied(done, out, "several-lstm-cells"), *recipes))
    for event in events:
        number = event.number if isinstance(event, Began) else number
        if stop(event, number):
            break
    events.close()
    assert not (out / "report.html").exists()
    run(request(corpus, out, *recipes))
    assert facts(out) == facts(folder_of(done))


def test_a_signal_saves_and_ends_the_whole(done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    number, seen = 0, []
    for event in compare(request(corpus, copied(done, out, "several-lstm-cells"), *recipes)):
        seen.append(event)
        number = event.number if isinstance(event, Began) else number
        if isinstance(event, Stepped) and number == 3 and event.step == 3:
            os.kill(os.getpid(), signal.SIGINT)
    assert isinstance(seen[-1], Finished)
    assert seen[-1].signal == signal.SIGINT
    events = run(request(corpus, out, *recipes))
    assert [event.step for event in of_kind(events, Resumed)] == [3]
    assert [event.is_new for event in of_kind(events, Climbed)] == [False, False, True]
    assert facts(out) == facts(folder_of(done))


def test_a_signal_while_it_answers(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of 10: a signal in the second leaves the first."""
    monkeypatch.setattr(answering, "BLOCK", 10)
    asked, begun = answering.questioned, []

    def questioned(pipeline: Any, items: Any, start: int, *others: Any) -> Any:
        begun.append(start)
        return asked(pipeline, items, start, *others)

    def watch(what: str, number: int, total: int) -> None:
        if what == "answered" and number == 15:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(answering, "questioned", questioned)
    (copied(done, out) / "answers" / "gated.json").unlink()
    *_, last = compare(request(corpus, out, *recipes), watch=watch)
    assert isinstance(last, Finished)
    assert last.signal == signal.SIGINT
    assert begun == [0, 10]
    begun.clear()
    events = run(request(corpus, out, *recipes))
    assert begun[0] == 10
    assert [event.is_new for event in of_kind(events, Climbed)] == [False, True, False]
    assert [list(one.answered.answers) for one in of_kind(events, Climbed)] == [
        list(one.answered.answers) for one in done.facts.models
    ]
    assert not (out / "answers" / "gated.blocks").exists()


def test_fewer_recipes_leave_the_others_on_the_page(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path
) -> None:
    events = run(request(corpus, copied(done, out), recipes[0]))
    assert [event.contender.name for event in of_kind(events, Climbed)] == ["plain", "gated", "several-lstm-cells"]
    assert facts(out) == facts(folder_of(done))


def test_one_that_fails_is_told_and_the_others_go_on(
    corpus: Corpus, recipes: tuple[str, str], out: Path, tmp_path: Path
) -> None:
    wild = tmp_path / "wild.toml"
    changes = "settings = { training = { optimiser = { rate = 1e38 }, schedule = { kind = 'constant' } } }"
    wild.write_text(f"[ladder]\nrung = 1\n{changes}\n{MODEL}")
    events = run(request(corpus, out, str(wild), recipes[0]))
    (failed,) = of_kind(events, Failed)
    assert (failed.contender.name, failed.exit_code) == ("wild", 4)
    assert "finite" in failed.sentence
    found = facts(out)
    assert [one["name"] for one in found["models"]] == ["plain"]
    assert found["failed"][0]["name"] == "wild"
    assert "wild failed and is not in the numbers" in Page((out / "report.html").read_text()).text


def test_memory_that_runs_out_and_defects_are_told(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(done, out, "gated", "several-lstm-cells")
    trained = climbing.train
    trouble = {"gated": MemoryError(), "several-lstm-cells": RuntimeError("shapes do not fit")}

    def train(settings: Any, path: Path, *words: Any, **options: Any) -> Any:
        if path.name in trouble:
            raise trouble[path.name]
        return trained(settings, path, *words, **options)

    monkeypatch.setattr(climbing, "train", train)
    first, second = of_kind(run(request(corpus, out, *recipes)), Failed)
    assert (first.exit_code, first.sentence) == (5, "Memory ran out. A smaller scale, width or batch may fit.")
    assert (second.exit_code, "RuntimeError: shapes do not fit" in second.sentence) == (1, True)
    assert "shapes do not fit" in (out / "defects.jsonl").read_text()
    monkeypatch.setattr(climbing, "train", trained)
    assert not of_kind(run(request(corpus, out, *recipes)), Failed)  # they are tried again


def test_a_page_without_any_model(
    corpus: Corpus, recipes: tuple[str, str], out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(*words: Any, **options: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(climbing, "train", train)
    last = compared(request(corpus, out, recipes[0]))
    assert "No model could be measured." in Page(last.page.read_text()).text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"settings": {"training.steps": 7}},
            r"(?s)runs/plain was trained with other settings:\n  training.steps: 6 → 7",
        ),
        ({"settings": {"training.clip": 3.0}}, r"training\.clip: 1\.0 → 3\.0"),
        ({"settings": {"model.encoder.width": 9}}, r"model\.encoder\.width: 5 → 9\nGive the same ones to go on with"),
        ({"scale": "tiny"}, r"model\.encoder\.width: 5 → 3"),
        ({"test": ("VALID",)}, r"data\.test: 0\.1 held out → files"),
        ({"valid": ("VALID",)}, r"was begun with other valid data"),
    ],
)
def test_another_budget_is_refused(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], change: dict[str, Any], sentence: str
) -> None:
    options = {name: (str(corpus.valid),) if value == ("VALID",) else value for name, value in change.items()}
    with pytest.raises((ConfigError, DataError), match=sentence):
        run(request(corpus, folder_of(done), recipes[0], **options))


def test_changed_data_is_refused_though_all_is_trained(
    corpus: Corpus, recipes: tuple[str, str], tmp_path: Path
) -> None:
    train = tmp_path / "train.tsv"
    train.write_text(corpus.train.read_text())
    own = Corpus(train, corpus.valid)
    run(request(own, tmp_path / "out", recipes[0]))
    train.write_text(corpus.train.read_text() + "abc\tc b a\n")
    with pytest.raises(DataError, match=r"train\.tsv changed since .*plain was begun"):
        run(request(own, tmp_path / "out", recipes[0]))
    inside = Corpus(tmp_path / "out" / "report.json", corpus.valid)
    with pytest.raises(ConfigError, match="lies inside"):
        run(request(inside, tmp_path / "out", recipes[0], fresh=True))
    events = run(request(own, tmp_path / "out", recipes[0], fresh=True))
    assert "The old comparison is now" in events[0].message  # type: ignore[union-attr]
    assert (tmp_path / "out.old-1" / "report.html").exists()


def test_another_search_or_test_is_measured_anew_without_training(
    corpus: Corpus, recipes: tuple[str, str], tmp_path: Path
) -> None:
    given = tmp_path / "test.tsv"
    given.write_text(corpus.valid.read_text())
    first = compared(request(corpus, tmp_path / "out", recipes[0], test=(str(given),)))
    assert not first.facts.climb.data.holds_out_test
    greedy = {"settings": {"search.kind": "greedy"}}
    events = run(request(corpus, tmp_path / "out", recipes[0], test=(str(given),), **greedy))
    assert not of_kind(events, Stepped)
    assert first.facts.models[0].answered != of_kind(events, Climbed)[0].answered
    given.write_text("".join(corpus.valid.read_text().splitlines(keepends=True)[:9]))
    last = compared(request(corpus, tmp_path / "out", recipes[0], test=(str(given),)))
    assert len(last.facts.climb.items) == 9
    with pytest.raises(ConfigError, match="There is no test data any more: give --test"):
        run(request(corpus, tmp_path / "out", recipes[0]))


def test_more_models_may_join(done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    copied(done, out, "gated", "several-lstm-cells")
    Folder(out).begin([done.facts.models[0].contender])
    events = run(request(corpus, out, *recipes))
    assert [event.is_trained for event in of_kind(events, Began)] == [True, False, False]
    assert facts(out) == facts(folder_of(done))


def test_a_folder_of_other_things_is_left_alone(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("")
    with pytest.raises(ConfigError, match=r"is no comparison, and holds thesis\.txt"):
        run(request(corpus, out, recipes[0]))
    with pytest.raises(ConfigError, match="nothing to train on"):
        run(climbing.Request(out=out, recipes=(recipes[0],)))


def test_damage_of_the_disk_ends_all(done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    copied(done, out)
    config = out / "runs" / "plain" / "config.toml"
    config.write_text(config.read_text().replace("steps = 6", "steps = 7"))
    with pytest.raises(StorageError, match="has changed since dragoman wrote it"):
        run(request(corpus, out, recipes[0]))


def test_ctrl_c_while_all_are_judged_is_told(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def gather(*words: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.comparison.gather", gather)
    with pytest.raises(typer.Exit) as ended:
        command(request(corpus, copied(done, out), *recipes), False)
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err.endswith("Saved. Run the same command to go on.\n")
