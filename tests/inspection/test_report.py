"""Reports of a tiny run: whole pages, their numbers, and what becomes of missing and hostile pieces."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pages import Checked

import dragoman.pipeline.teaching as teaching
from command_line import CommandLine
from dragoman.contracts import Batch, Output
from dragoman.drawing.summary import mean, summarise
from dragoman.errors import ConfigError, DataError, StorageError
from dragoman.evaluation.pairs import evaluate
from dragoman.inspection.report import Facts, as_json, gather, page, write_report
from dragoman.inspection.report.answers import looked
from dragoman.inspection.report.edits import align
from dragoman.inspection.report.facts import find
from dragoman.pipeline import Pipeline
from dragoman.regimes import teacher
from dragoman.runs import Run
from dragoman.storage import read_record, write_record
from dragoman.watching import unwatched
from tiny import Corpus, run_all, tiny

HOSTILE = "</script><img src=x onerror=alert(1)>\u202etxt.exe"
LARGEST = 2_000_000


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / "tiny"
    run_all(
        tiny(corpus, training__steps=60, training__validate_every=20), out, given='recipe = "g2p"\nscale = "tiny"\n'
    )
    return Run(out)


@pytest.fixture(scope="module")
def facts(run: Run) -> Facts:
    return gather(run, (), 2000, unwatched)


@pytest.fixture
def copy(run: Run, tmp_path: Path) -> Run:
    """A run that may be damaged."""
    shutil.copytree(run.path, tmp_path / "copy")
    return Run(tmp_path / "copy")


def test_a_page_is_whole_and_needs_nothing_else(facts: Facts) -> None:
    text = page(facts)
    checked = Checked(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(checked.tags)
    policy = (
        '<meta http-equiv="Content-Security-Policy" content="default-src &#x27;none&#x27;; img-src data:; style-src'
    )
    assert text.count(policy) == 1
    assert "http" not in text.replace(policy, "").replace('xmlns="http://www.w3.org/2000/svg"', "")  # names only
    assert "url(" not in text
    assert "@import" not in text
    assert text.startswith("<!doctype html>")
    assert '<html lang="en">' in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert len(text.encode()) < LARGEST


def test_chapters_stand_in_order_and_can_be_reached(facts: Facts) -> None:
    checked = Checked(page(facts))
    order = [
        "metrics",
        "baselines",
        "learning",
        "lengths",
        "alignments",
        "errors",
        "confusions",
        "faults",
        "data",
        "settings",
    ]
    assert checked.names == order
    assert checked.links == [f"#{name}" for name in order]
    assert page(facts).count('<p class="how">') == len(order)
    maps = page(facts).count('class="alignment-map" role="img" aria-label="Alignment of ')
    assert maps == 6
    assert checked.tags.count("svg") == checked.tags.count("desc") + maps


def test_numbers_are_those_of_evaluate(run: Run, corpus: Corpus, facts: Facts) -> None:
    result = evaluate(Pipeline.load(run.path), (str(corpus.valid),))
    assert facts.tested is not None
    assert [value.name for value in facts.tested.metrics] == [value.name for value in result.metrics]
    for own, known in zip(facts.tested.metrics, result.metrics, strict=True):
        assert own.value == pytest.approx(known.value, rel=1e-5)
        assert (own.low, own.high) == pytest.approx((known.low, known.high), rel=1e-5)
        assert own.signature == known.signature
    assert [example.answer for example in facts.tested.examples] == list(result.answers)
    assert f"{result.metrics[0].value:.2f}" in page(facts)


def test_a_sample_is_drawn_by_a_key_and_said_to_be_one(run: Run, corpus: Corpus, facts: Facts) -> None:
    some = gather(run, (), 7, unwatched)
    again = gather(run, (str(corpus.valid),), 7, unwatched)
    assert some.tested is not None
    assert again.tested is not None
    assert facts.tested is not None
    assert some.tested.sample.items == again.tested.sample.items
    assert [item for item in facts.tested.sample.items if item in some.tested.sample.items] == some.tested.sample.items
    assert some.tested.sample.items != facts.tested.sample.items[:7]
    total = len(facts.tested.sample.items)
    assert f"7 of {total} sources of" in Checked(page(some)).text
    assert "by which the best model was chosen" in page(some)
    assert "given for this report" in page(again)
    assert (some.tested.sample.split, again.tested.sample.split) == ("valid", "given")


def test_own_test_data_is_said_to_be_that(corpus: Corpus, tmp_path: Path) -> None:
    own = tmp_path / "test.tsv"
    own.write_text(corpus.valid.read_text() + "no tab\n")
    run_all(tiny(corpus, training__steps=2, training__validate_every=2, data__test=[str(own)]), tmp_path / "run")
    own.write_text(corpus.valid.read_text() * 2 + "no tab\n")
    found = gather(Run(tmp_path / "run"), (), 7, unwatched)
    text = Checked(page(found)).text
    assert "test.tsv (the run's test data, by which nothing was chosen)" in text
    assert "The test data has changed since the run began" in text
    assert "1 bad lines of the test data were left out" in text
    assert "7 test sources" in text
    assert as_json(found)["measured"]["split"] == "test"


def test_references_are_ranked_as_the_search_ranks(run: Run, facts: Facts) -> None:
    """By the average over the symbols, END counted: a long reference may be less probable, and yet rank higher."""
    assert facts.tested is not None
    pipeline = Pipeline.load(run.path)
    for example in facts.tested.examples[:9]:
        ranked = [pipeline.align(example.source, reference).score for reference in example.references]
        assert example.reference_score == pytest.approx(max(ranked), abs=1e-5)
        assert example.score == pytest.approx(pipeline.predict(example.source).score, abs=1e-5)
        if example.right:
            assert example.reference_score == pytest.approx(example.score, abs=1e-4)


def test_every_error_is_of_the_search_or_of_the_model(facts: Facts) -> None:
    found = as_json(facts)["measured"]
    assert found["right"] + found["search_errors"] + found["model_errors"] == found["sources"]
    assert found["model_errors"] > 0
    assert sum(bucket["count"] for bucket in found["buckets"]) == found["sources"]
    edits = [tuple(edit) for error in found["worst"] for edit in error["edits"]]
    assert all(expected != got for expected, got in edits)
    top = found["confusions"][0]
    assert top["count"] >= found["confusions"][-1]["count"]
    assert top["occurrences"] >= top["count"]


def test_json_has_no_infinity(facts: Facts) -> None:
    assert facts.tested is not None
    endless = replace(facts.tested.metrics[-1], value=float("inf"), high=float("nan"))
    found = as_json(replace(facts, tested=replace(facts.tested, metrics=(endless,))))
    assert found["measured"]["metrics"]["perplexity"]["value"] is None
    json.dumps(found, allow_nan=False)


def test_progress_is_told(run: Run) -> None:
    told: list[tuple[str, int, int]] = []
    write_report(run, lines=5, out=run.path / "small.html", told=lambda *facts: told.append(facts))
    assert told[0] == ("Answering", 0, 5)
    assert ("Answering", 5, 5) in told
    assert list(dict.fromkeys(what for what, _, _ in told)) == ["Answering", "Scoring references", "Looking"]
    assert told[-1][1] == told[-1][2]


def test_everything_from_outside_is_escaped(copy: Run, tmp_path: Path) -> None:
    hostile = copy.path.rename(tmp_path / "<img src=x onerror=alert(1)>\u202e")
    (hostile / "given.toml").write_text(f'recipe = "{HOSTILE}"\nscale = ""\n')
    environment = {"platform": HOSTILE, "command": ["dragoman", "train", HOSTILE, "a b"]}
    write_record(hostile / "environment.json", environment)
    write_record(hostile / "data.json", {"train": {"files": [HOSTILE], "counts": {"pairs": HOSTILE}}})
    config = (hostile / "config.toml").read_text()
    (hostile / "config.toml").write_text(f"# {HOSTILE.replace(chr(0x202E), '')}\n{config}")
    data = tmp_path / "test.tsv"
    sources = ["<b>abc", "&lt;", "</title>", "x" * 10_000, "a\u200db"]
    data.write_text("".join(f"{source}\ta <i>onclick</i> {'y' * 10_000}\n" for source in sources))
    path = write_report(Run(hostile), (str(data),), out=tmp_path / "report.html")
    text = path.read_text("utf-8")
    checked = Checked(text)
    assert not {"script", "img", "b>", "i"} & set(checked.tags)
    assert "\u202e" not in text
    assert "onerror=alert(1)" in checked.text
    assert "'a b'" in checked.text
    assert not re.search(r"[xy]{2000}", text)
    assert len(text) < 300_000


def test_a_run_of_huge_lines_stays_small(run: Run, facts: Facts) -> None:
    assert facts.tested is not None
    huge = "<&>" * 100_000
    pieces = [f"{number}<&>" * 30 for number in range(300)]
    examples = tuple(
        replace(
            example,
            source=huge,
            references=(huge, "a", "b", "c"),
            answer=huge + "!",
            nearest=huge,
            edits=align(pieces, list(reversed(pieces))),
        )
        for example in facts.tested.examples[:25]
    )
    drawn = tuple((examples[0], prediction) for _, prediction in facts.tested.good)
    sample = replace(facts.tested.sample, files=(huge,))
    tested = replace(facts.tested, examples=examples, good=drawn, sample=sample)
    points = tuple((float(step), step % 7 + 1.0) for step in range(400))
    curves = replace(facts.curves, validation={f"{huge}{number}": points for number in range(50)})
    lines = ("&" * 900 + "\n") * 1000
    environment = {f"{huge}{number}": huge for number in range(99)} | {"command": [huge] * 999}
    record = replace(facts.record, name=huge, given=lines, config=lines, environment=environment)
    text = page(replace(facts, tested=tested, findings=find(tested), curves=curves, record=record))
    Checked(text)
    assert len(text.encode()) < LARGEST


def test_many_tokens_are_not_drawn(run: Run, facts: Facts) -> None:
    """A few words may be cut into many tokens, whose drawing would have a million cells."""
    assert facts.tested is not None
    example = facts.tested.examples[0]
    found = looked(Pipeline.load(run.path), [replace(example, source="abcdefg" * 10), replace(example, source="abc")])
    assert [example.source for example, _ in found] == ["abc"]


def test_a_run_without_validation_data(corpus: Corpus, tmp_path: Path) -> None:
    run_all(tiny(corpus, valid=False, training__steps=4), tmp_path / "run")
    text = write_report(Run(tmp_path / "run")).read_text("utf-8")
    checked = Checked(text)
    assert checked.names == ["learning", "data", "settings"]
    assert "neither test nor validation data, so there was nothing to measure on" in checked.text


def test_validation_data_that_moved_is_named(copy: Run) -> None:
    config = copy.config.read_text()
    copy.config.write_text(config.replace("valid.tsv", "gone.tsv"))
    checked = Checked(page(gather(copy, (), 9, unwatched)))
    assert "gone.tsv." in checked.text
    assert "So nothing was measured" in checked.text
    assert "name test pairs with --on" in checked.text


def test_validation_data_that_changed_is_told(copy: Run) -> None:
    record = read_record(copy.data_record)
    record["valid"]["sha256"] = "0"
    write_record(copy.data_record, record)
    assert "The validation data has changed since the run began" in page(gather(copy, (), 9, unwatched))


def test_records_are_read_without_their_seals(facts: Facts, copy: Run) -> None:
    assert "seal" not in facts.record.environment
    assert set(facts.record.best) == {"step", "monitor", "value"}
    copy.environment.write_text(copy.environment.read_text().replace("python", "pyhton"))
    with pytest.raises(StorageError, match=r"environment\.json is damaged"):
        gather(copy, (), 9, unwatched)


def test_a_damaged_status_is_none(copy: Run) -> None:
    """As for a training that goes on."""
    copy.status.write_text("{")
    found = gather(copy, (), 9, unwatched)
    assert "The training is unfinished" in page(found)
    assert as_json(found)["step"] == 60


def test_an_unfinished_run_with_little_in_it(copy: Run) -> None:
    shutil.rmtree(copy.model)
    for path in (copy.status, copy.metrics, copy.environment, copy.data_record):
        path.unlink()
    checked = Checked(page(gather(copy, (), 9, unwatched)))
    assert "The run has no model yet" in checked.text
    assert "Nothing has been logged yet." in checked.text
    assert "no record of its data" in checked.text
    assert "unfinished" in checked.text
    with pytest.raises(ConfigError, match="has no model yet that could be measured"):
        gather(copy, ("x.tsv",), 9, unwatched)


def test_a_model_without_attention(facts: Facts) -> None:
    assert facts.tested is not None
    blind = replace(facts.tested, good=(), bad=(), attends=False, looks=None)
    checked = Checked(page(replace(facts, tested=blind)))
    assert "The model has no attention, so there is nothing to draw" in checked.text
    assert as_json(replace(facts, tested=blind))["measured"]["looks"] is None
    long = replace(facts.tested, good=(), bad=())
    assert "every text is too long" in Checked(page(replace(facts, tested=long))).text


def test_a_run_without_attention_has_a_report(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(model: Any, batch: Batch, attention: bool = False) -> Output:
        return Output(teacher(model, batch).hidden)

    monkeypatch.setattr(teaching, "teacher", blind)
    found = gather(run, (), 9, unwatched)
    assert found.tested is not None
    assert (found.tested.attends, found.tested.looks, found.tested.good, found.tested.bad) == (False, None, (), ())
    assert "The model has no attention" in page(found)


def test_looks_are_means_over_the_answers(run: Run, facts: Facts) -> None:
    assert facts.tested is not None
    looks = facts.tested.looks
    assert looks is not None
    sources = [example.source for example in facts.tested.examples]
    found = [summarise(answer.best.aligned()) for answer in Pipeline.load(run.path).predict(sources)]
    assert looks.answers == len(found) <= 200
    assert looks.entropy == pytest.approx(mean([one.mean_entropy for one in found]), abs=1e-4)
    assert looks.monotonicity == pytest.approx(mean([one.monotonicity for one in found]), abs=1e-3)
    text = Checked(page(facts)).text
    assert f"mean over {looks.answers} answers" in text
    assert f"{looks.entropy:.2f} nats" in text
    assert as_json(facts)["measured"]["looks"]["answers"] == looks.answers


def test_a_perfect_model(facts: Facts) -> None:
    assert facts.tested is not None
    examples = tuple(
        replace(one, answer=one.references[0], edits=align(*[one.references[0].split()] * 2))
        for one in facts.tested.examples
    )
    tested = replace(facts.tested, examples=examples)
    checked = Checked(page(replace(facts, tested=tested, findings=find(tested))))
    assert "100.0\u202f% of" in checked.text
    assert "There are none." in checked.text
    assert "No answer fails as a whole." in checked.text


def test_the_summary_of_the_data_is_drawn(facts: Facts) -> None:
    shape = {"edges": [0, 5, 10], "counts": [7, 3], "mean": 4.0, "median": 4, "p99": 9, "longest": 10}
    finding = {"name": "duplicate <pairs>", "count": 12, "share": 0.02, "places": ["a.tsv:3", "a.tsv:9"]}
    summary = {
        "lines": 10,
        "findings": [finding, {"name": "odd"}],
        "lengths": {"source": {"characters": shape, "tokens": None}, "target": {"characters": {"edges": [1]}}},
        "coverage": {"source": 0.9991, "target": None},
        "filtered": {"too long": 4},
    }
    data = facts.record.data | {"summary": {"train": summary, "valid": None}}
    checked = Checked(page(replace(facts, record=replace(facts.record, data=data))))
    assert "train: source characters" in checked.text
    assert "duplicate <pairs>" in checked.text
    assert "a.tsv:3, a.tsv:9" in checked.text
    assert "99.91\u202f% of the source" in checked.text
    assert "too long 4" in checked.text
    without = {name: value for name, value in facts.record.data.items() if name != "summary"}
    plain = Checked(page(replace(facts, record=replace(facts.record, data=without))))
    assert checked.tags.count("svg") == plain.tags.count("svg") + 1


def test_files_without_a_pair(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.tsv").write_text("no tab\n")
    with pytest.raises(DataError, match=r"no good pair in .*empty\.tsv"):
        gather(run, (str(tmp_path / "empty.tsv"),), 9, unwatched)


def test_the_command(run: Run, dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("report", run.path, "--lines", 9)
    assert done.code == 0, done.err
    assert done.out == f"{run.path / 'report.html'}\n"
    assert "of 9 validation sources" in done.err
    assert 3 <= len(done.err.splitlines()) <= 7
    assert "open it in a browser" in done.err
    Checked((run.path / "report.html").read_text("utf-8"))


def test_the_command_in_json(run: Run, corpus: Corpus, dragoman: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "here.html"
    done = dragoman("report", run.path, "--on", corpus.valid, "--out", out, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["report"] == str(out)
    assert out.is_file()
    assert found["measured"]["files"] == [str(corpus.valid)]
    assert set(found["measured"]) >= {"metrics", "buckets", "confusions", "worst", "faults"}
    assert found["best"]["monitor"] == "loss"


def test_the_command_with_standard_input(run: Run, dragoman: CommandLine, tmp_path: Path) -> None:
    words = ("--on", "-", "--out", tmp_path / "here.html", "--json")
    done = dragoman("report", run.path, *words, stdin="abc\tc b a\nfed\td e f\n")
    assert done.code == 0, done.err
    found = json.loads(done.out)["measured"]
    assert (found["files"], found["sources"]) == (["standard input"], 2)


def test_mistakes_get_sentences(run: Run, dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("report", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "is no run of dragoman" in done.err
    done = dragoman("report", run.model)
    assert (done.code, done.out) == (2, "")
    assert f"{run.model} is a model folder, not a run. Name the run, or use dragoman evaluate." in done.err
    assert not (run.model / "report.html").exists()
    done = dragoman("report", run.path, *["--on", "a.tsv"] * 3)
    assert (done.code, "--on is given once for a TSV file, or twice" in done.err) == (2, True)
    done = dragoman("report", run.path, "--on", tmp_path / "none.tsv")
    assert (done.code, done.out) == (3, "")
    assert "none.tsv" in done.err
    done = dragoman("report", run.path, "--lines", 3, "--out", tmp_path / "no" / "folder.html")
    assert done.code == 6
    assert "folder.html" in done.err
