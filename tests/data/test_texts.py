"""Whole texts from plain files: what a document is, and what cannot be read."""

import gzip
from pathlib import Path

import pytest

from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Texts, read_texts, refuse_bad
from dragoman.errors import DataError

POEM = "\n\none\ntwo\n\n  \nthree\n"


def documents(files: list[str], kind: str = "blank_lines", problems: Problems | None = None) -> list[str]:
    """The documents, put together again."""
    found: list[str] = []
    for piece in read_texts(files, kind, problems or Problems()):
        found = [*found, piece.text] if piece.first else [*found[:-1], f"{found[-1]}\n{piece.text}"]
    return found


def test_blank_lines_stand_between_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(POEM)
    assert documents([str(tmp_path / "a.txt")]) == ["one\ntwo", "three"]


def test_a_file_can_be_one_document(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(POEM)
    (tmp_path / "b.txt").write_text("four")
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    assert documents(files, "files") == ["\n\none\ntwo\n\n  \nthree", "four"]
    assert documents(files) == ["one\ntwo", "three", "four"]


def test_files_may_be_compressed_and_patterns(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\n"))
    (tmp_path / "b.txt").write_text("two\n")
    data = Texts(train=(str(tmp_path / "*.txt*"),))
    assert documents(list(data.files("train"))) == ["one", "two"]
    assert data.has("train")
    assert not data.has("valid")
    assert data.files("test") == ()


def test_bad_lines_are_counted_and_located(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\n\xff\ntwo\n")
    problems = Problems()
    assert documents([str(tmp_path / "a.txt")], problems=problems) == ["one\ntwo"]
    assert [str(problem) for problem in problems.first] == [f"{tmp_path}/a.txt:2: not valid UTF-8"]
    refuse_bad(problems, 0.5)
    with pytest.raises(DataError, match=r"1 bad lines among 3 are more than data.max_bad = 0.1 allows"):
        refuse_bad(problems, 0.1)


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(DataError, match=r"a.txt is empty. Give a file with at least a line of text"):
        documents([str(tmp_path / "a.txt")])


@pytest.mark.parametrize("given", [[["a.de", "a.en"]], 7, [""]])
def test_texts_are_files(given: object) -> None:
    with pytest.raises(ValueError, match=r'must be files, e\.g\. \["one\.txt", "more-\*\.gz"\], not'):
        Texts(train=given)
