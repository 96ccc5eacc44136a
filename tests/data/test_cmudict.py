"""The demo's data: words with all their pronunciations in one split, stress stripped."""

import sys
from pathlib import Path

import pytest

from dragoman.data.readers import cmudict
from dragoman.errors import DataError


@pytest.fixture
def dictionary(tmp_path: Path) -> Path:
    path = tmp_path / "cmudict.dict"
    lines = [
        "a AH0",
        "a(2) EY1",
        "abbey AE1 B IY0",
        "d'artagnan D AH0 R T AE1 NG Y AH0 N # foreign french",
        "3d TH R IY1",
    ]
    path.write_text("\n".join([*lines, ""]), "utf-8")
    return path


def test_stress_variants_and_comments_are_stripped(dictionary: Path) -> None:
    assert list(cmudict.pronunciations(dictionary)) == [
        ("a", "AH"),
        ("a", "EY"),
        ("abbey", "AE B IY"),
        ("d'artagnan", "D AH R T AE NG Y AH N"),
    ]


def test_a_word_is_in_one_split_only(tmp_path: Path, dictionary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cmudict, "dictionary_path", lambda: dictionary)
    counts = cmudict.write_splits(tmp_path / "data")
    assert sum(counts.values()) == 4
    words = {
        name: {line.split("\t")[0] for line in (tmp_path / f"data/{name}.tsv").read_text("utf-8").split("\n") if line}
        for name in cmudict.SPLITS
    }
    assert not words["train"] & words["valid"]
    assert not words["train"] & words["test"]
    assert not words["valid"] & words["test"]


def test_writing_again_leaves_the_files_alone(
    tmp_path: Path, dictionary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cmudict, "dictionary_path", lambda: dictionary)
    cmudict.write_splits(tmp_path / "data")
    before = (tmp_path / "data/train.tsv").stat().st_mtime_ns
    cmudict.write_splits(tmp_path / "data")
    assert (tmp_path / "data/train.tsv").stat().st_mtime_ns == before


def test_without_the_package_the_next_step_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise cmudict.PackageNotFoundError(name)

    monkeypatch.setattr(cmudict, "files", missing)
    with pytest.raises(DataError, match=r"pip install 'dragoman\[demo\]'"):
        cmudict.dictionary_path()


def test_the_real_dictionary_is_found_without_importing_its_package() -> None:
    try:
        path = cmudict.dictionary_path()
    except DataError:
        pytest.skip("the demo extra is not installed")
    assert sum(1 for _ in cmudict.pronunciations(path)) > 100_000
    assert "cmudict" not in sys.modules
