"""Vectors of texts, from every kind of model: what they are, how they are written, and what is said of bad lines."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import labels
import texts
from command_line import CommandLine
from dragoman.data.labelled import collate_texts
from dragoman.data.tokenizers import START
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.inspection.report.vector_map import sampled
from dragoman.models import DecoderOnlyModel, EncoderOnlyModel
from dragoman.pipeline import Pipeline
from tiny import Corpus, tiny

LINES = [
    "this film was lovely",
    "so dull",
    "the dog",
    "a very very poor film it was and so it is",
    "this film was lovely",
]
LAYERS: dict[str, Any] = {
    "model__encoder__kind": "transformer",
    "model__encoder__heads": 2,
    "model__encoder__layers": 2,
    "model__encoder__feed_forward": 12,
}
FEW: dict[str, Any] = {"training__steps": 2, "evaluation__report": 0}
KINDS = ("labels", "pairs", "tags", "transformer", "one_way", "back", "translator", "gpt", "recurrent")


@pytest.fixture(scope="module")
def runs(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    data = {kind: labels.written(tmp_path_factory.mktemp(kind), kind, 40) for kind in ("labels", "pairs", "tags")}
    books = texts.written(tmp_path_factory.mktemp("books"), 20)
    settings = {kind: labels.small(data[kind], kind, **FEW) for kind in data}
    settings["transformer"] = labels.small(data["labels"], "labels", **FEW, **LAYERS, model__head__pool="first")
    settings["one_way"] = labels.small(data["labels"], "labels", **FEW, model__encoder__directions="one")
    settings["back"] = labels.small(data["labels"], "labels", **FEW, **LAYERS, model__encoder__directions="one")
    settings["translator"] = tiny(corpus, **FEW)
    settings["gpt"] = texts.small(books, **FEW, model__decoder__positions={"kind": "learned", "length": 16})
    settings["recurrent"] = texts.small(books, "zaremba2014", **FEW)
    for kind in KINDS:
        list(train(settings[kind], folder / kind))
    return {kind: folder / kind for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_vector_does_not_depend_on_its_neighbours(runs: dict[str, Path], kind: str) -> None:
    pipeline = Pipeline.load(runs[kind])
    for pool in ("mean", "max", "last"):
        together = pipeline.embed(LINES, pool)
        assert together.dtype == np.float32
        assert together.shape == (len(LINES), pipeline.embedder().width)
        for line, vector in zip(LINES, together, strict=True):
            np.testing.assert_allclose(pipeline.embed(line, pool), vector, atol=1e-6)
        in_windows = [one.values for one in pipeline.vectors(LINES, pool, window=2)]
        np.testing.assert_allclose(in_windows, together, atol=1e-6)
        assert np.abs(together[0] - together[1]).max() > 1e-4


def test_it_is_what_the_head_sees(runs: dict[str, Path]) -> None:
    """The first state of a Transformer that was trained so: its head reads the same vector."""
    pipeline = Pipeline.load(runs["transformer"])
    model = pipeline.read_weights()
    assert isinstance(model, EncoderOnlyModel)
    with torch.inference_mode():
        hidden = model.read(collate_texts(pipeline.source.encode(LINES))).hidden[:, 0]
    for pool in (None, "first", "cls"):
        np.testing.assert_allclose(pipeline.embed(LINES, pool), hidden.numpy(), atol=1e-6)
    lengths = np.linalg.norm(pipeline.embed(LINES, normalise=True), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)
    assert np.abs(pipeline.embed(LINES, "mean") - hidden.numpy()).max() > 1e-3


def test_a_language_model_has_read_the_text_and_no_more(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["gpt"])
    model = pipeline.model
    assert isinstance(model, DecoderOnlyModel)
    [row] = pipeline.target.encode(["to be"])
    fed = torch.tensor([[START, *row]])
    with torch.inference_mode():
        states = model.decode(fed, model.begin(collate_texts([row])))[0].hidden[0]
    np.testing.assert_allclose(pipeline.embed("to be", "last"), states[-1].numpy(), atol=1e-6)
    np.testing.assert_allclose(pipeline.embed("to be"), states.mean(0).numpy(), atol=1e-6)
    long = "to be or not to be"  # 18 characters, and there are positions for START and 15
    [one] = pipeline.vectors([long])
    assert (one.longer, one.symbols) == ("cut", 15)
    np.testing.assert_allclose(one.values, pipeline.embed(long[:15]), atol=1e-6)
    with pytest.raises(DataError, match=r"Line 2 has 18 tokens; at most 15 are read at once"):
        list(pipeline.vectors(["to", long], longer="refuse"))


def test_a_pair_of_texts_has_a_vector_and_so_has_one_alone(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["pairs"])
    alone, both, nothing = pipeline.embed(["a good", "a good\tthe fine", ""])
    assert np.abs(alone - both).max() > 1e-4
    assert not nothing.any()
    with pytest.raises(DataError, match=r"Line 2: this model reads two texts .* the line has 3"):
        pipeline.embed(["a", "a\tb\tc"])


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("gpt", "seen nothing but START"),
        ("translator", "without START"),
        ("one_way", "from first to last"),
        ("back", "from first to last"),
    ],
)
def test_a_first_state_that_has_not_read_the_text_is_refused(runs: dict[str, Path], kind: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=rf"The pooling 'first' \(cls\) makes no vector here: .*{reason}.* Take mean"):
        Pipeline.load(runs[kind]).embed("a", "cls")


def test_names_that_are_unknown_get_a_sentence(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("embed", runs["labels"], "--pool", "men", stdin="a\n")
    assert done.code == 2
    assert "No pooling is called 'men'. Did you mean 'mean'? Known: cls, first, last, max, mean." in done.err
    done = dragoman("embed", runs["labels"], "--out", tmp_path / "v.txt", stdin="a\n")
    assert done.code == 2
    assert "No kind of file for vectors is called '.txt'" in done.err
    for more, said in (
        ("--normalise", "Leave --normalise out"),
        ("--out=v.npy", "Leave --out or --search out"),
        ("--map=m.html", "Leave --search or --map out"),
    ):
        done = dragoman("embed", runs["labels"], "--search", "lines.txt", more, stdin="a\n")
        assert (done.code, said in done.err) == (2, True)


def test_vectors_are_an_array_or_json_lines(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in [*LINES, ""]))
    expected = Pipeline.load(runs["labels"]).embed([*LINES, ""], normalise=True)
    for name in ("v.npy", "v.jsonl"):
        done = dragoman("embed", runs["labels"], tmp_path / "lines.txt", "--normalise", "--out", tmp_path / name)
        assert (done.code, done.out) == (0, "")
        assert "1 empty lines have vectors of zeros; the first is line 6." in done.err
    np.testing.assert_allclose(np.load(tmp_path / "v.npy", allow_pickle=False), expected, atol=1e-6)
    written = (tmp_path / "v.jsonl").read_text().splitlines()
    assert [json.loads(line)["text"] for line in written] == [*LINES, ""]
    printed = dragoman("embed", runs["labels"], "--normalise", stdin=(tmp_path / "lines.txt").read_text())
    assert printed.out.splitlines() == written
    np.testing.assert_allclose([json.loads(line)["vector"] for line in written], expected, atol=1e-6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lines.txt", "v.jsonl", "v.npy"]


def test_bad_lines_are_located_and_leave_no_file(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_bytes(b"good\n\xff\xfe\n")
    done = dragoman("embed", runs["labels"], tmp_path / "lines.txt", "--out", tmp_path / "v.npy")
    assert (done.code, "lines.txt:2: not valid UTF-8" in done.err) == (3, True)
    assert [path.name for path in tmp_path.iterdir()] == ["lines.txt"]
    done = dragoman("embed", runs["labels"], "limits.source=3", "--longer", "cut", stdin="a a a a a\n")
    assert "line 1 is longer than limits.source = 3 tokens; the rest was cut off." in done.err
    assert json.loads(done.out)["longer"] == "cut"
    assert dragoman("embed", runs["labels"], stdin="").out == ""


def test_the_nearest_lines_of_a_file(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("".join(f"{line}\n" for line in ["", *LINES]))
    done = dragoman("embed", runs["labels"], "--search", tmp_path / "lines.txt", "--top", "2", stdin="so dull\n\n")
    assert done.code == 0, done.err
    query, first, second, _, empty, _ = done.out.splitlines()
    assert (query, empty) == ("so dull", "(an empty line is like nothing)")
    assert first == "   1.0000  line 3  so dull"
    assert second.startswith("   ")
    found = dragoman("embed", runs["labels"], "--search", tmp_path / "lines.txt", "--json", stdin="so dull\n\n").out
    near, none = map(json.loads, found.splitlines())
    vectors = Pipeline.load(runs["labels"]).embed(LINES, normalise=True)
    cosines = vectors @ vectors[1]
    best = np.argsort(-cosines, kind="stable")
    assert [one["line"] for one in near["found"]] == [place + 2 for place in best.tolist()]
    assert [one["cosine"] for one in near["found"]] == pytest.approx(cosines[best].tolist(), abs=1e-6)
    assert [one["text"] for one in near["found"]] == [LINES[place] for place in best.tolist()]
    assert none == {"query": "", "found": []}


def test_lines_are_drawn_as_points(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    page = tmp_path / "map.html"
    for kind in ("labels", "gpt"):
        done = dragoman("embed", runs[kind], "--map", page, stdin="".join(f"{line}\n" for line in [*LINES, ""]))
        assert (done.code, done.out) == (0, ""), done.err
        text = page.read_text("utf-8")
        assert text.count('class="shape c') >= len(LINES)
        assert "principal components" in text
        assert "script" not in text
    done = dragoman("embed", runs["gpt"], "--map", page, stdin="one\n")
    assert (done.code, "standard input has 1 lines that are not empty, and a map needs two" in done.err) == (3, True)
    some, total = sampled(iter(map(str, range(50))), 7)
    assert (len(some), total, some) == (7, 50, sorted(some, key=int))
    assert sampled(iter("ab"), 7) == (["a", "b"], 2)


def test_a_search_of_nothing_is_refused(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("")
    done = dragoman("embed", runs["labels"], "--search", tmp_path / "lines.txt", stdin="a\n")
    assert (done.code, "lines.txt is empty: there is no line to be found in it." in done.err) == (3, True)
    done = dragoman("embed", runs["labels"], "--search", "-", stdin="a\n")
    assert (done.code, "Give two files." in done.err) == (2, True)
