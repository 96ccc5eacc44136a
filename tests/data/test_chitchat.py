"""The chit-chat corpus, from its package's data file."""

import json
from pathlib import Path

import pytest

from dragoman.data.readers import chitchat
from dragoman.errors import DataError


def written(path: Path) -> Path:
    def said(*texts: str) -> list[dict[str, str]]:
        return [{"text": text, "sender": "x"} for text in texts]

    talk = [said("Hi", "how are\nyou?"), said("fine"), said(" "), said("good"), said("bye\u0007")]
    path.write_text(json.dumps({"a": {"messages": talk}, "short": {"messages": talk[:2]}, "odd": 3, "none": {}}))
    return path


def test_what_one_says_without_a_break_is_one_turn(tmp_path: Path) -> None:
    assert list(chitchat.conversations(written(tmp_path / "dataset.json"))) == [
        ("a", ["Hi how are you?", "fine", "good", "bye"])
    ]


def test_what_is_no_corpus_is_told(tmp_path: Path) -> None:
    file = tmp_path / "dataset.json"
    file.write_text("[1]")
    with pytest.raises(DataError, match="is not the chit-chat corpus"):
        list(chitchat.conversations(file))


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise chitchat.PackageNotFoundError(name)

    monkeypatch.setattr(chitchat, "files", missing)
    with pytest.raises(DataError, match=r"needs the chitchat-dataset package: pip install 'dragoman\[demo\]'"):
        chitchat.corpus_path()
    monkeypatch.setattr(chitchat, "files", lambda name: [])
    with pytest.raises(DataError, match=r"has no dataset.json"):
        chitchat.corpus_path()


def test_splits_are_written_once_and_share_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talks = {f"{n}": {"messages": [[{"text": f"{n} {turn}"}] for turn in range(4)]} for n in range(200)}
    (tmp_path / "dataset.json").write_text(json.dumps(talks))
    monkeypatch.setattr(chitchat, "corpus_path", lambda: tmp_path / "dataset.json")
    counts = chitchat.write_splits(tmp_path / "data")
    ids = {name: {json.loads(line)["id"] for line in (tmp_path / "data" / f"{name}.jsonl").open()} for name in counts}
    assert sum(counts.values()) == 200 == len(set.union(*ids.values()))
    assert counts["train"] > 150
    assert {split: len(found) for split, found in ids.items()} == counts
