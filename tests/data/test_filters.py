"""Filters: which pairs are left out, each counted; and the pairs that are held out."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.config import ConfigError, validate
from dragoman.data.filters import Filters, sieved
from dragoman.data.readers.pairs import Pair, Pairs, Problems, read_split


def data(folder: Path, rows: list[tuple[str, str]], **settings: Any) -> Pairs:
    path = folder / "a.tsv"
    path.write_text("".join(f"{source}\t{target}\n" for source, target in rows))
    return validate(Pairs, {"train": str(path), **settings})


ROWS = [("ab", "c"), ("x" * 20, "yy"), ("x" * 20, "yyyy"), ("same", "same"), ("ab", "c"), ("ab", "d"), ("ab", "c")]


@pytest.mark.parametrize(
    ("filters", "kept", "counts"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7], {}),
        ({"min_characters": 2}, [2, 3, 4], {"short": 4}),
        ({"max_characters": 19}, [1, 4, 5, 6, 7], {"long": 2}),
        ({"max_ratio": 5}, [1, 3, 4, 5, 6, 7], {"ratio": 1}),
        ({"identical": "drop"}, [1, 2, 3, 5, 6, 7], {"identical": 1}),
        ({"duplicates": "drop"}, [1, 2, 3, 4, 6], {"duplicate": 2}),
        (
            {"duplicates": "drop", "max_ratio": 5, "identical": "drop"},
            [1, 3, 6],
            {"duplicate": 2, "ratio": 1, "identical": 1},
        ),
    ],
)
def test_what_is_left_out_is_counted(tmp_path: Path, filters: dict, kept: list[int], counts: dict) -> None:
    problems = Problems()
    pairs = list(read_split(data(tmp_path, ROWS, filters=filters), "train", problems))
    assert [pair.line for pair in pairs] == kept
    assert problems.filtered == counts


@pytest.mark.parametrize(
    ("filters", "kept", "counts"),
    [
        ({"max_characters": 24}, ["b", "ab", "b"], {"long": 1}),
        ({"max_ratio": 12}, ["b", "ab", "b"], {"ratio": 1}),
        ({"identical": "drop"}, ["x" * 25, "ab", "b"], {"identical": 1}),
    ],
)
def test_a_turn_is_compared_with_the_one_before_it(filters: dict, kept: list[str], counts: dict) -> None:
    """A history is longer than any turn, and would be left out for its length alone."""
    said = [("b", "b"), ("ab", "x" * 25), ("a" * 30 + "\x1ea", "ab"), ("\x1e".join("abcdefghijklm"), "b")]
    left_out = Counter[str]()
    pairs = [Pair(source, target, line) for line, (source, target) in enumerate(said, start=1)]
    found = sieved(validate(Filters, filters), pairs, np.empty(0, np.int64), left_out)
    assert [pair.target for pair in found] == kept
    assert left_out == counts


def test_many_duplicates_do_not_slow_every_block_down() -> None:
    repeated = np.arange(1, 8_000_000, 2)
    blocks = [[Pair("a", "b", 10_000 * n + line) for line in range(4)] for n in range(200)]
    started, left_out = time.process_time(), Counter[str]()
    kept = [pair.line for block in blocks for pair in sieved(Filters(duplicates="drop"), block, repeated, left_out)]
    assert time.process_time() - started < 1
    assert kept == [10_000 * n + even for n in range(200) for even in (0, 2)]
    assert left_out == {"duplicate": 400}
    assert len(sieved(Filters(duplicates="drop"), [Pair("a", "b", 9_000_001)], repeated, left_out)) == 1


def test_validation_data_is_not_filtered(tmp_path: Path) -> None:
    settings = data(tmp_path, ROWS, filters={"duplicates": "drop"})
    assert len(list(read_split(settings.changed(valid=settings.train), "valid", Problems()))) == 7


def test_duplicates_are_found_anew_when_the_file_changes(tmp_path: Path) -> None:
    settings = data(tmp_path, [("a", "b"), ("a", "b")], filters={"duplicates": "drop"})
    assert len(list(read_split(settings, "train", Problems()))) == 1
    data(tmp_path, [("a", "b"), ("c", "d"), ("e", "f")])
    assert len(list(read_split(settings, "train", Problems()))) == 3


def test_held_out_sources_are_apart_and_together(tmp_path: Path) -> None:
    rows = [(f"source {n % 200}", f"target {n}") for n in range(400)]
    settings = data(tmp_path, rows, hold_out=0.2)
    train = list(read_split(settings, "train", Problems()))
    valid = list(read_split(settings, "valid", Problems()))
    assert sorted(pair.line for pair in train + valid) == list(range(1, 401))
    assert 50 < len(valid) < 110
    assert {pair.source for pair in train}.isdisjoint(pair.source for pair in valid)
    assert settings.has("valid")
    own = settings.changed(valid=settings.train)
    assert len(list(read_split(own, "train", Problems()))) == 400
    with pytest.raises(ConfigError, match=r"hold_out must be at most 0\.5"):
        data(tmp_path, rows, hold_out=0.6)
