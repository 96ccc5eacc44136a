"""Models that read frames, from the command line and from Python: asking, measuring, and refusals."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import CommandLine
from dragoman.data.readers.track import Feature, Track
from dragoman.errors import ConfigError, DataError
from dragoman.evaluation.labels import evaluate_labels
from dragoman.experiment import train
from dragoman.pipeline import Pipeline
from frames import KINDS, small, written
from tiny import Corpus

LEARNED = {"training__steps": 160, "training__optimiser__rate": 0.03, "training__validate_every": 60}
UP, DOWN = [[50.0, 0.0], [51.5, 1.0], [53.0, -2.0]], [[52.0, 0.0], [50.5, 1.0], [49.0, -2.0], [47.5, 0.0]]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Corpus]:
    return {kind: written(tmp_path_factory.mktemp(kind), kind) for kind in KINDS}


@pytest.fixture(scope="module")
def runs(corpora: dict[str, Corpus], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for kind in KINDS:
        list(train(small(corpora[kind], kind, **LEARNED), folder / kind))
    return {kind: folder / kind for kind in KINDS}


def test_a_sequence_has_a_label(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["labels"])
    answers = pipeline.predict([np.array(UP), DOWN, Track("t", (Feature("height", "m"),), np.array(UP), 1)])
    assert [answer.text for answer in answers] == ["up", "down", "up"]
    assert [answer.source for answer in answers] == ["1", "2", "3"]
    assert math.fsum(math.exp(one.log_probability) for one in answers[0].predictions) == pytest.approx(1, abs=1e-6)
    assert pipeline.predict(np.array(DOWN)).text == "down"
    assert pipeline.spec() == {"source": "frames", "target": "labels"}


def test_neighbours_change_nothing(runs: dict[str, Path]) -> None:
    for kind in KINDS:
        pipeline = Pipeline.load(runs[kind])
        together = pipeline.predict([np.array(UP), np.array(DOWN), np.array(UP[:1])])
        for one, answer in zip((UP, DOWN, UP[:1]), together, strict=True):
            alone = pipeline.predict(np.array(one))
            assert (alone.text, alone.score) == (answer.text, pytest.approx(answer.score, abs=1e-4))


def test_each_frame_has_a_label(runs: dict[str, Path], corpora: dict[str, Corpus]) -> None:
    pipeline = Pipeline.load(runs["tags"])
    answers = pipeline.predict(corpora["tags"].valid)
    records = [json.loads(line) for line in corpora["tags"].valid.read_text().splitlines()]
    right = [said == true for one, record in zip(answers, records, strict=True)
             for said, true in zip(one.tokens, record["labels"], strict=True)]  # fmt: skip
    assert sum(right) > 0.85 * len(right)


def test_long_ones_are_read_in_parts_or_cut(runs: dict[str, Path]) -> None:
    """A label of the whole is that of its beginning; labels of frames are those of parts."""
    pipeline = Pipeline.load(runs["tags"]).changed(["limits.source=2"])
    answer = pipeline.predict(np.array(DOWN))
    assert (len(answer.tokens), answer.longer) == (4, "split")
    parts = pipeline.predict([np.array(DOWN[:2]), np.array(DOWN[2:])])
    assert answer.tokens == parts[0].tokens + parts[1].tokens
    pipeline = Pipeline.load(runs["labels"]).changed(["limits.source=3"])
    assert pipeline.predict(np.array(UP + DOWN)).text == pipeline.predict(np.array(UP)).text
    with pytest.raises(DataError, match=r"'1' has 4 frames; at most 3 are read at once \(limits.source\). Have it cut"):
        pipeline.predict(np.array(DOWN), longer="refuse")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            np.zeros((3, 5)),
            r"Sequence 1 has the shape \(3, 5\), and this model reads \(frames, 2\): height \[m\], noise",
        ),
        (np.zeros((0, 2)), r"Sequence 1 has the shape \(0, 2\)"),
        (np.array([[1.0, math.nan]]), r"Sequence 1: 'noise' is missing \(data.missing=allow lets it be\)"),
        (np.array([[1.0, math.inf]]), "Sequence 1 holds infinite numbers"),
        ([[[1.0, 2.0], [3.0]]], r"Sequence 1 is no table of numbers: frames of 2 numbers each are wanted \(height"),
        ([[["high", "low"]]], "Sequence 1 is no table of numbers"),
    ],
)
def test_arrays_that_do_not_fit(runs: dict[str, Path], given: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        Pipeline.load(runs["labels"]).predict(given)


FILE = "id,height [m],noise\nrise,50,0\nrise,52,1\nrise,54,0\nfall,52,0\nfall,50,9\nfall,48,0\n"


def test_a_line_a_sequence(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text(FILE)
    assert dragoman("predict", runs["labels"], file).out == "rise\tup\nfall\tdown\n"
    first = dragoman("predict", runs["labels"], file, "--scores").out.splitlines()[0].split("\t")
    assert first[:2] == ["rise", "up"]
    assert 0.5 < float(first[2]) <= 1
    [record, _] = map(json.loads, dragoman("predict", runs["labels"], file, "--json").out.splitlines())
    assert (record["source"], record["label"], [*record["probabilities"]]) == ("rise", "up", ["up", "down"])


def test_a_line_a_frame(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "new.jsonl"
    file.write_text('{"id": "w", "frames": [[1, 0], [3, 0], [0.5, 0]]}\n')
    lines = [line.split("\t") for line in dragoman("predict", runs["tags"], file).out.splitlines()]
    assert [line[:2] for line in lines] == [["w", "1"], ["w", "2"], ["w", "3"]]
    assert [line[2] for line in lines] == ["first", "up", "down"]
    [record] = map(json.loads, dragoman("predict", runs["tags"], file, "--json").out.splitlines())
    assert [one["label"] for one in record["frames"]] == ["first", "up", "down"]


def test_a_number_of_a_sequence(runs: dict[str, Path], corpora: dict[str, Corpus]) -> None:
    result = evaluate_labels(Pipeline.load(runs["numbers"]), [str(corpora["numbers"].valid)])
    assert next(value.value for value in result.metrics if value.name == "pearson") > 90
    assert abs(Pipeline.load(runs["numbers"]).predict(np.array(UP)).score) > 20  # in the unit of the training data


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (FILE + "odd,1,\n", "new.csv:8: 'noise' is missing (data.missing=allow lets it be): its track is left out"),
        (FILE + "odd,1,2,3\n", "new.csv:8: 4 columns, and the header has 3"),
        (FILE.replace("noise", "nose"), "new.csv has no feature 'noise'. Did you mean 'nose'?"),
        (FILE.replace("[m]", "[km]"), "new.csv has height [km] where the training data has height [m]. Bring it to"),
        ("id,height,noise\n", "There is no sequence in"),
    ],
)
def test_bad_files_are_told(
    runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path, content: str, sentence: str
) -> None:
    (tmp_path / "new.csv").write_text(content)
    done = dragoman("predict", runs["labels"], tmp_path / "new.csv")
    assert (done.code, sentence in done.err) == (3, True), done.err


def test_the_rest_goes_on_where_that_is_asked_for(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(FILE.replace("fall,50,9", "fall,50,") + "last,50,0\nlast,52,0\nlast,54,0\n")
    done = dragoman("predict", runs["labels"], tmp_path / "new.csv")
    assert (done.code, "give --skip-bad to have such sequences left out" in done.err) == (3, True)
    done = dragoman("predict", runs["labels"], tmp_path / "new.csv", "--skip-bad")
    assert (done.code, done.out) == (0, "rise\tup\nlast\tup\n")
    assert "1 sequences were left out" in done.err
    assert "new.csv:6: 'noise' is missing" in done.err


def test_measured_label_by_label(runs: dict[str, Path], corpora: dict[str, Corpus], dragoman: CommandLine) -> None:
    done = dragoman("evaluate", runs["labels"], corpora["labels"].valid.with_name("test.csv"))
    assert "40 sequences" in done.out
    assert "true ╲ said" in done.out
    facts = json.loads(dragoman("evaluate", runs["tags"], corpora["tags"].valid, "--json").out)
    assert facts["metrics"]["accuracy"]["value"] > 85
    assert facts["labels"] > facts["items"] == 60
    assert list(facts["baselines"]["rows"]) == ["majority", "linear"]


def test_labels_that_training_never_saw_count_as_wrong(runs: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "new.csv"
    file.write_text("id,height,noise,label\na,50,0,up\na,54,0,up\nb,1,1,sideways\nc,1,,up\n")
    result = evaluate_labels(Pipeline.load(runs["labels"]), [str(file)])
    assert (result.items, result.unseen.count, result.problems.count) == (2, 1, 1)
    assert result.metrics[0].value <= 50


def test_vectors_of_sequences(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["labels"])
    one, several = pipeline.embed(np.array(UP)), pipeline.embed([np.array(UP), np.array(DOWN)], normalise=True)
    assert (one.shape, several.shape) == ((12,), (2, 12))
    assert np.linalg.norm(several, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert several[0] == pytest.approx(one / np.linalg.norm(one), abs=1e-5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("look", "RUN", "a text"), "What it says comes from `dragoman predict`"),
        (("embed", "RUN", "a.txt"), "This model reads no texts"),
        (("export", "RUN", "--to", "folder"), "An export is for models that write an answer"),
        (("score", "RUN", "a.tsv"), "is for models that write an answer to a source"),
        (("predict", "RUN", "a.csv", "--beam", "3"), "--beam is about texts that are written"),
        (
            ("predict", "RUN", "a.csv", "--engine", "ctranslate2"),
            "--engine ctranslate2 is for models that write an answer",
        ),
        (("evaluate", "RUN", "a.csv", "--engine", "ctranslate2"), "--engine ctranslate2 is for models that write an"),
        (("predict", "RUN", "a.csv", "--with", "RUN"), "--with is for models that write an answer to a text"),
        (("predict", "RUN", "a.csv", "search.width=2"), "search is for models that write texts, and would change"),
    ],
)
def test_what_is_for_texts_is_refused(
    runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    (tmp_path / "a.csv").write_text(FILE)
    for name in ("a.txt", "a.tsv"):
        (tmp_path / name).write_text("a\tb\n")
    given = [str(runs["labels"]) if word == "RUN" else str(tmp_path / word) if word[:2] == "a." else word
             for word in words]  # fmt: skip
    done = dragoman(*given)
    assert done.code in (2, 3)
    assert sentence in done.err, done.err


def test_a_text_model_reads_no_frames(runs: dict[str, Path], tmp_path: Path) -> None:
    from labels import small as texts
    from labels import written as reviews

    list(train(texts(reviews(tmp_path, "labels"), "labels", training__steps=1), tmp_path / "run"))
    with pytest.raises(ConfigError, match="Train one that reads frames: recipe classify-frames"):
        _ = Pipeline.load(tmp_path / "run").frame_reader


def test_a_damaged_scale_is_told(runs: dict[str, Path], tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs["labels"] / "model", tmp_path / "model")
    path = tmp_path / "model/scale.json"
    path.write_text(path.read_text().replace("height", "weight"))
    with pytest.raises(Exception, match=r"scale.json"):
        Pipeline.load(tmp_path / "model")
    path.unlink()
    with pytest.raises(Exception, match=r"scale.json"):
        Pipeline.load(tmp_path / "model")
