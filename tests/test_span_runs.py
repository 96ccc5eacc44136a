"""Answers in documents, from the command line and from Python: asking, measuring, no answer, windows, and refusals."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from command_line import CommandLine
from dragoman.data.questions import Window
from dragoman.data.readers.questions import Question
from dragoman.errors import DataError
from dragoman.evaluation.spans import evaluate_spans
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.pipeline.spans import Found, best_places, best_spans, legal
from labels import MARKS, PLAIN, command, small, written
from tiny import Corpus

LEARNED = {"training__steps": 60, "training__validate_every": 60, "training__save_every": 60}
LEARNED |= {"training__optimiser__rate": 0.03}
LONG = "left it was so the a film and very is this so the right dog it"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Every eighth question names a mark that is not there."""
    found = written(tmp_path_factory.mktemp("spans"), "spans")
    for path in (found.train, found.valid):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for record in lines[::8]:
            record |= {"question": "what follows down", "answer": None, "answer_start": None}
        path.write_text("".join(json.dumps(record) + "\n" for record in lines))
    return found


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    list(train(small(corpus, "spans", **LEARNED), out))
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return Pipeline.load(run)


def test_an_answer_is_copied_from_its_document(pipeline: Pipeline, run: Path, dragoman: CommandLine) -> None:
    document = "the film  left  dog was right cat"
    [found] = map(json.loads, ask(dragoman, run, "what follows left", document, "--json", "--n-best", "3"))
    assert (found["answer"], found["start"], found["end"]) == ("dog", 16, 19)
    assert (found["first_word"], found["last_word"]) == (3, 3)
    assert [document[one["start"] : one["end"]] for one in found["answers"]] == [
        one["answer"] for one in found["answers"]
    ]
    assert len({one["answer"] for one in found["answers"]}) == 3
    assert found["probability"] == found["answers"][0]["probability"] > 0.5
    assert sorted(one["probability"] for one in found["answers"])[::-1] == [
        one["probability"] for one in found["answers"]
    ]
    assert pipeline.predict("what follows right\tit left dog was right cat").text == "cat"
    assert pipeline.spec() == {"source": "text", "target": "spans"}


def ask(dragoman: CommandLine, run: Path, question: str, document: str, *more: str) -> list[str]:
    done = dragoman("predict", run, *more, stdin=json.dumps({"question": question, "document": document}) + "\n")
    assert done.code == 0, done.err
    return done.out.splitlines()


def test_lines_and_columns(run: Path, dragoman: CommandLine) -> None:
    done = dragoman(
        "predict", run, "--scores", stdin="what follows left\tit left dog was\n\nwhat follows down\tit was\n"
    )
    lines = [line.split("\t") for line in done.out.split("\n")]
    assert [line[0] for line in lines] == ["dog", "", "", ""]
    assert 0.5 < float(lines[0][1]) <= 1


def test_a_squad_file_is_asked(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    asked = [{"question": f"what follows {mark}", "id": mark} for mark in ("left", "right")]
    content = {"data": [{"paragraphs": [{"context": "it left dog was right cat", "qas": asked}]}]}
    (tmp_path / "dev.json").write_text(json.dumps(content))
    done = dragoman("predict", run, tmp_path / "dev.json", "--json")
    assert [(one["id"], one["answer"]) for one in map(json.loads, done.out.splitlines())] == [
        ("left", "dog"),
        ("right", "cat"),
    ]
    content["data"][0]["paragraphs"][0]["context"] = ""
    (tmp_path / "dev.json").write_text(json.dumps(content))
    done = dragoman("predict", run, tmp_path / "dev.json")
    assert (done.code, "question 1: empty document. Mend it" in done.err) == (3, True)


def test_what_was_validated_is_what_is_measured(
    run: Path, corpus: Corpus, dragoman: CommandLine, pipeline: Pipeline
) -> None:
    done = dragoman("evaluate", run, corpus.valid, "--json")
    found = json.loads(done.out)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    best = [line["valid"] for line in lines if line.get("best")][-1]
    assert {name: value["value"] for name, value in found["metrics"].items()} == {
        name: pytest.approx(best[name]) for name in ("exact_match", "f1")
    }
    assert (found["items"], found["unanswerable"]) == (60, 8)
    assert found["windowed"] > 0
    assert list(found["baselines"]["rows"]) == ["sentence", "window"]
    share = found["parts"]["with an answer"]["f1"] * 52 + found["parts"]["without an answer"]["f1"] * 8
    assert share / 60 == pytest.approx(best["f1"])
    table = dragoman("evaluate", run, corpus.valid, "--metric", "f1").out
    assert f"without an answer: f1 {found['parts']['without an answer']['f1']:.2f}" in table
    assert "60 questions, 8 of them without an answer" in table
    assert "exact_match" not in table
    alone = [answer.text for answer in map(pipeline.predict, corpus.valid.read_text().splitlines()[:9])]
    assert list(evaluate_spans(pipeline, [str(corpus.valid)]).answers[:9]) == alone  # neighbours change nothing


def test_windows_become_one_answer(pipeline: Pipeline) -> None:
    """The document has sixteen words, and a window room for eight."""
    answer = pipeline.predict(f"what follows right\t{LONG}", n_best=4)
    assert (answer.text, answer.longer) == ("dog", "split")
    assert answer.best.span is not None
    assert LONG[answer.best.span.start : answer.best.span.end] == "dog"
    cut = pipeline.predict(f"what follows right\t{LONG}", longer="cut")
    assert (cut.longer, "dog" in cut.text) == ("cut", False)
    with pytest.raises(
        DataError, match=r"Line 1 has a question of 3 and a document of 16 tokens; at most 8 .*and, with"
    ):
        pipeline.predict(f"what follows right\t{LONG}", longer="refuse")


def test_probabilities_are_over_all_spans_and_nothing(pipeline: Pipeline) -> None:
    """Of four different words there are 4 + 3 + 2 + 1 spans."""
    answer = pipeline.predict("what follows left\tit left dog was", n_best=20)
    assert len(answer.predictions) == 11
    assert math.fsum(math.exp(one.score) for one in answer.predictions) == pytest.approx(1)
    assert sum(one.span is None for one in answer.predictions) == 1
    longest = pipeline.changed(["extraction.longest=1"]).predict("what follows left\tit left dog was", n_best=20)
    assert {len(one.tokens) for one in longest.predictions} == {0, 1}


def test_a_threshold_decides_whether_there_is_an_answer(pipeline: Pipeline) -> None:
    line = "what follows down\tit left dog was"
    assert pipeline.predict(line).text == ""
    assert pipeline.changed(["extraction.threshold=1000"]).predict(line).text != ""
    asked = "what follows left\tit left dog was"
    assert pipeline.changed(["extraction.threshold=-1000"]).predict(asked).text == ""
    always = replace(pipeline.span_reader, may_be_nothing=False)
    [answer] = always.answers([Question("what follows down", "it left dog was")], n_best=99)
    assert all(one.span is not None for one in answer.predictions)


def test_windows_are_merged_with_a_pencil() -> None:
    """A document of four symbols, two windows of three that begin at 0 and 1, behind START, a symbol and END."""
    found = Found([], np.full((4, 2), -np.inf))
    first, second = (Window([5, 3, 6, 7, 8], place, 3, 3) for place in (0, 1))
    scores = np.array([[1, 1], [9, 9], [9, 9], [1, 0], [0, 2], [3, 0], [9, 9]], float)  # a start and an end a symbol
    found.add(first, scores)
    assert found.best.tolist() == [[1, 3], [2, 0], [3, -np.inf], [-np.inf, -np.inf]]
    assert found.nothing == 2
    found.add(second, scores + np.array([1.0, 0]))
    assert found.best.tolist() == [[1, 3], [2, 4], [3, 1], [4, -np.inf]]
    assert found.nothing == 2  # the least
    assert best_places(found.best.ravel(), 3).tolist() == [3, 6, 1]  # of equals the first


def test_a_span_begins_and_ends_with_more_than_a_space() -> None:
    """Symbols of a, a space and b: a, a_b and b are spans, of two symbols at most a and b."""
    places = [(0, 1), (2, 2), (2, 3)]
    assert legal(places, 3).astype(int).tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert legal(places, 2).astype(int).tolist() == [[1, 0], [0, 0], [1, 0]]
    scores = np.where(legal(places, 3), [[1.0, 9, 2], [9, 9, 9], [1, 0, 0]], -np.inf)
    assert best_spans("a b", places, scores, 2) == {"a b": (0, 2), "a": (0, 0)}
    assert best_spans("a a", places, scores, 9) == {"a a": (0, 2), "a": (0, 0)}


def test_what_is_outside_the_document_is_barred() -> None:
    from dragoman.data.labelled import collate_texts
    from dragoman.heads.spans import open_places, span_log_probabilities

    batch = collate_texts([[4, 5, 3, 6, 7], [4, 3, 6]])
    opened = open_places(batch)
    assert opened.long().tolist() == [[1, 0, 0, 0, 1, 1, 0], [1, 0, 0, 1, 0, 0, 0]]
    logs = span_log_probabilities(torch.zeros(2, 7, 2), batch)
    assert logs.exp()[0, :, 0].tolist() == pytest.approx([1 / 3, 0, 0, 0, 1 / 3, 1 / 3, 0])
    assert logs.exp()[1, :, 1].tolist() == pytest.approx([1 / 2, 0, 0, 1 / 2, 0, 0, 0])


def test_the_loss_is_the_mean_of_two_cross_entropies() -> None:
    """Uniform over START and two symbols of a document, and over START and one: (2 log 3 + 2 log 2) / 4."""
    from dragoman.data.chunk import Chunk, offsets
    from dragoman.data.encoding import flattened
    from dragoman.data.labelled import collate_labelled
    from dragoman.objectives.spans import place_log_probabilities

    source, target = flattened([[4, 5, 3, 6, 7], [4, 3, 6]]), flattened([[4, 5], [0, 0]])
    chunk = Chunk(source[0], offsets(source[1]), target[0], offsets(target[1]), np.arange(1, 3))
    batch = collate_labelled(chunk, np.arange(2), "spans")
    assert batch.target_tokens == 4
    logs = place_log_probabilities(torch.zeros(2, 7, 2), batch)
    assert -logs.sum() / 4 == pytest.approx((2 * math.log(3) + 2 * math.log(2)) / 4)


def test_matches_are_of_the_document_with_the_question() -> None:
    from dragoman.data.labelled import collate_texts
    from dragoman.frontends.matches import matched

    sources = collate_texts([[4, 5, 3, 6, 5, 4], [4, 3, 4, 4]]).sources
    found = matched(sources["source"].values, sources["segments"].values)
    assert found.long().tolist() == [[0, 0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 0, 0, 0]]


DATA = '{"question": "a", "document": "b c", "answer": "b", "answer_start": 0}\n'


@pytest.mark.parametrize(
    ("line", "stdin", "code", "sentence"),
    [
        (["predict", "RUN"], "what is it\n", 3, "Line 1: this model answers a question from a document, and"),
        (["predict", "RUN"], "a\tb\tc\n", 3, "has 3 columns between tabs"),
        (["predict", "RUN"], "a\t \n", 3, "Line 1: empty document. Give"),
        (["predict", "RUN"], '\n{"question": "a"}\n', 3, "Line 2: no field 'document'"),
        (["predict", "RUN"], "{broken\n", 3, "Line 1: no JSON object"),
        (["predict", "RUN", "--n-best", "0"], "a\tb\n", 2, "--n-best must be 1 or more, not 0"),
        (["predict", "RUN", "--beam", "3"], "a\tb\n", 2, "--beam is about texts that are written"),
        (["predict", "RUN", "--longer", "cut"], f"what follows left\t{LONG}\n", 0, "1 questions or documents were cut"),
        (["predict", "RUN", "limits.source=9"], "a\tb\n", 2, "limits.source = 9 leaves no room for a document"),
        (["evaluate", "RUN", "DATA", "--metric", "f2"], "", 2, "metric of spans is called 'f2'. Known: exact_match"),
        (["evaluate", "RUN", "DATA"], "", 0, "1 questions have answers that do not occur in their documents"),
        (["evaluate", "RUN", "DATA", "data.format=squad"], "", 3, "is no SQuAD JSON"),
        (["score", "RUN", "DATA"], "", 2, "A score of pairs is for models that write an answer"),
        (["train", "spans"], "", 2, "There is nothing to train on: name a file of questions with their documents"),
        (["train", "spans", "DATA"], "", 2, "training.monitor = 'f1' needs validation data: give --valid"),
        (["train", "spans", "DATA", "model.sentences=one", "model.matches=none"], "", 2, "set sentences = 'two'"),
        (["train", "spans", "DATA", "model.sentences=one"], "", 2, "matches = 'exact' compares two texts"),
        (["train", "spans", "DATA", "data.kind=labelled"], "", 2, "learns from questions with a document each: set"),
        (["train", "spans", "DATA", "objective.kind=cross_entropy"], "", 2, "'span_cross_entropy', not 'cross"),
        (["train", "spans", "DATA", "training.monitor=accuracy"], "", 2, "Known: loss, exact_match, f1"),
        (["train", "spans", "DATA", "data.max_length=20"], "", 2, "data.max_length = 20 leaves no room for a document"),
        (["train", "g2p", "DATA", "data.kind=questions", "model.kind=encoder_decoder"], "", 2, "model that only reads"),
        (["train", "g2p", "DATA", "objective.kind=span_cross_entropy", "model.kind=encoder_decoder"], "", 2,
         "is for answers in documents, and this model writes symbols"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)  # fmt: skip
def test_what_makes_no_sense_is_a_sentence(
    run: Path, tmp_path: Path, dragoman: CommandLine, line: list[str], stdin: str, code: int, sentence: str
) -> None:
    (tmp_path / "data.jsonl").write_text(DATA + DATA.replace('"answer": "b"', '"answer": "x"'))
    names: dict[str, Any] = {"RUN": run, "DATA": tmp_path / "data.jsonl"}
    out = ["--out", tmp_path / "out"] if line[0] == "train" else []
    done = dragoman(*(names.get(word, word) for word in line), *out, stdin=stdin)
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert sentence in done.err


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        ('"answer": "x"', "train.jsonl:3: the answer does not occur in its document"),
        ('"answer": "c"', "train.jsonl:3: the answer does not stand at answer_start, but elsewhere"),
    ],
)
def test_an_answer_outside_its_document_is_told(tmp_path: Path, bad: str, sentence: str) -> None:
    for name in ("train", "valid"):
        (tmp_path / f"{name}.jsonl").write_text(DATA * 2 + DATA.replace('"answer": "b"', bad))
    corpus = Corpus(tmp_path / "train.jsonl", tmp_path / "valid.jsonl")
    with pytest.raises(DataError, match=f"1 bad lines among 3 (?s:.*){sentence}"):
        list(train(small(corpus, "spans"), tmp_path / "run"))


def test_training_tells_what_it_learns_from(corpus: Corpus, tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman(*command(corpus, "spans", tmp_path / "run", training__steps=2))
    assert done.code == 0, done.err
    assert " windows of questions and documents · " in done.err
    assert "train.jsonl: JSON lines" in done.err


@pytest.mark.slow
def test_it_starts_from_a_model_that_has_learned_to_read(tmp_path: Path, corpus: Corpus, dragoman: CommandLine) -> None:
    lines = [f"{one} {two} {three} ." for one in PLAIN for two in MARKS for three in ("what", "follows")]
    text = tmp_path / "books.txt"
    text.write_text("\n\n".join("\n".join(lines[place::6]) for place in range(6)) + "\n")
    brief = ["training.estimate=false", "training.threads=1", "evaluation.report=0", "--steps", "2"]
    body = ["--valid", text, "--scale", "tiny", "--out", tmp_path / "bert", "source.kind=words"]
    done = dragoman("train", "bert2018", text, *body, *brief)
    assert done.code == 0, done.err
    files = [corpus.train, "--valid", corpus.valid, "--scale", "tiny", "--out", tmp_path / "spans"]
    done = dragoman("train", "spans", *files, "--from", tmp_path / "bert", *brief)
    assert done.code == 0, done.err
    assert "new: the head (256 weights), the vector of matches" in done.err
    assert Pipeline.load(tmp_path / "spans").predict("what follows left\tit left dog was").source == "what follows left"
