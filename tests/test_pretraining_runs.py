"""Models that learn to read, from the command line and from Python: trained, measured, asked to fill gaps, refused."""

import json
from pathlib import Path

import pytest

from books import command, small, written
from command_line import CommandLine
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from dragoman.training.events import Validated
from tiny import Corpus, of_kind


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return written(tmp_path_factory.mktemp("books"))


@pytest.fixture(scope="module")
def run(books: Corpus, tmp_path_factory: pytest.TempPathFactory, dragoman: CommandLine) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    done = dragoman(*command(books, out, training__steps=30, training__optimiser__rate=0.01))
    assert done.code == 0, done.err
    assert " examples · " in done.err
    assert "next_sentence_accuracy" in done.err
    return out


def test_texts_are_measured(run: Path, books: Corpus, dragoman: CommandLine) -> None:
    """As at a validation of the best weights, whatever the batches, and the same every time."""
    done = dragoman("evaluate", run, books.valid, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    best = [row["valid"] for row in rows if row.get("best")][-1]
    assert {name: one["value"] for name, one in found["metrics"].items()} == pytest.approx(best, rel=1e-5)
    assert found["documents"] == 8
    assert 0 < found["follows"] < 1
    assert found["words"] >= found["examples"]
    again = json.loads(dragoman("evaluate", run, "--on", books.valid, "--json").out)
    assert again["metrics"] == found["metrics"]
    table = dragoman("evaluate", run, books.valid).out
    assert f"{found['metrics']['masked_word_accuracy']['value']:.2f}" in table
    assert "of 8 documents" in table


def test_gaps_are_filled(run: Path, dragoman: CommandLine) -> None:
    pipeline = Pipeline.load(run)
    [answer] = pipeline.predict(["ant ant [MASK] ant ."], n_best=3)
    assert len(answer.predictions) == 3
    words = [prediction.text.split()[2] for prediction in answer.predictions]
    assert len(set(words)) == 3
    assert answer.text == f"ant ant {words[0]} ant ."
    assert answer.predictions[0].score >= answer.predictions[1].score
    assert answer.best.source_tokens[2] == "[MASK]"
    several = pipeline.predict("[MASK] bee [MASK].\t[MASK] hen")
    assert len(several.tokens) == len(several.best.token_log_probabilities) == 3
    assert several.best.log_probability == pytest.approx(sum(several.best.token_log_probabilities))
    done = dragoman("predict", run, "--n-best", "2", "--scores", stdin="ant ant [MASK] ant.\n\n")
    assert done.code == 0, done.err
    first, second = done.out.split("\n")[:2]
    assert first.split("\t")[:3:2] == [one.text for one in answer.predictions[:2]]
    assert second == "\t0.000000"
    record = json.loads(dragoman("predict", run, "--json", stdin="ant [MASK]\n").out)
    assert record["predictions"][0]["tokens"]


def test_neighbours_change_nothing(run: Path) -> None:
    pipeline = Pipeline.load(run)
    lines = ["ant [MASK]", "bee bee [MASK] bee [MASK] bee", "", "[MASK]\thers"]
    for line, answer in zip(lines, pipeline.predict(lines, n_best=2), strict=True):
        alone = pipeline.predict(line, n_best=2)
        assert alone.text == answer.text
        assert alone.score == pytest.approx(answer.score, abs=1e-5)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("ant ant", r"Line 2 has no gap to fill. Write \[MASK\] in the place of a word"),
        ("ant\tant\t[MASK]", "Line 2 has 3 texts with tabs between them; this model reads two at most"),
        ("ant " * 21 + "[MASK]", r"Line 2 has 22 tokens; at most 21 are read at once \(limits.source\)"),
    ],
)
def test_lines_that_cannot_be_filled_are_told(run: Path, line: str, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Pipeline.load(run).predict(["[MASK] ant", line])
    with pytest.raises(ConfigError, match=r"n_best must be between 1 and the .* symbols"):
        Pipeline.load(run).predict("[MASK]", n_best=1000)


def test_next_sentences_alone_fill_no_gaps(books: Corpus, tmp_path: Path) -> None:
    events = list(train(small(books, model__head__learns="next_sentence", training__steps=10), tmp_path / "run"))
    assert set(of_kind(events, Validated)[-1].values) == {"loss", "next_sentence", "next_sentence_accuracy"}
    with pytest.raises(ConfigError, match="was taught next sentences alone"):
        Pipeline.load(tmp_path / "run").predict("ant [MASK]")


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        (["evaluate", "RUN"], 2, "There is nothing to measure on: name a file"),
        (["evaluate", "RUN", "BOOK", "--metric", "bleu"], 2, "--metric is about answers, and this model was taught to"),
        (["evaluate", "RUN", "EMPTY"], 3, "is empty. Give a file with at least a line of text"),
        (["evaluate", "RUN", "BLANK"], 3, "all lines are blank"),
        (["evaluate", "RUN", "ALONE"], 3, "holds one document, and half of the pairs"),
        (["predict", "RUN", "--prefix", "x"], 2, "--prefix is about answers"),
        (["predict", "RUN"], 3, "Line 1 has no gap to fill"),
        (["score", "RUN", "BOOK"], 2, "this one only reads"),
        (["export", "RUN", "--to", "onnx"], 2, "this one only reads"),
        (["train", "bert2018"], 2, "There is nothing to train on: name a text file"),
        (["train", "bert2018", "ALONE"], 3, "holds one document, and half of the pairs"),
        (["train", "bert2018", "BOOK", "model.head.lenght=5"], 2, "Did you mean 'length'?"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_what_makes_no_sense_is_a_sentence(
    books: Corpus, run: Path, tmp_path: Path, dragoman: CommandLine, line: list[str], code: int, sentence: str
) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "alone.txt").write_text("Ant ant.\nAnt.\n")
    names = {"RUN": run, "BOOK": books.valid, "EMPTY": tmp_path / "empty.txt", "BLANK": tmp_path / "blank.txt"}
    names["ALONE"] = tmp_path / "alone.txt"
    out = ["--out", tmp_path / "out"] if line[0] == "train" else []
    done = dragoman(*(names.get(word, word) for word in line), *out, stdin="ant ant\n")
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert sentence in done.err
