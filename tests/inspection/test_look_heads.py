"""dragoman look --heads, from a Transformer to tables and pages, and the report's chapter on heads."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pages import Checked

from command_line import CommandLine, Done
from dragoman import load
from dragoman.contracts import Hypothesis
from dragoman.drawing.heads import Heads, Kind
from dragoman.errors import ConfigError, DataError
from dragoman.inspection.report import write_report
from dragoman.pipeline import Ensemble, Pipeline
from dragoman.pipeline.heads import look as look_at
from dragoman.pipeline.rows import Row
from dragoman.runs import Run
from tiny import Corpus, run_all, tiny

# An encoder of 1 layer with 4 heads, a decoder of 3 layers with 2.
TRANSFORMER = {
    "model__encoder__kind": "transformer",
    "model__encoder__layers": 1,
    "model__encoder__heads": 4,
    "model__encoder__feed_forward": 16,
    "model__decoder__kind": "transformer",
    "model__decoder__layers": 3,
    "model__decoder__heads": 2,
    "model__decoder__feed_forward": 16,
}
COUNTS = {"source": (2, 2, 2), "target": (2, 2, 2), "encoder": (4,)}


def trained(corpus: Corpus, out: Path, **model: object) -> Path:
    run_all(tiny(corpus, training__steps=30, training__save_every=30, training__validate_every=30, **model), out)
    return out


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(corpus, tmp_path_factory.mktemp("heads") / "run", **TRANSFORMER)


@pytest.fixture(scope="module")
def recurrent(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(corpus, tmp_path_factory.mktemp("heads") / "recurrent")


@pytest.fixture(scope="module")
def mixed(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Only its encoder has heads."""
    encoder = {name: value for name, value in TRANSFORMER.items() if "encoder" in name}
    return trained(corpus, tmp_path_factory.mktemp("heads") / "mixed", **encoder, model__decoder__bridge="zeros")


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return load(run, device="cpu")


def sentence(done: Done, code: int, *said: str) -> None:
    assert done.code == code, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    for words in said:
        assert words in done.err


def shapes(heads: Heads, kind: Kind) -> set[tuple[int, int]]:
    maps = [weights for layer in heads.weights[kind] for weights in layer]
    return {(len(weights), len(row)) for weights in maps for row in weights}


def test_every_head_of_every_layer(pipeline: Pipeline) -> None:
    assert pipeline.head_counts == COUNTS
    heads = pipeline.heads("abc", "c b a")
    assert (heads.source, heads.answer, heads.finished) == ("abc", "c b a", True)
    assert heads.source_tokens == ("a", "b", "c", "END")
    assert heads.symbols == ("c", "b", "a", "END")
    assert {kind: tuple(map(len, layers)) for kind, layers in heads.weights.items()} == COUNTS
    for kind in heads.weights:
        for one in heads.maps(kind):
            torch.testing.assert_close(torch.tensor(one.weights).sum(1), torch.ones(len(one.rows)))
    for one in heads.maps("target"):
        weights = torch.tensor(one.weights)
        torch.testing.assert_close(weights, weights.tril())


def test_maps_have_no_padding(pipeline: Pipeline) -> None:
    """Those of a short text beside a long one are those of the text alone."""
    together = pipeline.heads(["ab", "fedcba"], ["b a g", "a"])
    for heads, (written, read) in zip(together, ((4, 3), (2, 7)), strict=True):
        assert shapes(heads, "source") == {(written, read)}
        assert shapes(heads, "target") == {(written, written)}
        assert shapes(heads, "encoder") == {(read, read)}
    rows = [Row(tokens, "", 0) for tokens in pipeline.source.encode(["ab", "fedcba"])]
    found = [[Hypothesis(tuple(tokens), 0.0, 0.0, True)] for tokens in pipeline.target.encode(["b a g", "a"])]
    with torch.inference_mode():
        batch = pipeline.replay(rows, found, heads=True)
    for heads, [replayed] in zip(together, batch, strict=True):
        for name, weights in replayed.heads.items():
            kind, _, layer = name.rpartition(".")
            alone = torch.tensor([one.weights for one in heads.maps(kind) if one.layer == int(layer)])
            torch.testing.assert_close(weights, alone)


def test_maps_are_asked_for_or_not_made(pipeline: Pipeline) -> None:
    with torch.inference_mode():
        [[replayed]] = pipeline.replay([Row([5, 6], "", 0)], [[Hypothesis((5,), 0.0, 0.0, True)]])
    assert replayed.heads == {}
    assert replayed.weights is not None


def test_the_mean_of_all_heads_is_the_alignment(pipeline: Pipeline) -> None:
    answer = pipeline.predict("abcdef", beam=2)
    heads = pipeline.heads("abcdef", beam=2)
    assert heads.answer == answer.text
    assert heads.score == pytest.approx(answer.score, abs=1e-5)
    assert heads.log_probabilities == pytest.approx(answer.best.token_log_probabilities, abs=1e-5)
    torch.testing.assert_close(torch.tensor(heads.map("source").weights), torch.tensor(answer.alignment))


def test_given_targets_are_scored_as_by_align(pipeline: Pipeline) -> None:
    forced, heads = pipeline.align("abc", "a g"), pipeline.heads("abc", "a g")
    assert (heads.answer, heads.score) == (forced.text, pytest.approx(forced.score, abs=1e-5))


def test_an_unfinished_answer_has_no_end(pipeline: Pipeline) -> None:
    [tokens], [symbols] = pipeline.source.encode(["fedcba"]), pipeline.target.encode(["a b"])
    with torch.inference_mode():
        heads = look_at(
            pipeline, Row(tokens, "fedcba", 0), Hypothesis(tuple(symbols), -1.0, -1.0, finished=False), False
        )
    assert (heads.symbols, heads.finished) == (("a", "b"), False)
    assert heads.columns("target") == ("START", "a")
    assert shapes(heads, "target") == {(2, 2)}
    assert shapes(heads, "source") == {(2, 7)}


def test_the_least_risky_answer_is_looked_into(pipeline: Pipeline) -> None:
    careful = pipeline.changed(["risk.utility=edit_distance"])
    assert careful.heads("abcd", beam=4).answer == careful.predict("abcd", beam=4).text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.heads(" "), r"Text 1 is empty \(' '\)"),
        (lambda one: one.changed(["limits.source=3"]).heads("abcd"), r"Text 1 has 4 tokens, .* at most 3 at once"),
        (
            lambda one: one.heads("ab" * 400, "a"),
            r"Text 1 has 801 tokens and its answer 2 symbols, so that the maps of all 16 heads have 2,576,040 weights; "
            r"at most 2,000,000 are drawn\. With this model that is about 705 tokens",
        ),
    ],
    ids=["empty", "longer", "large"],
)
def test_what_cannot_be_looked_into(pipeline: Pipeline, change: Callable[[Pipeline], object], said: str) -> None:
    with pytest.raises(DataError, match=said):
        change(pipeline)


def test_models_without_heads(recurrent: Path, run: Path, pipeline: Pipeline) -> None:
    with pytest.raises(ConfigError, match="This model has no heads to look at"):
        load(recurrent, device="cpu").heads("abc")
    with pytest.raises(ConfigError, match="Several models that write together have no heads in common"):
        Ensemble([pipeline, load(run, device="cpu")]).heads("abc")


def test_a_transformer_that_only_reads(mixed: Path, dragoman: CommandLine) -> None:
    heads = load(mixed, device="cpu").heads("abc")
    assert list(heads.weights) == ["encoder"]
    sentence(
        dragoman("look", mixed, "abc", "--layer", 1), 2, "no heads of the kind source", "encoder (layer 1 with 4 h"
    )
    done = dragoman("look", mixed, "abc", "--kind", "encoder", "--layer", 1, "--head", 4)
    assert "encoder, layer 1, head 4" in done.out


def test_look_lists_all_heads(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "--heads", "--target", "c b a")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("abc → c b a  (score ")
    assert [line.partition(":")[0] for line in lines if " looks at " in line][:3] == ["source", "target", "encoder"]
    numbered = [line for line in lines if line.split() and line.split()[0].isdecimal()]
    assert len(numbered) == 6 + 6 + 4


def test_look_draws_one_head(run: Path, pipeline: Pipeline, dragoman: CommandLine, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = dragoman("look", run, "abc", "--layer", 2, "--head", 1, "--target", "c b")
    assert "\nsource, layer 2, head 1\n" in done.out
    first = pipeline.align("abc", "c b").token_log_probabilities[0]
    assert f"  c {first:7.3f} " in done.out
    assert "entropy " in done.out.splitlines()[-1]
    own = dragoman("look", run, "abc", "--kind", "target", "--layer", 3, "--target", "c b").out
    assert "target, layer 3, mean of the heads" in own
    assert own.splitlines()[2].split() == ["S"]  # START, downwards
    files = ("--svg", tmp_path / "a.svg", "--png", tmp_path / "a.png", "--html", tmp_path / "a.html")
    done = dragoman("look", run, "abc", "fed", "--layer", 1, *files)
    assert (done.code, done.out) == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-1.png", "a-1.svg", "a-2.png", "a-2.svg", "a.html"]
    assert "source, layer 1, mean of the heads" in Checked((tmp_path / "a.html").read_text("utf-8")).text


def test_look_at_heads_as_json(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "--heads", "--target", "c b", "--json")
    found = json.loads(done.out)
    assert (found["source"], found["text"], found["finished"]) == ("abc", "c b", True)
    assert [(one["kind"], one["layer"], one["head"]) for one in found["maps"]][:3] == [
        ("source", 1, 1),
        ("source", 1, 2),
        ("source", 2, 1),
    ]
    assert len(found["maps"]) == 16
    one = json.loads(dragoman("look", run, "abc", "--layer", 2, "--head", 2, "--target", "c b", "--json").out)
    assert one["columns"] == ["a", "b", "c", "END"]
    expected = pipeline.heads("abc", "c b").map("source", 2, 2).weights
    torch.testing.assert_close(torch.tensor(one["weights"]), torch.tensor(expected), atol=1e-5, rtol=0)
    assert {"entropy_share", "monotonicity", "kendall_tau", "agreement"} <= set(one)


def test_the_page_of_all_heads(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("look", run, "abc", "fed", "--heads", "--html", tmp_path / "heads.html")
    assert (done.code, done.out, done.err) == (0, "", f"Wrote {tmp_path / 'heads.html'}.\n")
    page = (tmp_path / "heads.html").read_text("utf-8")
    assert Checked(page).tags.count("button") == 2 * 16


def test_a_notebook_shows_the_page_in_a_frame(pipeline: Pipeline) -> None:
    assert Checked(pipeline.heads("abc", "c")._repr_html_()).tags == ["iframe"]


def test_look_says_what_cannot_be(run: Path, recurrent: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    def look(*words: object) -> Done:
        return dragoman("look", run, "abc", *words)

    sentence(look("--layer", 4), 2, "There is no layer 4 of the kind source", "source (layers 1 to 3 with 2 heads)")
    sentence(look("--layer", 1, "--head", 3), 2, "Layer 1 of the kind source has no head 3: its heads are 1 to 2.")
    sentence(look("--head", 1), 2, "Head 1 of which layer? Give a layer as well, 1 to 3 (--layer).")
    sentence(look("--kind", "encodr"), 2, "Did you mean 'encoder'?")
    sentence(look("--heads", "--layer", 1), 2, "--heads shows every head; --kind, --layer and --head draw one map.")
    sentence(look("--heads", "--svg", tmp_path / "a.svg"), 2, "makes no SVG file", "--layer 1 --head 1 --svg")
    sentence(look("--heads", "--entropy"), 2, "--entropy stands beside the rows of one map")
    sentence(look("--heads", "--beam"), 2, "--beam draws the search, which has no heads. Leave out --beam or --heads.")
    sentence(look("--layer", 1, "--beam"), 2, "Leave out --beam or --layer.")
    sentence(dragoman("look", run, "abc", " ", "--heads"), 3, "Text 2 is empty (' ')")
    for words in (("--heads",), ("--layer", 1)):
        sentence(dragoman("look", recurrent, "abc", *words), 2, "This model has no heads to look at")


def test_the_report_has_a_chapter_on_heads(run: Path, recurrent: Path, corpus: Corpus) -> None:
    page = write_report(Run(run), lines=40, device="cpu").read_text("utf-8")
    checked = Checked(page)
    assert "heads" in checked.names
    assert "Alignment by head" in checked.text
    assert page.count('class="small-map"') == 16
    without = write_report(Run(recurrent), lines=40, device="cpu").read_text("utf-8")
    assert "heads" not in Checked(without).names
    assert "small-map" not in without
