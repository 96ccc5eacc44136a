"""Readers: only a line feed ends a line; what is bad is counted, located and skipped."""

import io
import json
import sys
from pathlib import Path

import pytest

from dragoman.config import ConfigError, to_toml, validate
from dragoman.data.readers.lines import KEPT, LONGEST_LINE
from dragoman.data.readers.pairs import (
    Pair,
    Pairs,
    Problems,
    fingerprint,
    quick_signature,
    read_lines,
    read_pairs,
    read_references,
)
from dragoman.errors import DataError


def written(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(*files: str) -> tuple[list[Pair], Problems]:
    problems = Problems()
    return list(read_pairs(files, problems)), problems


def test_a_table_gives_pairs_with_their_lines(tmp_path: Path) -> None:
    pairs, problems = read(written(tmp_path, "a.tsv", "ein Hund\ta dog\nzwei\ttwo"))
    assert pairs == [Pair("ein Hund", "a dog", 1), Pair("zwei", "two", 2)]
    assert (problems.count, problems.lines) == (0, 2)


def test_two_files_give_the_same_pairs(tmp_path: Path) -> None:
    source, target = written(tmp_path, "a.de", "ein\nzwei\n"), written(tmp_path, "a.en", "one\ntwo\n")
    assert read(source, target)[0] == [Pair("ein", "one", 1), Pair("zwei", "two", 2)]


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\r", "\ufeff", "\u00a0"])
def test_only_a_line_feed_ends_a_line(tmp_path: Path, inside: str) -> None:
    pairs, problems = read(written(tmp_path, "a.tsv", f"a{inside}b\tc\nd\te{inside}f\n"))
    assert pairs == [Pair(f"a{inside}b", "c", 1), Pair("d", f"e{inside}f", 2)]
    assert problems.count == 0


def test_byte_order_mark_and_carriage_return_are_removed_once(tmp_path: Path) -> None:
    pairs, _ = read(written(tmp_path, "a.tsv", b"\xef\xbb\xbfa\tb\r\nc\td\r\r\n"))
    assert pairs == [Pair("a", "b", 1), Pair("c", "d\r", 2)]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"\xff\tb", "not valid UTF-8"),
        (b"\xed\xa0\x80\tb", "not valid UTF-8"),  # a lone surrogate
        (b"a\0\tb", "holds a NUL"),
        (b"a\x1b\tb", "holds a control character"),
        ("a\u0080\tb".encode(), "holds a control character"),
        (b"ab", "no tab"),
        (b"a\tb\tc", "more than two columns"),
        (b"\tb", "empty source"),
        (b"a\t \xc2\xa0", "empty target"),
        (b" \t ", "empty source"),
        (b"", "empty line"),
        (b"   ", "empty line"),
        (b"a\t" + b"b" * (LONGEST_LINE + 3), "longer than 1,000,000 bytes"),
        (b"a\t" + b"b" * (LONGEST_LINE - 1), "longer than 1,000,000 bytes"),
    ],
)
def test_a_bad_line_is_located_and_skipped(tmp_path: Path, bad: bytes, reason: str) -> None:
    file = written(tmp_path, "a.tsv", b"x\ty\n" + bad + b"\nz\tw\n")
    pairs, problems = read(file)
    assert [pair.line for pair in pairs] == [1, 3]
    assert [str(problem) for problem in problems.first] == [f"{file}:2: {reason}"]
    assert problems.reasons == {reason: 1}


def test_a_line_of_exactly_the_limit_is_good(tmp_path: Path) -> None:
    pairs, _ = read(written(tmp_path, "a.tsv", b"a\t" + b"b" * (LONGEST_LINE - 2) + b"\r\nc\td\n"))
    assert [len(pair.target) for pair in pairs] == [LONGEST_LINE - 2, 1]


def test_a_line_of_ten_megabytes_is_never_whole_in_memory(tmp_path: Path) -> None:
    import tracemalloc

    file = written(tmp_path, "a.tsv", b"b" * 10_000_000 + b"\nc\td\n")
    tracemalloc.start()
    pairs, problems = read(file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == [Pair("c", "d", 2)]
    assert problems.count == 1
    assert peak < 5_000_000


def test_a_bad_line_of_a_parallel_file_skips_both(tmp_path: Path) -> None:
    source = written(tmp_path, "a.de", b"eins\n\xff\ndrei\n\nfu\xcc\x88nf\n")
    target = written(tmp_path, "a.en", b"one\ntwo\n \nfour\nfive\n")
    pairs, problems = read(source, target)
    assert [(pair.target, pair.line) for pair in pairs] == [("one", 1), ("five", 5)]
    assert [str(problem) for problem in problems.first] == [
        f"{source}:2: not valid UTF-8",
        f"{target}:3: empty line",
        f"{source}:4: empty line",
    ]


@pytest.mark.parametrize("shorter", [0, 1])
def test_parallel_files_of_different_lengths_are_refused(tmp_path: Path, shorter: int) -> None:
    contents = ["a\nb\nc\n", "a\nb\nc\n"]
    contents[shorter] = "a\nc\n"
    files = [written(tmp_path, name, content) for name, content in zip("xy", contents, strict=True)]
    counts = [2, 3] if shorter == 0 else [3, 2]
    with pytest.raises(DataError) as caught:
        read(*files)
    assert f"{files[0]} has {counts[0]} lines and {files[1]} has {counts[1]}" in str(caught.value)
    assert "nothing was done" in str(caught.value)


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    written(tmp_path, "train.tsv", "a\tb\n")
    with pytest.raises(DataError, match=r"There is no file .*trian\.tsv\. Did you mean 'train\.tsv'\?"):
        read(str(tmp_path / "trian.tsv"))
    with pytest.raises(DataError, match=r"Its folder .*nowhere does not exist either"):
        read(str(tmp_path / "nowhere" / "train.tsv"))


def test_what_cannot_be_read_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a folder, not a file"):
        read(str(tmp_path))
    with pytest.raises(DataError, match=r"is empty\. Give a file with at least one pair"):
        read(written(tmp_path, "empty.tsv", ""))
    with pytest.raises(DataError, match=r"is empty"):
        read(written(tmp_path, "mark.tsv", b"\xef\xbb\xbf"))
    with pytest.raises(DataError, match=r"Cannot read .*: Not a directory"):
        read(str(tmp_path / "empty.tsv" / "inside"))
    with pytest.raises(DataError, match=r"Cannot read .*null byte"):
        read("a\0b")
    with pytest.raises(DataError, match=r"no files of pairs\. Set data\.train .*data\.train=pairs\.tsv"):
        read()


def test_problems_are_bounded_in_memory_and_whole_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("from an earlier run\n")
    problems = Problems(path)
    for line in range(1, KEPT + 11):
        problems.add("a.tsv", line, "no tab")
    problems.close()
    assert (problems.count, len(problems.first)) == (KEPT + 10, KEPT)
    rows = [json.loads(line) for line in path.read_text().split("\n") if line]
    assert len(rows) == KEPT + 10
    assert rows[-1] == {"file": "a.tsv", "line": KEPT + 10, "reason": "no tab"}


def test_too_many_bad_lines_are_refused_with_the_reasons(tmp_path: Path) -> None:
    problems = Problems(tmp_path / "bad.jsonl")
    problems.add("a.tsv", 3, "no tab")
    problems.add("a.tsv", 7, "no tab")
    problems.add("a.tsv", 9, "empty source")
    problems.refuse_above(0.3, 10)
    with pytest.raises(DataError) as caught:
        problems.refuse_above(0.2, 10)
    message = str(caught.value)
    assert message.startswith("3 bad lines among 10 are more than data.max_bad = 0.2 allows; nothing was done.")
    assert "2 × no tab" in message
    assert "a.tsv:9: empty source" in message
    assert str(tmp_path / "bad.jsonl") in message
    assert message.endswith("Mend these lines, or raise data.max_bad to go on without them.")
    problems.close()


def test_references_are_grouped_by_source_in_order(tmp_path: Path) -> None:
    file = written(tmp_path, "a.tsv", "b\t1\na\t2\nb\t3\nb\t1\n")
    assert read_references((file,), Problems()) == [("b", ("1", "3", "1")), ("a", ("2",))]


def test_fingerprint_knows_contents_not_names(tmp_path: Path) -> None:
    one, same = written(tmp_path, "1", "a\tb\n"), written(tmp_path, "2", "a\tb\n")
    other = written(tmp_path, "3", "a\tc\n")
    assert fingerprint((one,)) == fingerprint((same,)) != fingerprint((other,))
    assert fingerprint((one, other)) != fingerprint((other, one))
    assert quick_signature((one,)) == [[4, Path(one).stat().st_mtime_ns]]
    with pytest.raises(DataError, match="There is no file"):
        quick_signature((str(tmp_path / "4"),))


def test_lines_to_predict_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(read_lines(written(tmp_path, "a", "a\u2028b\r\n\n c \n"))) == ["a\u2028b", "", " c "]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\ny")))
    assert list(read_lines("-")) == ["x", "y"]
    bad = written(tmp_path, "bad", b"a\n\xff\n")
    with pytest.raises(DataError, match=r"bad:2: not valid UTF-8\. Convert the file"):
        list(read_lines(bad))
    with pytest.raises(DataError, match=r"long:1: longer than 1,000,000 bytes\. Split the line"):
        list(read_lines(written(tmp_path, "long", b"a" * 1_000_001)))


def test_settings_take_files_and_pairs_of_files() -> None:
    assert validate(Pairs, {"train": "a.tsv"}).train == ("a.tsv",)
    assert validate(Pairs, {"train": ["a.tsv", ["a.de", "a.en"]]}).train == ("a.tsv", ("a.de", "a.en"))
    for wrong in ([["a", "b", "c"]], [["a"]], [""], 3, [3], [["a", ""]]):
        with pytest.raises(
            ConfigError, match=r"valid: must be files, e\.g\. .* or pairs of a source and a target file"
        ):
            validate(Pairs, {"valid": wrong})
    with pytest.raises(ConfigError, match="max_bad must be at most 1"):
        validate(Pairs, {"max_bad": 2})
    assert "share of bad lines" in to_toml(Pairs())


def test_a_summary_has_the_most_frequent_reasons() -> None:
    """However many there are, memory and messages stay small; halves of characters are written out."""
    problems = Problems()
    for number in range(1_200):
        problems.add("a.txt", number + 1, f"'{number}' is no name")
    problems.add("a.txt", 1_201, "'\ud800' is no name")
    problems.add("a.txt", 1_202, "'3' is no name")
    assert (problems.count, len(problems.reasons), problems.reasons["other reasons"]) == (1_202, 1_001, 201)
    lines = problems.summary().splitlines()
    assert (len(lines), lines[:2]) == (17, ["  201 × other reasons", "  2 × '3' is no name"])
    assert lines[10:12] == ["  and 991 more reasons", "The first:"]
    few = Problems()
    few.add("a.txt", 1, "'\ud800' is no name")
    assert few.summary().splitlines() == ["  1 × '\\ud800' is no name", "The first:", "  a.txt:1: '\\ud800' is no name"]
