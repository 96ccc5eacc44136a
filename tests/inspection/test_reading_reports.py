"""Reports of models that only read and of language models: whole pages, and numbers that are those of `evaluate`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import Checked

import books as passages
import labels
import texts
from command_line import CommandLine
from dragoman.evaluation.labels import evaluate_labels
from dragoman.evaluation.pretraining import evaluate_reading
from dragoman.evaluation.spans import evaluate_spans
from dragoman.evaluation.texts import evaluate_text
from dragoman.experiment import train
from dragoman.inspection.report import Facts, as_json, gather, page, verdict
from dragoman.inspection.report.curves import Curves
from dragoman.inspection.report.history import small_charts
from dragoman.inspection.report.labels import span_report
from dragoman.inspection.report.planes import heat_map
from dragoman.inspection.report.spans import Asked, beside_answer
from dragoman.inspection.report.texts import places_of
from dragoman.inspection.report.vector_map import map_labels, map_numbers, principal_plane
from dragoman.pipeline import Pipeline
from dragoman.runs import Run
from dragoman.training.events import Reported
from dragoman.watching import unwatched
from tiny import Corpus

LAYERS: dict[str, Any] = {
    "model__encoder__kind": "transformer",
    "model__encoder__heads": 2,
    "model__encoder__layers": 1,
    "model__encoder__feed_forward": 12,
}
STEPS: dict[str, Any] = {"training__steps": 30, "training__validate_every": 10, "training__optimiser__rate": 0.02}
FEW: dict[str, Any] = {"evaluation__resamples": 50, "evaluation__report": 0}
ENDING = ("labels", "gpt")  # trainings that are made to write their reports
ORDER = {
    "labels": ["metrics", "baselines", "learning", "labels", "confusions", "lengths", "errors", "vectors", "heads"],
    "pairs": ["metrics", "baselines", "learning", "labels", "confusions", "lengths", "errors", "vectors"],
    "numbers": ["metrics", "baselines", "learning", "scatter", "errors", "vectors"],
    "tags": ["metrics", "baselines", "learning", "labels", "confusions", "lengths", "errors", "vectors"],
    "chunks": ["metrics", "baselines", "learning", "labels", "confusions", "lengths", "errors", "vectors"],
    "spans": ["metrics", "baselines", "learning", "lengths", "errors", "heads"],
    "gpt": ["metrics", "baselines", "learning", "places", "continuations", "hard", "heads"],
    "recurrent": ["metrics", "baselines", "learning", "places", "continuations", "hard"],
}
KINDS = tuple(ORDER)
READING = ("labels", "pairs", "numbers", "tags", "chunks")
HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: labels.written(tmp_path_factory.mktemp(kind), kind, 160) for kind in (*READING, "spans")}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> texts.Books:
    return texts.written(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module")
def reported(
    corpora: dict[str, Corpus], books: texts.Books, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Run, list[Reported]]]:
    """Runs, and what their trainings said of a report at the end."""
    folder = tmp_path_factory.mktemp("runs")
    settings = {kind: labels.small(corpora[kind], kind, **STEPS, **FEW) for kind in (*READING, "spans")}
    for kind in ("labels", "spans"):
        settings[kind] = labels.small(corpora[kind], kind, **STEPS, **FEW, **LAYERS)
    settings["gpt"] = texts.small(books, **FEW)
    settings["recurrent"] = texts.small(books, "zaremba2014", **FEW)
    for kind in ENDING:
        settings[kind] = settings[kind].changed(evaluation=settings[kind].evaluation.changed(report=2000))
    found = {}
    for kind in KINDS:
        events = list(train(settings[kind], folder / kind))
        found[kind] = Run(folder / kind), [one for one in events if isinstance(one, Reported)]
    return found


@pytest.fixture(scope="module")
def facts(reported: dict[str, tuple[Run, list[Reported]]]) -> dict[str, Facts]:
    return {kind: gather(run, (), 2000, unwatched) for kind, (run, _) in reported.items()}


@pytest.mark.parametrize("kind", ENDING)
def test_a_training_ends_with_a_report(
    reported: dict[str, tuple[Run, list[Reported]]], facts: dict[str, Facts], kind: str
) -> None:
    run, [told] = reported[kind]
    assert told.path == str(run.path / "report.html")
    assert list(told.verdict) == verdict(facts[kind])
    written = Checked((run.path / "report.html").read_text("utf-8"))
    assert written.names == Checked(page(facts[kind])).names


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_and_needs_nothing_else(facts: dict[str, Facts], kind: str) -> None:
    text = page(facts[kind])
    checked = Checked(text)
    assert not {"script", "link", "img", "iframe", "object"} & set(checked.tags)
    assert checked.names == [*ORDER[kind], "data", "settings"]
    assert checked.links == [f"#{name}" for name in checked.names]
    assert "nan" not in checked.text.lower().split()
    assert len(text.encode()) < 500_000


@pytest.mark.parametrize("kind", READING)
def test_numbers_of_labels_are_those_of_evaluate(
    reported: dict[str, tuple[Run, list[Reported]]], facts: dict[str, Facts], corpora: dict[str, Corpus], kind: str
) -> None:
    known = evaluate_labels(Pipeline.load(reported[kind][0].path), [str(corpora[kind].valid)])
    tested = facts[kind].labelled
    assert tested is not None
    assert (tested.drawn.count, tested.drawn.total) == (known.items, known.items)
    for own, other in zip(tested.metrics, known.metrics, strict=True):
        assert (own.name, own.value, own.low) == (other.name, pytest.approx(other.value), pytest.approx(other.low))
    assert tested.classes == known.classes
    found = as_json(facts[kind])["measured"]
    json.dumps(found, allow_nan=False)
    assert found["metrics"].keys() == {value.name for value in known.metrics}
    if known.classes is not None:
        assert found["labels"] - found["right"] == sum(item.wrong for item in tested.items)
        assert sum(bucket.count for bucket in tested.buckets) == len(tested.items)


def test_numbers_of_answers_in_documents_are_those_of_evaluate(
    reported: dict[str, tuple[Run, list[Reported]]], facts: dict[str, Facts], corpora: dict[str, Corpus]
) -> None:
    known = evaluate_spans(Pipeline.load(reported["spans"][0].path), [str(corpora["spans"].valid)])
    tested = facts["spans"].spans
    assert tested is not None
    assert [one.answer for one in tested.items] == list(known.answers)
    assert [one.value for one in tested.metrics] == [pytest.approx(one.value) for one in known.metrics]
    for item in tested.items:
        assert item.place is None or item.document[slice(*item.place)] == item.answer
    json.dumps(as_json(facts["spans"]), allow_nan=False)
    assert facts["spans"].model is not None
    assert facts["spans"].model.labels == 0


def test_heads_are_looked_at_around_an_answer(facts: dict[str, Facts]) -> None:
    document = " ".join(f"w{number}" for number in range(40))
    place = document.index("w20"), document.index("w22") - 1
    item = Asked("who  is\tit", document, ("w20 w21",), "w20 w21", place, 1.0)
    assert beside_answer(item) == f"who is it\t{' '.join(f'w{number}' for number in range(8, 34))}"
    nowhere = Asked("who", "a b", ("",), "", None, 1.0)
    assert beside_answer(nowhere) == "who\ta b"
    tested = facts["spans"].spans
    assert tested is not None
    assert tested.headed is not None
    assert tested.headed.drawn is not None
    assert "what follows" in tested.headed.drawn.source


@pytest.mark.parametrize("kind", ["gpt", "recurrent"])
def test_numbers_of_texts_are_those_of_evaluate(
    reported: dict[str, tuple[Run, list[Reported]]], facts: dict[str, Facts], books: texts.Books, kind: str
) -> None:
    known = evaluate_text(Pipeline.load(reported[kind][0].path), [str(books.valid)])
    tested = facts[kind].text
    assert tested is not None
    assert (tested.drawn.count, tested.symbols) == (known.windows, known.symbols)
    for own, other in zip(tested.metrics, known.metrics, strict=True):
        assert (own.name, own.value) == (other.name, pytest.approx(other.value, rel=1e-6))
    assert sum(one.count for one in tested.places) == known.symbols
    mean = sum(one.loss * one.count for one in tested.places) / known.symbols
    assert mean == pytest.approx(known.metrics[0].value, rel=1e-6)
    assert sum(one.share for one in tested.hard) <= 1 + 1e-9
    assert tested.continued[0].prompt == ""
    assert all(one.prompt and one.truth for one in tested.continued[1:])
    assert any(one.answer and not one.answer.startswith(one.prompt) for one in tested.continued[1:])
    shown = Checked(page(facts[kind])).text
    assert "windows of" in shown
    assert "How it goes on" in shown


def test_a_model_that_learns_to_read_is_measured_as_by_evaluate(tmp_path: Path) -> None:
    """Both losses by their names, gaps with their true words, a map and heads."""
    corpus = passages.written(tmp_path)
    list(train(passages.small(corpus, training__steps=4, training__validate_every=2, **FEW), tmp_path / "run"))
    found = gather(Run(tmp_path / "run"), (), 2000, unwatched)
    known = evaluate_reading(Pipeline.load(tmp_path / "run"), [str(corpus.valid)])
    assert found.reading is not None
    assert [(one.name, one.value) for one in found.reading.metrics] == [
        (one.name, pytest.approx(one.value)) for one in known.metrics
    ]
    lines = corpus.valid.read_text().splitlines()
    for gap in found.reading.gaps:
        assert f"{gap.before}{gap.word}{gap.behind}" in lines
        assert len(gap.guesses) == 5
        assert sum(share for _, share in gap.guesses) <= 1 + 1e-6
    assert Checked(page(found)).names == ["metrics", "learning", "gaps", "vectors", "heads", "data", "settings"]
    json.dumps(as_json(found), allow_nan=False)
    for name in ("masked words over steps", "next sentence over steps", "% of 46 hidden words guessed"):
        assert name in Checked(page(found)).text


def test_a_sample_is_said_to_be_one(
    reported: dict[str, tuple[Run, list[Reported]]], corpora: dict[str, Corpus], books: texts.Books
) -> None:
    some = gather(reported["labels"][0], (), 7, unwatched)
    assert some.labelled is not None
    assert (some.labelled.drawn.count, some.labelled.drawn.total) == (7, 60)
    assert "7 of 60 texts of" in Checked(page(some)).text
    given = gather(reported["tags"][0], (str(corpora["tags"].train),), 5, unwatched)
    assert given.labelled is not None
    assert (given.labelled.drawn.split, given.labelled.drawn.total) == ("given", 160)
    assert "given for this report" in page(given)
    text = gather(reported["gpt"][0], (str(books.train),), 3, unwatched).text
    assert text is not None
    assert 3 <= text.drawn.count < text.drawn.total


def test_a_report_without_validation_data_or_with_what_nobody_knows(
    reported: dict[str, tuple[Run, list[Reported]]], tmp_path: Path
) -> None:
    """A kind of run that is not measured here still has its curves, its data and its settings."""
    run = Run(tmp_path / "copy")
    shutil.copytree(reported["labels"][0].path, run.path)
    valid = run.config.read_text().replace('valid = ["', 'valid = ["/nowhere')
    run.config.write_text("\n".join(line for line in valid.splitlines() if not line.startswith("# seal")))
    found = gather(run, (), 9, unwatched)
    assert "The data is not where it was" in verdict(found)[0]
    assert Checked(page(found)).names == ["learning", "data", "settings"]
    run.config.write_text(run.config.read_text().replace('kind = "labelled"', 'kind = "pretraining"'))
    other = gather(run, (), 9, unwatched)
    assert verdict(other) == [
        "What this run has learned is not measured here; its curves, its data and its settings are below."
    ]
    assert Checked(page(other)).names == ["learning", "data", "settings"]


def test_texts_cannot_leave_their_place(facts: dict[str, Facts]) -> None:
    for kind in ("labels", "tags"):
        tested = facts[kind].labelled
        assert tested is not None
        item = replace(
            tested.items[0], texts=(HOSTILE,) * len(tested.items[0].texts), said=("<b>",) * len(tested.items[0].said)
        )
        text = page(replace(facts[kind], labelled=replace(tested, items=(item, *tested.items[1:]))))
        assert HOSTILE not in text
        assert HOSTILE in Checked(text).text


def test_losses_get_charts_by_their_names() -> None:
    points = ((1.0, 3.0), (2.0, 2.0))
    training = dict.fromkeys(("loss", "epoch", "seconds", "rate", "masked_words", "next_sentence"), points)
    validation = {"loss": points, "masked_words": points, "masked_words_accuracy": points}
    charts = small_charts(Curves(training, validation, {}, None))
    shown = [Checked(chart.text).text for chart in charts]
    assert [text.split(" over steps")[0] for text in shown] == [
        "masked words",
        "next sentence",
        "masked words accuracy",
        "learning rate",
    ]
    assert "masked words from 3 to 2; validation from 3 to 2" in shown[0]


def test_places_are_powers_of_two() -> None:
    at = np.array([[2, 2, 2, 2, 1], [2, 4, 6, 8, 5], [2, 8, 18, 32, 25]], np.float64)
    found = places_of(at)
    assert [(one.first, one.last, one.count) for one in found] == [(1, 1, 2), (2, 2, 2), (3, 4, 4), (5, 5, 1)]
    assert [one.loss for one in found] == [1, 2, 3.5, 5]
    assert (found[2].low, found[2].high) == pytest.approx((3.5 - 1.96 * 0.25, 3.5 + 1.96 * 0.25))


def test_spans_are_counted_by_kind() -> None:
    true = [["B-A", "I-A", "O", "B-B"]]
    found = [["B-A", "O", "O", "B-B"]]
    of = {one.label: (one.precision, one.recall, one.support) for one in span_report(found, true)}
    assert of == {"A": (0, 0, 1), "B": (100, 100, 1)}


def test_the_plane_keeps_what_differs_most() -> None:
    """Four points on a line in three dimensions: one direction holds all, and distances stay."""
    line = np.array([[0, 0, 0], [1, 2, 2], [2, 4, 4], [4, 8, 8]], np.float32)
    points, shares = principal_plane(line)
    assert shares == (pytest.approx(1), pytest.approx(0, abs=1e-12))
    assert np.diff(points[:, 0]).tolist() == pytest.approx([3, 3, 6])
    assert points[:, 1].tolist() == pytest.approx([0] * 4, abs=1e-6)
    same, _ = principal_plane(np.ones((3, 1), np.float32))
    assert not same.any()


def test_points_are_grouped_by_label_or_by_number() -> None:
    vectors = np.eye(20, 5, dtype=np.float32)
    many = map_labels(vectors, ["t"] * 20, [f"l{n:02}" for n in range(19)] + ["l00"], [False] * 20, "mean")
    assert len(many.groups) == 12
    assert (many.groups[0], many.groups[-1], many.dots[18].group) == ("l00", "others", 11)
    numbers = map_numbers(vectors, ["t"] * 20, [float(n) for n in range(20)], "mean")
    assert [one.group for one in numbers.dots] == [n // 4 for n in range(20)]
    assert numbers.groups[0] == "0 to 3.8"


def test_a_heat_map_says_its_numbers() -> None:
    drawn = heat_map("What", ["a", "b"], [[8, 2], [0, 1]]).text
    assert "a → b: 2 of 10, 20.0\u202f%" in drawn
    assert drawn.count('class="heat wrong"') == 1
    assert "11 labels, 2 of them wrong." in drawn


def test_the_verb_writes_a_report_and_its_facts(
    reported: dict[str, tuple[Run, list[Reported]]], dragoman: CommandLine, tmp_path: Path
) -> None:
    done = dragoman("report", reported["numbers"][0].path, "--out", tmp_path / "r.html", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["measured"]["what"] == "numbers"
    assert (tmp_path / "r.html").is_file()
