"""Whole comparisons of tiny models: what they leave, what breaks, and how they go on."""

import json
import os
import shutil
import signal
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer
from small import MODEL, SMALL, compared, request, run, write_recipes

import dragoman as package
from command_line import CommandLine
from dragoman.cli.compare import run as command
from dragoman.cli.comparing import Display
from dragoman.comparison import Began, Climbed, Compared, Failed, answering, climbing, compare, notes_of
from dragoman.comparison.climbing import drawn, warmed
from dragoman.comparison.folder import Folder
from dragoman.comparison.page import page
from dragoman.comparison.sides import alone_section, looks_at_nothing
from dragoman.config import read_toml
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.pairs import Pairs, Problems, read_split
from dragoman.defaults import Choice
from dragoman.errors import ConfigError, DataError, StorageError
from dragoman.nn.attention.fixed import Fixed
from dragoman.training.events import Finished, Resumed, Saved, Stepped
from dragoman.training.schedules import Cosine
from tiny import Corpus, of_kind

CLOCK = (
    "minutes",
    "seconds",
    "tokens_per_second",
    "sentences_per_second",
    "made_at",
    "validation_loss",
    "run",
    "files",
)


class Page(HTMLParser):
    """Its text, and whether it needs anything from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.names = "", []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        known = dict(attributes)
        assert tag not in ("script", "img", "link", "iframe")
        assert not [name for name in known if name.startswith("on") or name in ("src", "xlink:href")]
        self.names += [known["id"]] if "id" in known else []

    def handle_data(self, data: str) -> None:
        self.text += data


def timeless(value: Any) -> Any:
    """Facts without what the clock and the place say."""
    if isinstance(value, dict):
        return {name: timeless(inside) for name, inside in value.items() if name not in CLOCK}
    return [timeless(inside) for inside in value] if isinstance(value, list) else value


def facts(out: Path) -> Any:
    return timeless(json.loads((out / "report.json").read_text()))


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return write_recipes(tmp_path_factory.mktemp("recipes"))


@pytest.fixture(scope="module")
def done(corpus: Corpus, recipes: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Compared:
    """Three models of two recipes."""
    return compared(request(corpus, tmp_path_factory.mktemp("done") / "out", *recipes))


def folder_of(done: Compared) -> Path:
    return done.page.parent


def test_a_page_and_its_facts(done: Compared) -> None:
    page = Page(done.page.read_text())
    assert page.names == ["quality", "cost", "lengths", "learning", "alignments", "alone", "settings"]
    assert all(name in page.text for name in ("plain", "gated", "several-lstm-cells", "LSTM cells", "A plain one"))
    assert "Holm" in page.text
    found = json.loads(done.json.read_text())
    assert [one["name"] for one in found["models"]] == ["plain", "gated", "several-lstm-cells"]
    for one in found["models"]:
        assert one["steps"] == 6
        assert one["finished"] == "steps"
        assert one["parameters"] > 100
        assert one["bytes"] > 0
        assert one["tokens_per_second"] > 0
        assert one["sentences_per_second"] > 0
        assert 0 < one["epochs"] < 6
        assert list(one["metrics"]) == ["sequence_error_rate", "phoneme_error_rate", "perplexity"]
        assert len(one["validation_loss"]) == 2
        minutes = [at for at, _ in one["validation_loss"]]
        assert 0 < minutes[0] < minutes[1] <= one["minutes"]
    assert list(found["lengths"]) == ["sequence_error_rate", "phoneme_error_rate"]
    assert sum(bucket["count"] for bucket in found["lengths"]["phoneme_error_rate"]) == found["test"]["sources"]


def test_the_test_part_is_apart_from_all_else(done: Compared, corpus: Corpus) -> None:
    data = done.facts.climb.data
    splits = {name: {pair.source for pair in read_split(data, name, Problems())} for name in ("train", "valid", "test")}
    assert splits["train"] | splits["valid"] | splits["test"] == {
        line.split("\t")[0] for line in corpus.train.read_text().splitlines()
    }
    assert not splits["train"] & splits["test"]
    assert not splits["valid"] & splits["test"]
    assert len(done.facts.climb.items) == len(splits["test"]) > 30


def test_what_is_shared_and_what_differs(done: Compared) -> None:
    settings = json.loads(done.json.read_text())["settings"]
    assert settings["order"] == ["plain", "gated", "several-lstm-cells"]
    assert settings["differing"]["model.decoder.cell"] == ["gru", "gru", "lstm"]
    assert all(name.startswith(("model.", "objective.", "regime.")) for name in settings["differing"])
    assert settings["shared"]["training.optimiser.kind"] == "adam"  # of the data, not of the recipe
    assert settings["shared"]["source.kind"] == "characters"
    assert settings["shared"]["training.steps"] == 6


def test_every_model_is_an_ordinary_run_of_the_same_data(done: Compared) -> None:
    runs = [folder_of(done) / "runs" / name for name in ("plain", "gated")]
    first, second = (json.loads((run / "data.json").read_text()) for run in runs)
    assert first["tokenizers"] == second["tokenizers"]
    files = [run / "data" / "train" / "source.bin" for run in runs]
    assert files[0].stat().st_ino == files[1].stat().st_ino  # encoded once
    assert package.load(runs[1]).predict("abc").text is not None
    assert read_toml(runs[1] / "given.toml").table["recipe"].endswith("several.toml")


def test_the_same_again_measures_nothing_anew(done: Compared, corpus: Corpus, recipes: tuple[str, str]) -> None:
    kept = folder_of(done) / "answers" / "plain.json"
    before, written = facts(folder_of(done)), kept.stat().st_mtime_ns
    events = run(request(corpus, folder_of(done), *recipes))
    assert not of_kind(events, Stepped)
    assert [event.is_trained for event in of_kind(events, Began)] == [True] * 3
    assert facts(folder_of(done)) == before
    assert kept.stat().st_mtime_ns == written
    kept.write_text(kept.read_text().replace("answers", "anwsers"))  # damage is measured anew
    run(request(corpus, folder_of(done), *recipes))
    assert facts(folder_of(done)) == before
    assert "anwsers" not in kept.read_text()


def copied(done: Compared, out: Path, *without: str) -> Path:
    """A finished comparison in another place, as if some models had not had their turn."""
    shutil.copytree(folder_of(done), out)
    for name in without:
        shutil.rmtree(out / "runs" / name)
        (out / "answers" / f"{name}.json").unlink()
    (out / "report.html").unlink()
    (out / "report.json").unlink()
    return out


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


def test_an_answer_that_is_drawn_keeps_all_its_references() -> None:
    pairs = [Pair(f"s{number % 40}", f"t{number}", number) for number in range(120)]
    items, sources = drawn(iter(pairs), 7)
    assert (len(items), sources) == (7, 40)
    assert all(targets == tuple(f"t{n}" for n in range(int(source[1:]), 120, 40)) for source, targets in items)
    assert {source for source, _ in drawn(reversed(pairs), 7)[0]} == {source for source, _ in items}
    everything, _ = drawn(iter(pairs), 100)
    assert [source for source, _ in everything] == [f"s{number}" for number in range(40)]


def test_one_that_fails_is_told_and_the_others_go_on(
    corpus: Corpus, recipes: tuple[str, str], out: Path, tmp_path: Path
) -> None:
    wild = tmp_path / "wild.toml"
    changes = "settings = { training = { optimiser = { rate = 1e38 } } }"
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


def test_recipes_as_they_are(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    last = compared(request(corpus, out, recipes[0], "g2p:tiny", as_is=True))
    found = facts(out)
    assert found["settings"]["differing"]["training.optimiser.kind"] == ["sgd", "adam"]
    assert found["settings"]["shared"]["training.steps"] == 6
    assert found["settings"]["shared"]["data.hold_out_test"] == 0.1
    text = Page(last.page.read_text()).text
    assert "(--as-is): more than the models differs" in text
    assert "perplexities are of different symbols" in text  # bpe, and characters with words


@pytest.mark.parametrize(
    ("lines", "options", "sentence"),
    [
        ("a\tb\n" * 30, {}, r"30 pairs are too few to hold .* Give test pairs with --test\."),
        ("a\tb\n", {}, r"1 pair is too few to hold"),
        ("a\tb\n" * 90, {}, r"90 pairs are too much alike to hold"),
        ("", {}, r"train\.tsv"),
        ("a\tb\n" * 90, {"test": "empty.tsv"}, r"empty\.tsv"),
        ("a\tb\n" * 90, {"test": "bad.tsv"}, r"(?s)There is no good pair to test on in .*bad\.tsv\..*empty target"),
        ("a\tb\n" * 90, {"test": "absent.tsv"}, r"absent\.tsv"),
    ],
)
def test_data_that_cannot_be_compared_on(
    recipes: tuple[str, str], tmp_path: Path, lines: str, options: dict[str, str], sentence: str
) -> None:
    (tmp_path / "train.tsv").write_text(lines)
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "bad.tsv").write_text("a\t\n")
    own = Corpus(tmp_path / "train.tsv", tmp_path / "train.tsv")
    given = {name: (str(tmp_path / file),) for name, file in options.items()}
    with pytest.raises(DataError, match=sentence):
        run(request(own, tmp_path / "out", recipes[0], **given))
    assert not list((tmp_path / "out" / "runs").glob("*/checkpoints"))


def test_a_folder_of_other_things_is_left_alone(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    out.mkdir()
    (out / "thesis.txt").write_text("")
    with pytest.raises(ConfigError, match=r"is no comparison, and holds thesis\.txt"):
        run(request(corpus, out, recipes[0]))
    with pytest.raises(ConfigError, match="nothing to train on"):
        run(climbing.Request(out=out, recipes=(recipes[0],)))


def test_a_setting_that_does_not_fit_one_names_it(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    with pytest.raises(ConfigError, match=r"plain: .*model\.decoder\.widht"):
        run(request(corpus, out, recipes[0], settings={"model.decoder.widht": 3}))
    absent = Corpus(out / "absent.tsv", out / "absent.tsv")
    with pytest.raises(ConfigError, match=r"plain: .*training\.schedule\.patience"):  # before data is read
        run(request(absent, out, recipes[0], settings={"training.schedule.patience": 3}))
    with pytest.raises(DataError, match=r"absent\.tsv"):
        run(request(absent, out / "other", recipes[0], settings={"training.schedule.final": 0.3, "source.size": 90}))
    assert not (out / "runs").exists()


def test_damage_of_the_disk_ends_all(done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    copied(done, out)
    config = out / "runs" / "plain" / "config.toml"
    config.write_text(config.read_text().replace("steps = 6", "steps = 7"))
    with pytest.raises(StorageError, match="has changed since dragoman wrote it"):
        run(request(corpus, out, recipes[0]))


def test_a_test_part_beside_validation_files(corpus: Corpus) -> None:
    data = Pairs(train=(str(corpus.train),), valid=(str(corpus.valid),), hold_out=0.3, hold_out_test=0.2)
    parts = {name: [pair.source for pair in read_split(data, name, Problems())] for name in ("train", "valid", "test")}
    assert len(parts["valid"]) == 40
    assert len(parts["train"]) + len(parts["test"]) == 600
    assert not set(parts["train"]) & set(parts["test"])
    assert 80 < len(parts["test"]) < 160


def test_from_python(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    *_, last = package.compare(*recipes[:1], out=out, pairs=corpus.train, valid=corpus.valid, settings=SMALL)
    assert isinstance(last, Compared)
    assert last.page == out / "report.html"


def test_the_command(dragoman: CommandLine, corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    words = [f"{name}={str(value).lower()}" for name, value in SMALL.items() if name != "training.steps"]
    words_given = ["compare", corpus.train, recipes[1], "--steps", 6, "--lines", 20, "--out", out, *words]
    done = dragoman(*words_given)
    assert done.code == 0, done.err
    assert done.out == f"{out}/report.html\n"
    assert "model 2 of 2 · several-lstm-cells · LSTM cells" in done.err
    assert "the same for all models" in done.err
    told = json.loads(dragoman(*words_given, "--json").out)
    assert told["decisive"] in told["metrics"]
    assert f"{told['decisive'].replace('_', ' ')} " in "\n".join(told["verdict"])
    assert told["verdict"][0] in done.err
    assert ("is best" in done.err or "are best" in done.err) == told["told_apart"]
    heading = next(line for line in done.err.splitlines() if "answers/s" in line)
    assert heading.startswith("model ")  # in a pipe a row is one line
    assert told["test"]["sources"] == 20 < told["test"]["of"]
    refused = dragoman(*words_given, "--epochs", 3)
    assert (refused.code, refused.out) == (2, "")
    assert "training.epochs: None → 3" in refused.err
    nobody = dragoman("compare", corpus.train, "plian", "--out", out)
    assert (nobody.code, nobody.out) == (2, "")
    assert "'plian' is neither a file nor a recipe." in nobody.err


def test_standard_input_is_read_once(
    dragoman: CommandLine, corpus: Corpus, recipes: tuple[str, str], out: Path
) -> None:
    words = [f"{name}={str(value).lower()}" for name, value in SMALL.items()]
    done = dragoman("compare", "-", recipes[0], "--out", out, *words, stdin=corpus.train.read_text())
    assert done.code == 0, done.err
    assert (out / "stdin.txt").read_text() == corpus.train.read_text()
    again = dragoman("compare", "-", recipes[0], "--out", out, *words)
    assert again.code == 0, again.err
    assert "trained already" in again.err


def test_what_minutes_and_warming_up_do_is_said(done: Compared) -> None:
    assert "give --steps or --epochs" not in done.page.read_text()
    first, *others = done.facts.models
    training = first.settings.training.changed(minutes=3.0, schedule=Cosine(warmup=3))
    slow = replace(first, settings=first.settings.changed(training=training))
    told = replace(done.facts, climb=replace(done.facts.climb, climbed=(slow, *others)))
    assert "the machine counts as quality" in Page(page(told)).text
    assert any("3 times the warm-up of the learning rate: plain (6 steps)" in note for note in notes_of(told))
    warm = slow.settings.training.changed(schedule=Cosine(warmup=2))
    warmer = replace(slow, settings=slow.settings.changed(training=warm))
    assert not any("warm-up" in note for note in notes_of(replace(told, climb=replace(told.climb, climbed=(warmer,)))))


def test_better_and_worse_are_not_called_right_and_wrong(done: Compared) -> None:
    assert done.facts.judged is not None
    graded = str(alone_section(done.facts, replace(done.facts.judged, bar=50.0)))
    assert "better than the median, alone" in graded
    assert "right alone" not in graded.lower()
    assert "right alone" in str(alone_section(done.facts, replace(done.facts.judged, bar=None)))


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


def test_the_page_names_no_folders(done: Compared, corpus: Corpus) -> None:
    text = done.page.read_text()
    assert corpus.train.name in Page(text).text
    assert str(corpus.train.parent) not in Page(text).text
    assert f"<title>{folder_of(done).name} · dragoman compare</title>" in text


def test_time_left_counts_only_models_that_are_not_trained(
    done: Compared, corpus: Corpus, recipes: tuple[str, str], out: Path
) -> None:
    events = compare(request(corpus, copied(done, out, "gated"), *recipes))
    display = Display(out)
    for event in events:
        display.show(event)
        if isinstance(event, Stepped):
            assert display.left(event) == event.seconds_left  # the third is trained already
            break
    events.close()


def test_one_context_for_all_steps_is_told(done: Compared) -> None:
    settings = done.facts.models[0].settings
    decoder = settings.model.decoder.changed(attention=Fixed())
    fixed = settings.changed(model=settings.model.changed(decoder=decoder))
    assert looks_at_nothing(fixed) == "One fixed context for all steps: it looks at nothing in particular."
    assert looks_at_nothing(settings) == "No attention: it looks nowhere."


def test_a_warm_up_is_a_share_of_minutes() -> None:
    guessed = Choice("training.schedule.warmup", 400, "a tenth")
    assert warmed(guessed, {"training.steps": 9}) == guessed
    assert warmed(guessed, {"training.minutes": 5}).key == "training.schedule.warmup_share"
    clip = Choice("training.clip", 1.0, "")
    assert warmed(clip, {"training.minutes": 5}) == clip
