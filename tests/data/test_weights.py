"""Weights of corpora: how often an epoch has each pair, and the same order from any position on."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from dragoman.config import ConfigError, validate
from dragoman.data.order import Batching, Position, epoch_of, times_of, walk
from dragoman.data.readers.lines import FileStart, Problems
from dragoman.data.readers.pairs import Pair, Pairs
from dragoman.data.store import Store, build_store
from dragoman.data.tokenizers import Words, train_tokenizer

LETTERS = train_tokenizer(Words(), lambda: iter(["a"]))
BATCHING = Batching(tokens=40)


def weighted(folder: Path, weights: tuple[float, ...]) -> Store:
    """60 pairs of one corpus in two files, then 40 of another."""
    pairs = (Pair("a " * (1 + line % 5), "a", line) for line in range(1, 101))
    files = [FileStart("one.tsv", 0, 0), FileStart("more.tsv", 30, 0), FileStart("two.tsv", 60, 1)]
    problems = Problems(lines=100, files=files)
    store = build_store(folder / "s", pairs, LETTERS, LETTERS, Pairs(), "signed", 25, problems=problems)
    return replace(store, weights=weights)


def epoch(store: Store, number: int) -> Counter[int]:
    seen: Counter[int] = Counter()
    at = Position(number * store.chunks)
    for position, chunk, indices in walk(store, BATCHING, 7, at):
        seen.update(chunk.lines[indices].tolist())
        if epoch_of(position, store) > number:
            return seen
    raise AssertionError("a walk has no end")


def test_each_pair_comes_as_often_as_its_corpus_weighs(tmp_path: Path) -> None:
    store = weighted(tmp_path, (1.0, 2.5))
    first, second = epoch(store, 0), epoch(store, 1)
    for seen in (first, second):
        assert all(seen[line] == 1 for line in range(1, 61))
        assert all(seen[line] in (2, 3) for line in range(61, 101))
        assert 8 < sum(seen[line] == 3 for line in range(61, 101)) < 32
    assert first != second
    assert epoch(store, 0) == first
    assert store.epoch_size == 60 + 40 * 2.5


def test_weights_of_one_change_nothing(tmp_path: Path) -> None:
    plain, one = weighted(tmp_path / "1", ()), weighted(tmp_path / "2", (1.0, 1.0))
    batches = [list(islice(walk(store, BATCHING, 7, Position()), 40)) for store in (plain, one)]
    for (at, chunk, rows), (place, other, same) in zip(*batches, strict=True):
        assert at == place
        assert chunk.lines[rows].tolist() == other.lines[same].tolist()


def test_a_weighted_walk_goes_on_from_any_position(tmp_path: Path) -> None:
    store = weighted(tmp_path, (0.3, 1.7))
    whole = [(at, chunk.lines[rows].tolist()) for at, chunk, rows in islice(walk(store, BATCHING, 7, Position()), 60)]
    for stop in (0, 7, 31):
        rest = islice(walk(store, BATCHING, 7, whole[stop][0]), 59 - stop)
        assert [(at, chunk.lines[rows].tolist()) for at, chunk, rows in rest] == whole[stop + 1 :]


def test_no_chunk_is_without_an_example() -> None:
    assert times_of(np.full(5, 1e-9), 1, 0, 0).sum() == 1


def test_a_weight_is_no_million() -> None:
    with pytest.raises(ConfigError, match=r"weights must be at most 1000, not 1e\+18"):
        validate(Pairs, {"train": "a.tsv", "weights": [1, 1e18]})


@pytest.mark.parametrize(
    ("line", "place"), [(1, "one.tsv:1"), (30, "one.tsv:30"), (31, "more.tsv:1"), (99, "two.tsv:39")]
)
def test_a_line_has_a_place(tmp_path: Path, line: int, place: str) -> None:
    assert weighted(tmp_path, ()).place(line) == place
