"""dragoman look --beam: the search of a text, from a model to a tree."""

import json
import re
import shutil
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman import load
from dragoman.cli.look import look
from dragoman.cli.tree import searched
from dragoman.drawing.tree_text import tree_text
from dragoman.inspection import search_tree
from dragoman.pipeline import Pipeline
from tiny import Corpus, run_all, tiny


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("beam") / "run"
    run_all(tiny(corpus, training__steps=60, training__save_every=60, training__validate_every=60), out)
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return load(run, device="cpu")


def changed(run: Path, out: Path, **settings: str) -> Path:
    """A model folder whose config was edited by hand; a setting is a pattern and what takes its place."""
    shutil.copytree(run / "model", out)
    config = re.sub("# seal: .*\n", "", (out / "config.toml").read_text("utf-8"))
    for old, new in settings.values():
        config, count = re.subn(old, new, config, flags=re.MULTILINE | re.DOTALL)
        assert count == 1
    (out / "config.toml").write_text(config, "utf-8")
    return out


def test_a_tree_in_the_terminal(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed", "--beam", "--width", 4)
    assert done.code == 0, done.err
    first, second = done.out.split("\n\nfed → ")
    answer = pipeline.predict("abc", 4)
    assert first.startswith(f"abc → {answer.text}\n")
    assert "Stopped: " in first
    assert "\n  ● START" in first
    assert f"■ total {answer.best.log_probability:.2f} score {answer.score:.3f} #1" in first
    assert "#3" in first
    assert "#4" not in first
    assert "\x1b" not in done.out
    assert "● path of the best answer" in second
    assert "\x1b" not in dragoman("look", run, "a\x1b[2Jb", "--beam").out
    assert "\x1b[1;38;5;36m" in dragoman("look", run, "abc", "--beam", "--colour", "256").out


def test_the_tree_as_json(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "fed", "--beam", "--width", 4, "--n-best", 2, "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["source"], second["source"]) == ("abc", "fed")
    assert list(first) == ["source", "prefix", "longer", "nodes", "reason", "live", "answers"]
    by_number = {node["number"]: node for node in first["nodes"]}
    expected = pipeline.predict("abc", 4, 2).predictions
    for told, prediction in zip(first["answers"], expected, strict=True):
        assert (told["text"], told["finished"]) == (prediction.text, prediction.finished)
        node = by_number[told["node"]]
        assert node["total"] == pytest.approx(prediction.log_probability, abs=1e-4)
        symbols = []
        while True:
            symbols.append(node["symbol"])
            if not node["parent"]:
                break
            node = by_number[node["parent"]]
        assert symbols[::-1] == [*prediction.tokens, "END"]
    assert set(first["live"]) <= set(by_number)


def test_the_tree_as_a_page(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    done = dragoman("look", run, "abc", "fed", "--beam", "--html", tmp_path / "tree.html")
    assert (done.code, done.out) == (0, "")
    assert done.err == f"Wrote {tmp_path / 'tree.html'}.\n"
    page = (tmp_path / "tree.html").read_text("utf-8")
    assert page.count('class="search-tree"') == 2
    assert page.count('class="alignment-map"') == 2
    assert "looked at" in page
    assert "<script" not in page
    assert page.count("http") - page.count("http://www.w3.org/2000/svg") == page.count("http-equiv")


def test_a_search_starts_again_from_a_changed_beginning(run: Path, dragoman: CommandLine) -> None:
    tree = dragoman("look", run, "abc", "--beam", "--prefix", "g  g")
    assert tree.out.startswith("abc → g g")
    assert "● g g" in tree.out
    assert re.findall(r"^ *(\d+) ", tree.out, re.MULTILINE)[1:2] == ["3"]  # behind the line of numbers
    record = json.loads(dragoman("look", run, "abc", "--beam", "--prefix", "g g", "--json").out)
    assert record["prefix"] == "g g"
    assert min(node["step"] for node in record["nodes"]) == 3
    alignment = json.loads(dragoman("look", run, "abc", "--prefix", "g g", "--json").out)
    assert alignment["text"] == record["answers"][0]["text"]
    assert alignment["tokens"][:2] == ["g", "g"]


def test_the_best_answer_knows_where_it_looked(pipeline: Pipeline) -> None:
    for prefix in ("", "g g"):
        [found] = searched(pipeline, ["abc"], 3, None, prefix)
        tree, best = search_tree(found.trace, found.answer, prefix), found.answer.best.aligned()
        path = tree.path(tree.answers[0].number)
        rows = best.weights[len(best.weights) - len(path) :]
        assert [one.looked for one in path] == [best.source[row.index(max(row))] for row in rows]
        assert all(not one.looked for one in tree.branches if one.number not in tree.best)


@pytest.mark.parametrize("settings", [["search.kind=sampling"], ["search.kind=greedy"], ["search.groups=2"]])
def test_other_searches_have_trees(pipeline: Pipeline, settings: list[str]) -> None:
    wide = ["search.width=4"] if "search.groups=2" in settings else []
    other = pipeline.changed([*settings, *wide])
    for found in searched(other, ["ab", "a", "fedcba"], None, None, ""):
        tree = search_tree(found.trace, found.answer)
        assert len(tree.answers) == (1 if "search.kind=greedy" in settings else 3)
        assert len({one.number for one in tree.answers}) == len(tree.answers)
        for answer, prediction in zip(tree.answers, found.answer.predictions, strict=True):
            symbols = tuple(one.symbol for one in tree.path(answer.number) if one.fate != "ended")
            assert symbols == prediction.tokens
        assert "#1" in tree_text(tree)


def test_the_answer_of_least_risk_is_the_first(pipeline: Pipeline) -> None:
    drawn = pipeline.changed(["search.kind=sampling", "risk.utility=exact_match", "risk.candidates=8"])
    for found in searched(drawn, ["abc", "fed"], None, 2, ""):
        tree = search_tree(found.trace, found.answer)
        symbols = tuple(one.symbol for one in tree.path(tree.answers[0].number) if one.fate != "ended")
        assert symbols == found.answer.tokens


def test_a_text_that_is_split_is_searched_piece_by_piece(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    model = changed(run, tmp_path / "model", source=("^source = 1000", "source = 3"))
    done = dragoman("look", model, "abc", "fedcbag", "--beam", "--json")
    assert "text 2 is longer than limits.source = 3 tokens; it was split into 3" in done.err
    assert [json.loads(line)["source"] for line in done.out.splitlines()] == ["abc", "fed", "cb", "ag"]
    refused = dragoman("look", model, "fedcba", "--beam", "--prefix", "g")
    assert (refused.code, refused.out) == (3, "")
    assert "would be split" in refused.err


def test_an_answer_that_is_cut_is_marked(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    short = {"ratio": ("^ratio = 2.0", "ratio = 0.1"), "extra": ("^extra = 10", "extra = 1")}
    done = dragoman("look", changed(run, tmp_path / "model", **short), "fedcba", "--beam", "--width", 1)
    assert "Warning: the answer to text 1 was cut after 1 symbols" in done.err
    assert "#1 unfinished" in done.out
    assert "the longest answer that is allowed was reached" in " ".join(done.out.split())


def test_without_attention_there_is_a_tree_and_no_alignment(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = {"training__steps": 2, "training__save_every": 2, "training__validate_every": 2}
    run_all(tiny(corpus, model__decoder__attention__kind="none", **short), tmp_path / "run")
    capsys.readouterr()
    look(tmp_path / "run", ["abc"], beam=True, device="cpu")
    assert "● START" in capsys.readouterr().out
    look(tmp_path / "run", ["abc"], beam=True, html=tmp_path / "tree.html", device="cpu")
    page = (tmp_path / "tree.html").read_text("utf-8")
    assert 'class="search-tree"' in page
    assert "looked" not in re.sub("<style>.*?</style>", "", page)


def test_what_cannot_be_is_a_sentence(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    def refused(code: int, said: str, *words: object) -> None:
        done = dragoman("look", run, *words)
        assert (done.code, done.out) == (code, ""), done.err
        assert said in done.err
        assert "Traceback" not in done.err

    refused(2, "With --target nothing is searched for, so there is no tree", "abc", "--beam", "--target", "a")
    refused(2, "--entropy is of attention", "abc", "--beam", "--entropy")
    refused(2, "makes no SVG file. Leave out --beam or --svg.", "abc", "--beam", "--svg", tmp_path / "a.svg")
    refused(2, "makes no PNG file. Leave out --beam or --png.", "abc", "--beam", "--png", tmp_path / "a.png")
    refused(2, "--n-best says how many answers are marked in the tree of --beam", "abc", "--n-best", 2)
    refused(2, "so --prefix means nothing", "abc", "--target", "a", "--prefix", "a")
    refused(2, "Widen the beam as well: --width 9.", "abc", "--beam", "--width", 3, "--n-best", 9)
    refused(2, "between 1 and the width of the beam (3), not 0.", "abc", "--beam", "--width", 3, "--n-best", 0)
    refused(2, "at most 50 hypotheses side by side, not 51", "abc", "--beam", "--width", 51)
    refused(2, "A beam has a width of at least 1, not 0.", "abc", "--beam", "--width", 0)
    refused(3, "Text 2 is empty", "abc", "", "--beam")
    refused(3, "has a word or sign that the model has no symbol for", "abc", "--beam", "--prefix", "zebra")
    refused(2, "The prefix ' ' is empty", "abc", "--beam", "--prefix", " ")
    refused(6, "Cannot write", "abc", "--beam", "--html", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_exact_search_has_no_tree(run: Path, dragoman: CommandLine, tmp_path: Path) -> None:
    exact = changed(run, tmp_path / "model", search=(r"^\[search\]\n.*?\n(?=\[)", '[search]\nkind = "exact"\n\n'))
    done = dragoman("look", exact, "abc", "--beam")
    assert (done.code, done.out) == (2, "")
    assert "no trace. Choose search.kind=beam" in done.err
    assert dragoman("look", exact, "abc", "--beam", "--width", 2).code == 0
