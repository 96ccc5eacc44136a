"""dragoman look at models that only read, and at language models: every head, in tables, maps and pages."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pages import Checked

import labels
import texts
from command_line import CommandLine
from dragoman.data.labelled import collate_texts
from dragoman.data.tokenizers import START
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import train
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline import Pipeline

# Layers and heads differ, so that neither is taken for the other.
LAYERS: dict[str, Any] = {
    "model__encoder__kind": "transformer",
    "model__encoder__heads": 2,
    "model__encoder__layers": 3,
    "model__encoder__feed_forward": 12,
}
FEW: dict[str, Any] = {"training__steps": 2, "evaluation__report": 0}
READING = ("labels", "pairs", "tags")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    settings = {
        kind: labels.small(labels.written(tmp_path_factory.mktemp(kind), kind, 40), kind, **FEW, **LAYERS)
        for kind in READING
    }
    books = texts.written(tmp_path_factory.mktemp("books"), 20)
    settings["gpt"] = texts.small(books, **FEW, model__decoder__positions={"kind": "learned", "length": 16})
    settings["recurrent"] = texts.small(books, "zaremba2014", **FEW)
    for kind, one in settings.items():
        list(train(one, folder / kind))
    return {kind: folder / kind for kind in settings}


@pytest.mark.parametrize("kind", READING)
def test_heads_of_a_model_that_only_reads(runs: dict[str, Path], kind: str) -> None:
    pipeline = Pipeline.load(runs[kind])
    assert pipeline.head_counts == {"encoder": (2, 2, 2)}
    text = "a good\tthe fine" if kind == "pairs" else "the dog saw"
    heads = pipeline.heads(text)
    assert (heads.source, heads.answer) == (text, pipeline.predict(text).text)
    assert heads.log_probability == pytest.approx(pipeline.predict(text).best.log_probability)
    assert heads.source_tokens[0] == "START"
    assert heads.source_tokens[-1] == "END"
    assert heads.source_tokens.count("END") == (2 if kind == "pairs" else 1)
    for one in heads.maps("encoder"):
        assert len(one.weights) == len(heads.source_tokens)
        assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in one.weights)
    assert [heads.map("encoder", 1, 1).weights == heads.map("encoder", 1, 2).weights] == [False]


def test_maps_are_what_the_encoder_saw(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["labels"])
    model = pipeline.read_weights()
    assert isinstance(model, EncoderOnlyModel)
    row = pipeline.source.encode(["so dull"])
    with torch.inference_mode():
        seen = model.encode(collate_texts(row), attention=True).attention
    for layer in (1, 2, 3):
        for head in (1, 2):
            expected = seen[f"encoder.{layer}"][0, head - 1].tolist()
            found = pipeline.heads("so dull").map("encoder", layer, head).weights
            assert [pytest.approx(one, abs=1e-6) for one in expected] == [list(one) for one in found]


def test_heads_of_a_language_model_look_back(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["gpt"])
    assert pipeline.head_counts == {"target": (2, 2)}
    heads = pipeline.heads("to be")
    assert (heads.source, heads.answer, heads.finished) == ("", "to be", True)
    assert (heads.rows("target"), heads.columns("target")[0]) == (heads.symbols, "START")
    assert len(heads.symbols) == 5
    for one in heads.maps("target"):
        for number, row in enumerate(one.weights):
            assert sum(row[: number + 1]) == pytest.approx(1, abs=1e-5)
            assert not any(row[number + 1 :])
    model = pipeline.model
    [symbols] = pipeline.target.encode(["to be"])
    fed = torch.tensor([[START, *symbols[:-1]]])
    with torch.inference_mode():
        logs, _ = model.logs(fed, model.begin(collate_texts([symbols])))
    expected = [logs[0, step, symbol].item() for step, symbol in enumerate(symbols)]
    assert heads.log_probabilities == pytest.approx(expected, abs=1e-5)


def test_what_there_is_to_look_at_in_a_terminal(runs: dict[str, Path], dragoman: CommandLine) -> None:
    plain = dragoman("look", runs["labels"], "so dull")
    assert plain.code == 0, plain.err
    assert "so dull → " in plain.out
    assert "encoder: the text looks at itself\n" in plain.out
    assert "END  START  mostly" in plain.out
    assert dragoman("look", runs["labels"], "so dull", "--heads").out == plain.out
    text = dragoman("look", runs["gpt"], "to be")
    assert text.out.startswith("to be  (log-probability -")
    assert "target: the text looks at itself so far" in text.out
    one = dragoman("look", runs["tags"], "the dog", "--layer", "3", "--head", "2")
    assert "encoder, layer 3, head 2" in one.out
    [record] = map(json.loads, dragoman("look", runs["gpt"], "to be", "--json").out.splitlines())
    assert (record["source"], record["text"], len(record["maps"])) == ("", "to be", 4)


def test_all_heads_on_a_page(runs: dict[str, Path], dragoman: CommandLine, tmp_path: Path) -> None:
    for kind in ("labels", "gpt"):
        done = dragoman("look", runs[kind], "so <b>dull</b>", "--html", tmp_path / "heads.html")
        assert done.code == 0, done.err
        page = Checked((tmp_path / "heads.html").read_text("utf-8"))
        assert page.tags.count("button") == (6 if kind == "labels" else 4)
        assert "so <b>dull</b>" in page.text


@pytest.mark.parametrize(
    ("kind", "more", "sentence"),
    [
        ("labels", ["--beam"], "A search as a tree is for models that write an answer to a source"),
        ("gpt", ["--beam"], "A search as a tree is for models that answer a source, and this is a language model"),
        ("labels", ["--target", "pos"], "A target, a beam or a prefix is for models that write an answer"),
        ("gpt", ["--prefix", "a"], "A target, a beam or a prefix is for models that answer a source"),
        ("labels", ["--layer", "4"], "There is no layer 4 of the kind encoder"),
        ("gpt", ["--kind", "source", "--layer", "1"], "This model has no heads of the kind source"),
        ("recurrent", [], "This model has no heads to look at: its layers are recurrent"),
        ("labels", ["--svg", "a.svg"], "makes no SVG file. One map becomes one: --layer 1 --head 1 --svg."),
    ],
)
def test_what_cannot_be_looked_at_gets_a_sentence(
    runs: dict[str, Path], dragoman: CommandLine, kind: str, more: list[str], sentence: str
) -> None:
    done = dragoman("look", runs[kind], "so", *more)
    assert (done.code, done.out, sentence in done.err) == (2, "", True), done.err


def test_a_text_that_cannot_be_read_is_refused(runs: dict[str, Path]) -> None:
    pipeline = Pipeline.load(runs["gpt"])
    with pytest.raises(DataError, match="Text 2 is empty"):
        pipeline.heads(["to", " "])
    with pytest.raises(DataError, match="Text 1 has 18 tokens, and the model reads at most 15 at once"):
        pipeline.heads("to be or not to be")
    with pytest.raises(ConfigError, match="its layers are recurrent"):
        Pipeline.load(runs["recurrent"]).heads("to be")
