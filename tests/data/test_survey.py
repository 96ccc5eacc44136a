"""The survey: exact counts on data whose faults are known, however little of it is in memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.cli.survey import bars
from dragoman.data import hashes
from dragoman.data.lengths import Lengths
from dragoman.data.readers.pairs import Pair, Pairs
from dragoman.data.survey import short_lines, summaries, survey_split
from dragoman.data.tokenizers import Words, train_tokenizer

LETTERS = train_tokenizer(Words(), lambda: iter(["a b c"]))


def silent(done: int) -> None: ...


def written(folder: Path, name: str, rows: list[tuple[str, str]]) -> str:
    path = folder / name
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return str(path)


def survey(data: Pairs, tokenizers: Any = None) -> dict[str, Any]:
    names = [name for name in ("train", "valid", "test") if data.has(name)]
    return summaries({name: survey_split(data, name, tokenizers, silent) for name in names})


def found(split: dict[str, Any]) -> dict[str, tuple[int, list[str]]]:
    return {
        item["name"]: (item["count"], [place.split("/")[-1] for place in item["places"]]) for item in split["findings"]
    }


@pytest.mark.parametrize("held", [7, 200_000])
def test_counts_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(hashes, "HELD", held)
    monkeypatch.setattr("dragoman.data.readers.pairs.BLOCK", 10)
    rows = [(f"source {number}", f"target {number}") for number in range(300)]
    train = rows + rows[:12] + [("source 5", "other"), ("same", "same"), ("x" * 40, "abcd"), ("", "empty")]
    valid = [*rows[290:300], ("source 1", "never seen"), ("new", "newer")]
    data = Pairs(
        train=(written(tmp_path, "train.tsv", train),),
        valid=(written(tmp_path, "valid.tsv", valid),),
        test=(written(tmp_path, "test.tsv", [("new", "test"), ("new", "test")]),),
    )
    summary = survey(data)
    assert (summary["train"]["lines"], summary["train"]["pairs"]) == (316, 315)
    assert found(summary["train"]) == {
        "empty source": (1, ["train.tsv:316"]),
        "duplicate pairs": (12, ["train.tsv:301", "train.tsv:302", "train.tsv:303"]),
        "same source, other target": (3, ["train.tsv:6", "train.tsv:306", "train.tsv:313"]),
        "odd length ratio (over 9)": (1, ["train.tsv:315"]),
        "identical sides": (1, ["train.tsv:314"]),
    }
    assert found(summary["valid"]) == {
        "pairs also in training": (10, ["valid.tsv:1", "valid.tsv:2", "valid.tsv:3"]),
        "sources also in training": (11, ["valid.tsv:1", "valid.tsv:2", "valid.tsv:3"]),
    }
    assert found(summary["test"]) == {"duplicate pairs": (1, ["test.tsv:2"])}
    assert summary["valid"]["findings"][0]["share"] == pytest.approx(10 / 12)
    lengths = summary["train"]["lengths"]["source"]["characters"]
    assert sum(lengths["counts"]) == 315
    assert lengths["longest"] == 40
    assert summary["train"]["coverage"] is None
    json.dumps(summary)


def test_tokens_are_looked_at_where_there_is_a_vocabulary(tmp_path: Path) -> None:
    rows = [("a b", "c"), ("a b c a", "x y")]
    data = Pairs(train=(written(tmp_path, "a.tsv", rows),), max_source_length=3)
    split = survey(data, {"source": LETTERS, "target": LETTERS})["train"]
    assert split["coverage"] == {"source": 1.0, "target": pytest.approx(1 / 3)}
    assert split["lengths"]["source"]["tokens"]["longest"] == 4
    assert found(split) == {"longer than the limits in tokens": (1, ["a.tsv:2"])}
    assert split["distinct_characters"] == {"source": 4, "target": 4}


def test_lengths_are_described_exactly() -> None:
    lengths = Lengths()
    import numpy as np

    lengths.add(np.array([1] * 60 + [2] * 39, np.int64))
    lengths.add(np.array([500], np.int64))
    assert lengths.as_json() == {
        "edges": [1, 2, 3, 501],
        "counts": [60, 39, 1],
        "mean": 6.38,
        "median": 1,
        "p99": 2,
        "longest": 500,
    }
    assert Lengths().as_json() is None
    assert bars([60, 39, 1, 0]) == "█▆▁ "


def test_few_lines_tell_what_matters(tmp_path: Path) -> None:
    good = Pairs(train=(written(tmp_path, "a.tsv", [("one", "1")]),))
    assert short_lines(survey(good), ["a.tsv: TSV"]) == ("a.tsv: TSV. Nothing odd in it.",)
    twice = Pairs(train=(written(tmp_path, "b.tsv", [("one", "1")] * 4),))
    lines = short_lines(survey(twice), [f"{n}.tsv: TSV" for n in range(9)])
    assert lines[0].endswith("3.tsv: TSV; 5 more files")
    assert lines[1] == f"train: 3 × duplicate pairs (75.00%), first at {tmp_path / 'b.tsv'}:2"


def test_hashes_find_nothing_in_nothing() -> None:
    with hashes.Hashes() as empty:
        for rows in empty.buckets():
            assert len(hashes.repeats(rows)) == len(hashes.several_targets(rows)) == 0
            assert len(hashes.shared_pairs(rows, rows)) == 0
        empty.add([Pair("a", "b", 3)])
        assert [hashes.shared_pairs(rows, rows).tolist() for rows in empty.buckets() if len(rows)] == [[3]]
