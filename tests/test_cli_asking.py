"""What is asked of predict and look on the command line, and what is refused before anything is answered."""

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman.cli.predict import as_columns
from dragoman.contracts import Answer, Prediction
from tiny import Corpus, run_all, tiny


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("asking") / "run"
    run_all(tiny(corpus, training__steps=20, training__save_every=20, training__validate_every=20), out)
    return out


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.txt"
    path.write_text("abc\nfed\n")
    return path


def test_a_trace_never_replaces_what_is_read(run: Path, lines: Path, dragoman: CommandLine) -> None:
    wanted = lines.with_name("wanted.jsonl")
    wanted.write_text("{}\n{}\n")
    alias = lines.with_name("alias")
    alias.symlink_to(lines)
    for trace, more in ((lines, []), (alias, []), (wanted, ["--constraints", wanted])):
        before = trace.read_text()
        done = dragoman("predict", run, lines, "--trace", trace, *more)
        assert done.code == 2
        assert "would be written over" in done.err
        assert trace.read_text() == before
    page = lines.with_name("page.html")
    page.write_text("abc\n")
    for verb in (["report", run, "--out", page], ["evaluate", run, "--search-report", page]):
        done = dragoman(*verb, "--on", lines, "--on", page)
        assert done.code == 2
        assert "would be written over" in done.err
        assert page.read_text() == "abc\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"must": ["a"], "never": ["a"]}', "no answer does both"),
        ('{"must": [""]}', "is empty"),
        ('{"prefix": "Ω"}', "no symbol for"),
        ('{"mst": ["a"]}', "Did you mean 'must'"),
        ('{"must": "a"}', "lists of texts"),
        ("[1]", "no JSON object"),
    ],
)
def test_an_error_in_a_file_of_constraints_names_its_line(
    run: Path, lines: Path, dragoman: CommandLine, line: str, message: str
) -> None:
    wanted = lines.with_name("wanted.jsonl")
    wanted.write_text(f"{{}}\n{line}\n")
    done = dragoman("predict", run, lines, "--constraints", wanted)
    assert done.code == 3
    assert f"{wanted}:2" in done.err
    assert message in done.err
    assert done.out == ""


def test_a_file_with_more_constraints_than_lines_is_told(run: Path, lines: Path, dragoman: CommandLine) -> None:
    wanted = lines.with_name("wanted.jsonl")
    wanted.write_text("{}\n{}\n{}\n")
    done = dragoman("predict", run, lines, "--constraints", wanted)
    assert done.code == 0
    assert "more lines than were answered" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["search.kind=exact", "--beam", 4], "--beam is the width of a beam, and search.kind=exact has none"),
        (["search.top_p=0.9"], "search.top_p belongs to search.kind = sampling"),
        (["--mean", "probabilities"], "--mean is of an ensemble"),
        (["--must", ""], "is empty"),
        (["--never", " "], "is empty"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    run: Path, lines: Path, dragoman: CommandLine, words: list[object], message: str
) -> None:
    done = dragoman("predict", run, lines, *words)
    assert done.code == 2
    assert message in done.err
    assert done.out == ""


def test_int8_is_asked_for_in_a_word(run: Path, lines: Path, dragoman: CommandLine) -> None:
    """Layers as small as these stay as they are."""
    plain, rounded = (dragoman("predict", run, lines, "--scores", "--quantize", how) for how in ("none", "int8"))
    assert (rounded.code, rounded.err) == (0, plain.err)
    assert rounded.out == plain.out != ""
    assert dragoman("evaluate", run, "--on", lines, "--on", lines, "--quantize", "int8").code == 0


def test_sources_that_a_model_does_not_know_are_told(run: Path, lines: Path, dragoman: CommandLine) -> None:
    assert "unknown to the model" not in dragoman("predict", run, lines).err
    lines.write_text("ÄÖÜ\n")
    assert "100% of the source symbols are unknown" in dragoman("predict", run, lines).err


def test_look_takes_settings_and_needs_a_text(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("look", run, "abc", "search.kind=sampling", "search.seed=5", "--beam", "--json")
    assert done.code == 0
    [tree] = map(json.loads, done.out.splitlines())
    assert tree["source"] == "abc"
    done = dragoman("look", run, "search.kind=sampling")
    assert done.code == 2
    assert "no text to look at" in done.err
    done = dragoman("look", run, "abc", "model.decoder.width=3")
    assert done.code == 2
    assert "part of what was trained" in done.err


def test_an_answer_stands_in_one_line() -> None:
    """Whatever symbols it is made of: files have a line for every line."""
    answer = Answer("a", (Prediction("b\r\n\x0bc\td\x1b[A", -1.0, -1.0, ()),))
    assert as_columns(answer, scores=True, alignments=False) == "b  c d [A\t-1.000000"
