"""Models that only read, from the command line and from Python: training, asking, measuring, and refusals."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.labels import evaluate_labels
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from labels import KINDS, command, small, written
from tiny import Corpus

LEARNED = {"training__steps": 120, "training__optimiser__rate": 0.03, "training__validate_every": 60}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="module")
def runs(corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for kind in KINDS:
        list(train(small(corpora[kind], kind, **LEARNED), folder / kind))
    return {kind: folder / kind for kind in KINDS}


def test_a_text_has_a_label(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["labels"])
    answers = pipeline.predict(["this film was lovely", "", "so dull it was"])
    assert [answer.text for answer in answers] == ["pos", "", "neg"]
    assert [one.text for one in answers[0].predictions] == ["pos", "neg"]
    assert math.fsum(math.exp(one.log_probability) for one in answers[0].predictions) == pytest.approx(1, abs=1e-6)
    assert pipeline.predict("a fine film").text == "pos"
    assert pipeline.spec() == {"source": "text", "target": "labels"}


def test_neighbours_change_nothing(runs: dict[str, Path], corpora: dict[str, Corpus]) -> None:
    for kind in ("labels", "tags"):
        pipeline = Pipeline.load(runs[kind])
        texts = ["the film", "a very very poor film it was", "dog", "this"]
        for text, answer in zip(texts, pipeline.predict(texts), strict=True):
            alone = pipeline.predict(text)
            assert (alone.text, alone.score) == (answer.text, pytest.approx(answer.score, abs=1e-5))


def test_words_have_tags(runs: dict[str, Path], dragoman: CommandLine) -> None:
    answer = Pipeline.load(runs["tags"]).predict("the dog  saw a cat")
    assert list(zip(answer.best.source_tokens, answer.tokens, strict=True)) == [
        ("the", "DET"),
        ("dog", "NOUN"),
        ("saw", "VERB"),
        ("a", "DET"),
        ("cat", "NOUN"),
    ]
    done = dragoman("predict", runs["tags"], stdin="the dog\n\ncat\n")
    assert done.out == "DET NOUN\n\nNOUN\n"
    [record] = map(json.loads, dragoman("predict", runs["tags"], "--json", stdin="the dog\n").out.splitlines())
    assert [(one["word"], one["tag"]) for one in record["words"]] == [("the", "DET"), ("dog", "NOUN")]
    assert all(0.25 < one["probability"] <= 1 for one in record["words"])


def test_two_texts_stand_beside_a_tab(runs: dict[str, Path], dragoman: CommandLine) -> None:
    pipeline = Pipeline.load(runs["pairs"])
    assert {pipeline.predict("a good\tthe fine").text, pipeline.predict("").text} <= {"same", "other", ""}
    done = dragoman("predict", runs["pairs"], stdin="a good\n")
    assert (done.code, "Line 1: this model reads two texts with a tab between them" in done.err) == (3, True)
    for bad in ("a\tb\tc", "a\t ", "\tb"):
        with pytest.raises(DataError, match="first<TAB>second"):
            pipeline.predict(bad)


def test_numbers_come_in_their_own_unit(runs: dict[str, Path], dragoman: CommandLine) -> None:
    pipeline = Pipeline.load(runs["numbers"])
    low, high = (pipeline.predict(text).score for text in ("the a it was is", "good great fine lovely this"))
    assert (low, high) == (pytest.approx(0, abs=8), pytest.approx(40, abs=8))
    done = dragoman("predict", runs["numbers"], "--json", stdin="good great fine lovely this\n\n")
    assert [json.loads(line)["number"] for line in done.out.splitlines()] == [pytest.approx(high, abs=1e-3), None]


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_validated_is_what_is_measured(
    runs: dict[str, Path], corpora: dict[str, Corpus], dragoman: CommandLine, kind: str
) -> None:
    done = dragoman("evaluate", runs[kind], "--on", corpora[kind].valid, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    lines = [json.loads(line) for line in (runs[kind] / "metrics.jsonl").read_text().splitlines()]
    best = [line["valid"] for line in lines if line.get("best")][-1]
    for name, value in found["metrics"].items():
        assert best[name] == pytest.approx(value["value"], abs=1e-3)
    rows = found["baselines"]["rows"]
    assert list(rows) == ["mean" if kind == "numbers" else "majority", "linear"]
    assert all(set(row["metrics"]) == set(found["metrics"]) for row in rows.values())
    if kind == "numbers":
        assert "classes" not in found
        return
    assert sum(map(sum, found["confusion"]["counts"])) == found["labels"]
    assert {name: sum(row) for name, row in zip(*found["confusion"].values(), strict=True)} == {
        name: one["support"] for name, one in found["classes"].items()
    }
    table = dragoman("evaluate", runs[kind], "--on", corpora[kind].valid)
    for word in ("precision", "recall", "support", "true ╲ said", f"{found['metrics']['accuracy']['value']:.2f}"):
        assert word in table.out


def test_metrics_may_be_chosen(runs: dict[str, Path], corpora: dict[str, Corpus], dragoman: CommandLine) -> None:
    done = dragoman("evaluate", runs["labels"], corpora["labels"].valid, "--metric", "macro_f1", "--json")
    assert list(json.loads(done.out)["metrics"]) == ["macro_f1"]
    done = dragoman("evaluate", runs["labels"], corpora["labels"].valid, "--metric", "acuracy")
    assert (done.code, "Did you mean 'accuracy'?" in done.err) == (2, True)


def test_labels_that_training_never_saw_are_wrong_and_told(
    runs: dict[str, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    (tmp_path / "test.tsv").write_text("sentence\tlabel\na lovely film\tpos\na dull film\tmixed\n")
    done = dragoman("evaluate", runs["labels"], tmp_path / "test.tsv", "--json")
    assert json.loads(done.out)["metrics"]["accuracy"]["value"] == 50
    assert "1 examples have labels that the model was never taught; they count as wrong" in done.err
    assert "test.tsv:3: the label 'mixed' does not occur in the training data" in done.err


def test_new_words_are_no_news_where_letters_are_read(
    runs: dict[str, Path], tmp_path: Path, dragoman: CommandLine
) -> None:
    (tmp_path / "test.conll").write_text("the\tB-NP\nwug\tI-NP\ngrok\tO\n")
    done = dragoman("evaluate", runs["chunks"], tmp_path / "test.conll", "--json")
    assert (done.code, "unknown to the model" in done.err) == (0, False), done.err


def test_other_columns_may_be_named(runs: dict[str, Path], tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "test.csv").write_text("what,said\npos,a lovely film\nneg,a dull film\n")
    done = dragoman("evaluate", runs["labels"], tmp_path / "test.csv", "data.text_field=said", "data.label_field=what")
    assert (done.code, "100.00" in done.out) == (0, True), done.err
    done = dragoman("evaluate", runs["labels"], tmp_path / "test.csv", "data.text_field=sad", "data.label_field=what")
    assert (done.code, "has no field 'sad'. Did you mean 'said'? It has 'what', 'said'." in done.err) == (3, True)


def test_numbers_that_are_none_are_left_out(runs: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "test.tsv").write_text("text\tscore\ngood film\t10\nbad film\tmany\nthe a it\t0\n")
    found = evaluate_labels(Pipeline.load(runs["numbers"]), [str(tmp_path / "test.tsv")])
    assert (found.items, found.classes) == (2, None)
    assert found.problems.first[0].reason == "'many' is no number"


def test_long_texts_are_cut_or_refused(runs: dict[str, Path], dragoman: CommandLine) -> None:
    done = dragoman("predict", runs["labels"], "limits.source=2", stdin="a lovely film it was\nfine\n")
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert "line 1 is longer than limits.source = 2 tokens; the rest was cut off" in done.err
    done = dragoman("predict", runs["labels"], "limits.source=2", "--longer", "refuse", stdin="a lovely film\n")
    assert (done.code, "Line 1 has 3 tokens; at most 2 are read at once" in done.err) == (3, True)
    for way in ("refuse", "cut"):  # what is cut off would have no tags
        done = dragoman("predict", runs["tags"], "limits.source=2", "--longer", way, stdin="a\nthe dog\n")
        assert (done.code, "Line 2 has 6 tokens" in done.err, "--longer split" in done.err) == (3, True, True)
    done = dragoman("predict", runs["tags"], "limits.source=2", stdin="a\nthe dog\n")
    assert (done.code, [len(line.split()) for line in done.out.splitlines()]) == (0, [1, 2])


def test_long_sentences_are_tagged_in_parts(runs: dict[str, Path]) -> None:
    """Six symbols at a time: the dog | saw a | cat."""
    pipeline = Pipeline.load(runs["tags"])
    whole = pipeline.reader.tags([["the", "dog"], ["saw", "a"], ["cat"]])
    parts = replace(pipeline.reader, limit=6).tags([["a"], ["the", "dog", "saw", "a", "cat"], []])
    assert parts[1].tokens == tuple(tag for one in whole for tag in one.tokens)
    assert parts[1].score == pytest.approx(sum(one.score for one in whole), abs=1e-5)
    assert (len(parts[0].tokens), parts[2].tokens) == (1, ())
    parts = list(replace(pipeline.reader, limit=3).in_parts(0, [0, 2, 3, 8], 9))  # words of 2, 1, 5 and 1 pieces
    assert [(part.first, part.last, part.starts) for part in parts] == [(0, 3, [0, 2]), (3, 6, [0]), (8, 9, [0])]


@pytest.mark.parametrize(
    ("line", "code", "sentence"),
    [
        (["look", "RUN", "a film"], 2, "This model has no heads to look at: its layers are recurrent"),
        (["score", "RUN", "DATA"], 2, "A score of pairs is for models that write an answer"),
        (["export", "RUN", "--to", "folder"], 2, "An export is for models that write an answer"),
        (["export", "RUN", "--to", "onnx"], 2, "An export is for models that write an answer"),
        (["export", "RUN", "--to", "ctranslate2"], 2, "An export is for models that write an answer"),
        (["predict", "RUN", "--beam", "3"], 2, "--beam is about texts that are written, and this model only reads"),
        (["predict", "RUN", "--n-best", "2"], 2, "--n-best is about texts that are written"),
        (["predict", "RUN", "--nothing"], 2, "--nothing is about texts that are written"),
        (["predict", "RUN", "--with", "RUN"], 2, "is for models that write an answer"),
        (["predict", "RUN", "--quantize", "int8"], 2, "is for models that write an answer"),
        (["predict", "RUN", "model.sentences=two"], 2, "model is part of what was trained"),
        (["evaluate", "RUN", "DATA", "--beam", "3"], 2, "--beam is about texts that are written"),
        (["evaluate", "RUN"], 2, "There is nothing to measure on"),
        (["compare", "DATA", "classify", "g2p"], 2, "classify learns from texts with labels (data.kind"),
        (["compare", "DATA", "spans"], 2, "A comparison is of pairs, conversations, captions, labelled or"),
        (["train", "DATA"], 2, "looks like labelled, and without a recipe pairs are learned. Name one: dragoman"),
        (["train", "classify"], 2, "There is nothing to train on: name a file of texts with labels"),
        (["train", "tag"], 2, "There is nothing to train on: name a file of words with tags"),
        (["train", "classify", "DATA", "data.kind=pairs"], 2, "set data.kind = 'labelled', not 'pairs'"),
        (["train", "classify", "DATA", "training.monitor=bleu"], 2, "is nothing that model.head.kind = 'labels' is"),
        (["train", "classify", "DATA", "model.head.kind=number", "training.monitor=accuracy"], 2, "Known: loss, pear"),
        (["train", "classify", "DATA", "objective.kind=squared_error", "model.head.kind=labels"], 2, "learned with"),
        (["train", "classify", "DATA", "regime.kind=free"], 2, "a model that only reads is fed nothing"),
        (["train", "classify", "DATA", "target.kind=words"], 2, "this model writes nothing, so that target.kind"),
        (["train", "classify", "DATA", "source.kind=bpe", "source.sampling=0.1"], 2, "source.sampling spells a text"),
        (["train", "g2p", "DATA", "data.kind=labelled", "model.kind=encoder_decoder"], 2, "a model that only reads"),
        (["train", "g2p", "DATA", "objective.kind=squared_error", "model.kind=encoder_decoder"], 2, "model writes"),
        (
            ["train", "classify", "DATA", "model.encoder.kind=transformer", "model.encoder.positions.kind=learned",
             "model.encoder.positions.length=64", "limits.source=62", "data.max_length=63"],
            2,
            "65 positions are needed, for 63 symbols, START and END",
        ),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)  # fmt: skip
def test_what_makes_no_sense_is_a_sentence(
    runs: dict[str, Path],
    corpora: dict[str, Corpus],
    tmp_path: Path,
    dragoman: CommandLine,
    line: list[str],
    code: int,
    sentence: str,
) -> None:
    names = {"RUN": runs["labels"], "DATA": corpora["labels"].train}
    out = ["--out", tmp_path / "out"] if line[0] in ("train", "compare") else []
    done = dragoman(*(names.get(word, word) for word in line), *out, stdin="a film\n")
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert sentence in done.err


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda pipeline: pipeline.score([("a", "b")]), "is for models that write an answer"),
        (lambda pipeline: pipeline.align("a", "b"), "is for models that write an answer"),
        (lambda pipeline: pipeline.heads("a"), "This model has no heads to look at: its layers are recurrent"),
    ],
)
def test_python_gets_the_same_sentence(
    runs: dict[str, Path], ask: Callable[[Pipeline], Iterable[object]], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        list(ask(Pipeline.load(runs["labels"])))


def test_damaged_labels_are_noticed(corpora: dict[str, Corpus], tmp_path: Path) -> None:
    out = tmp_path / "run"
    list(train(small(corpora["labels"], "labels", training__steps=2), out))
    path = out / "model/labels.json"
    path.write_text(path.read_text().replace("neg", "nag"))
    with pytest.raises(Exception, match=r"labels.json is damaged"):
        Pipeline.load(out)
    path.unlink()
    with pytest.raises(Exception, match=r"Cannot read .*labels.json"):
        Pipeline.load(out)


def test_training_tells_what_it_learns(corpora: dict[str, Corpus], tmp_path: Path, dragoman: CommandLine) -> None:
    done = dragoman(*command(corpora["labels"], "labels", tmp_path / "run"))
    assert done.code == 0, done.err
    assert "320 examples · " in done.err
    assert " · 2 labels · " in done.err
    assert "TSV with header, text = 'sentence', label = 'label'" in done.err
    done = dragoman("average", tmp_path / "run", "--json")
    assert (done.code, json.loads(done.out)["loss"] > 0) == (0, True)
    averaged = Pipeline.load(tmp_path / "run/averaged").predict("a lovely film")
    assert averaged.text in ("pos", "neg")


def test_a_matrix_that_is_too_wide_is_a_list() -> None:
    from dragoman.cli.labels import confusion_table
    from dragoman.metrics.classes import class_report

    report = class_report([["aaaa"], ["bbbb"], ["bbbb"]], [["aaaa"], ["aaaa"], ["bbbb"]])
    assert [column.header for column in confusion_table(report, 23).columns] == ["true ╲ said", "aaaa", "bbbb"]
    narrow = confusion_table(report, 22)
    assert [list(column.cells) for column in narrow.columns] == [["aaaa"], ["bbbb"], ["1"]]
