"""Lines at prediction that are longer than the model reads, and lines that are no plain text."""

import json
from pathlib import Path

import pytest

from command_line import CommandLine
from dragoman import load
from dragoman.errors import ConfigError, DataError
from dragoman.pipeline import Pipeline
from dragoman.served import Limits
from tiny import Corpus, run_all, tiny


@pytest.fixture(scope="module")
def run(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads four characters at once."""
    out = tmp_path_factory.mktemp("longer") / "run"
    settings = {"training__steps": 60, "training__save_every": 60, "training__validate_every": 60, "limits__source": 4}
    run_all(tiny(corpus, **settings), out)
    return out


@pytest.fixture(scope="module")
def pipeline(run: Path) -> Pipeline:
    return load(run, device="cpu")


def test_split_is_the_default(pipeline: Pipeline) -> None:
    assert Limits().longer == "split"
    long, short = pipeline.predict(["abc def gab", "abc"], n_best=2)
    assert (long.longer, short.longer) == ("split", "")
    parts = pipeline.predict(["abc", "def", "gab"], n_best=2)
    assert long.text == " ".join(part.text for part in parts)
    assert long.tokens == tuple(token for part in parts for token in part.tokens)
    assert long.best.log_probability == pytest.approx(sum(part.best.log_probability for part in parts), abs=1e-4)
    assert long.score == pytest.approx(sum(part.score for part in parts) / 3, abs=1e-4)
    assert long.predictions[1].text == " ".join(part.predictions[1].text for part in parts)


def test_alignments_of_pieces_stay_right(pipeline: Pipeline) -> None:
    """The space between them is a token, of which no piece knows."""
    answer = pipeline.predict("abc def")
    assert answer.best.source_tokens == (*"abc", "<unk>", *"def", "</s>")
    first, second = pipeline.predict(["abc", "def"])
    assert answer.alignment is not None
    assert second.alignment is not None
    for row in answer.alignment:
        assert len(row) == 8
        assert sum(row) == pytest.approx(1, abs=1e-5)
    for row, alone in zip(answer.alignment[len(first.tokens) :], second.alignment, strict=True):
        assert row[:4] == (0.0, 0.0, 0.0, 0.0)
        assert row[4:] == pytest.approx(alone, abs=1e-5)


def test_a_long_line_of_spaces_and_one_piece(pipeline: Pipeline) -> None:
    answer = pipeline.predict("     abc")
    assert answer.best.source_tokens == (*["<unk>"] * 5, *"abc", "</s>")
    assert answer.alignment is not None
    assert [row[5:] for row in answer.alignment] == [
        pytest.approx(row, abs=1e-5) for row in pipeline.predict("abc").alignment or ()
    ]


def test_cut_and_refuse(pipeline: Pipeline) -> None:
    cut = pipeline.predict("abcdefg", longer="cut")
    assert (cut.text, cut.longer) == (pipeline.predict("abcd").text, "cut")
    lines = ["abc"] * 5 + ["abcdefg"]
    with pytest.raises(DataError, match=r"Line 6 has 7 tokens; at most 4 are read at once \(limits.source\)"):
        list(pipeline.stream(lines, window=2, longer="refuse"))
    with pytest.raises(ConfigError, match=r"No way with longer lines is called 'splt'. Did you mean 'split'\?"):
        pipeline.predict("abc", longer="splt")


def test_a_line_is_said_once(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, stdin="abc\nabcdefg\n")
    assert done.err == "Warning: line 2 is longer than limits.source = 4 tokens; it was answered in pieces.\n"
    done = dragoman("predict", run, "--longer", "cut", stdin="abcdefg\n")
    assert done.err == "Warning: line 1 is longer than limits.source = 4 tokens; the rest was cut off.\n"
    done = dragoman("predict", run, "--longer", "refuse", stdin="abc\nabcdefg\n")
    assert (done.code, done.out) == (3, "")
    assert "Line 2 has 7 tokens" in done.err
    done = dragoman("predict", run, "--json", stdin="abcdefg\nabc\n")
    assert [json.loads(line)["longer"] for line in done.out.splitlines()] == ["split", ""]


def test_many_lines_are_summarised(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, "--beam", 1, stdin="abc\n" + "abcdefg\n" * 17)
    assert done.out.count("\n") == 18
    assert done.err.count("\n") == 6
    assert "17 lines were longer than limits.source = 4 tokens; the first: line 2." in done.err


def test_evaluate_tells_of_longer_sources(run: Path, tmp_path: Path, dragoman: CommandLine) -> None:
    (tmp_path / "test.tsv").write_text("abc\tc b a\nabcdefg\tg f e d c b a\n")
    done = dragoman("evaluate", run, "--on", tmp_path / "test.tsv", "--json")
    assert "1 sources were longer than limits.source = 4 tokens; the first: source 2." in done.err
    assert json.loads(done.out)["longer"] == 1
    refused = dragoman("evaluate", run, "--on", tmp_path / "test.tsv", "--longer", "refuse")
    assert (refused.code, refused.out) == (3, "")
    assert "Line 2 has 7 tokens" in refused.err


@pytest.mark.parametrize(
    ("given", "same"),
    [
        (b"abc\r\nfed\r\n", b"abc\nfed\n"),
        (b"\xef\xbb\xbfabc\n", b"abc\n"),
        (b"abc", b"abc\n"),
        (b"\n", b"\n"),
        (b"   \n\xe3\x80\x80\n", b"\n\n"),
        (b" " * 5000 + b"\n", b"\n"),
    ],
    ids=["CRLF", "byte order mark", "no line feed at the end", "empty", "spaces", "many spaces"],
)
def test_lines_that_mean_the_same(run: Path, dragoman: CommandLine, given: bytes, same: bytes) -> None:
    done = dragoman("predict", run, stdin=given)
    assert (done.code, done.err) == (0, "")
    assert done.out == dragoman("predict", run, stdin=same).out


def test_a_line_of_ten_megabytes(run: Path, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, stdin=b"abc\n" + b"a" * 10_000_000 + b"\n")
    assert done.code == 3
    assert "standard input:2: longer than 1,000,000 bytes." in done.err


def test_a_nul_is_an_unknown_character(run: Path, pipeline: Pipeline, dragoman: CommandLine) -> None:
    done = dragoman("predict", run, stdin=b"a\0b\n")
    assert (done.code, done.out) == (0, pipeline.predict("a☃b").text + "\n")


def test_half_a_character(pipeline: Pipeline) -> None:
    with pytest.raises(DataError, match=r"lone surrogate.* in text 2, character 3"):
        pipeline.predict(["abc", "ab\ud800"])
