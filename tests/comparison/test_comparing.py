"""Whole comparisons of tiny models: what they leave and what they say."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small import SMALL, Page, compared, copied, facts, folder_of, request, run

import dragoman as package
from command_line import CommandLine
from dragoman.cli.comparing import Display
from dragoman.comparison import Began, Compared, compare, notes_of
from dragoman.comparison.items import drawn
from dragoman.comparison.page import page
from dragoman.comparison.sides import alone_section
from dragoman.comparison.texts import looks_at_nothing
from dragoman.config import read_toml
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.pairs import Pairs, Problems, read_split
from dragoman.errors import ConfigError, DataError
from dragoman.nn.attention.fixed import Fixed
from dragoman.training.events import Stepped
from dragoman.training.schedules import Cosine
from tiny import Corpus, of_kind


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


def test_a_transformer_is_compared_with_a_vocabulary_a_side(corpus: Corpus, tmp_path: Path) -> None:
    """Its recipe shares one vocabulary and ties all vectors; a comparison takes what the data decides."""
    done = compared(request(corpus, tmp_path / "out", "g2p", "vaswani2017", scale="tiny"))
    recurrent, transformer = json.loads(done.json.read_text())["models"]
    assert (recurrent["name"], transformer["name"]) == ("g2p", "transformer")
    assert transformer["finished"] == "steps"
    table = read_toml(done.page.parent / "runs" / "transformer" / "config.toml").table
    assert (table["model"]["tie"], table["training"]["optimiser"]["rate"]) == ("target", 1e-3)


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


def test_an_answer_that_is_drawn_keeps_all_its_references() -> None:
    pairs = [Pair(f"s{number % 40}", f"t{number}", number) for number in range(120)]
    items, sources = drawn(iter(pairs), 7)
    assert (len(items), sources) == (7, 40)
    assert all(targets == tuple(f"t{n}" for n in range(int(source[1:]), 120, 40)) for source, targets in items)
    assert {source for source, _ in drawn(reversed(pairs), 7)[0]} == {source for source, _ in items}
    everything, _ = drawn(iter(pairs), 100)
    assert [source for source, _ in everything] == [f"s{number}" for number in range(40)]


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


def test_a_setting_that_does_not_fit_one_names_it(corpus: Corpus, recipes: tuple[str, str], out: Path) -> None:
    with pytest.raises(ConfigError, match=r"plain: .*model\.decoder\.widht"):
        run(request(corpus, out, recipes[0], settings={"model.decoder.widht": 3}))
    absent = Corpus(out / "absent.tsv", out / "absent.tsv")
    with pytest.raises(ConfigError, match=r"plain: .*training\.schedule\.patience"):  # before data is read
        run(request(absent, out, recipes[0], settings={"training.schedule.patience": 3}))
    with pytest.raises(DataError, match=r"absent\.tsv"):
        run(request(absent, out / "other", recipes[0], settings={"training.schedule.final": 0.3, "source.size": 90}))
    assert not (out / "runs").exists()


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
