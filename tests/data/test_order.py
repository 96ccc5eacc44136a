"""Order: each example once an epoch, batches within the budget, and the same order from any position on."""

from collections import Counter
from itertools import islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.data.order import Batching, Position, epoch_of, plan, walk
from dragoman.data.readers.pairs import Pair, Pairs
from dragoman.data.store import Store, build_store
from dragoman.data.tokenizers import Words, train_tokenizer

LETTERS = train_tokenizer(Words(), lambda: iter(["a"]))


def stored(folder: Path, count: int, chunk: int) -> Store:
    lengths = np.random.default_rng(count).integers(1, 9, (count, 2)).tolist()
    pairs = (Pair("a " * source, "a " * target, line) for line, (source, target) in enumerate(lengths, start=1))
    return build_store(folder / "store", pairs, LETTERS, LETTERS, Pairs(), "signed", chunk)


def epochs(store: Store, batching: Batching, seed: int, count: int) -> list[tuple[Position, tuple[int, ...]]]:
    """(the position behind it, its lines) of every batch of the first epochs."""
    found = []
    for position, chunk, indices in walk(store, batching, seed, Position()):
        found.append((position, tuple(chunk.lines[indices].tolist())))
        if position == Position(count * store.chunks):
            return found
    raise AssertionError("a walk has no end")


@settings(max_examples=15, deadline=None)
@given(
    count=st.integers(1, 200),
    chunk=st.integers(1, 80),
    tokens=st.integers(1, 60),
    sentences=st.none() | st.integers(1, 9),
    seed=st.integers(0, 2**40),
    data=st.data(),
)
def test_an_epoch_is_exact_and_goes_on_from_any_position(
    count: int, chunk: int, tokens: int, sentences: int | None, seed: int, data: Any
) -> None:
    batching = Batching(tokens=tokens, sentences=sentences)
    with TemporaryDirectory() as folder:
        store = stored(Path(folder), count, chunk)
        seen = epochs(store, batching, seed, 3)
        for epoch in range(3):
            lines = Counter(line for at, batch in befores(seen) if epoch_of(at, store) == epoch for line in batch)
            assert lines == Counter(range(1, count + 1))
        stop = data.draw(st.integers(0, len(seen) - 1))
        again = walk(store, batching, seed, seen[stop][0])
        rest = [(position, tuple(part.lines[rows].tolist())) for position, part, rows in islice(again, 8)]
        assert rest[: len(seen) - stop - 1] == seen[stop + 1 : stop + 9]


def befores(seen: list[tuple[Position, tuple[int, ...]]]) -> list[tuple[Position, tuple[int, ...]]]:
    """Each batch with its own position instead of the next one's."""
    return list(zip([Position(), *(at for at, _ in seen[:-1])], (batch for _, batch in seen), strict=True))


def test_positions_only_grow(tmp_path: Path) -> None:
    store = stored(tmp_path, 50, 10)
    positions = [position for position, _ in epochs(store, Batching(tokens=30), 1, 2)]
    assert all(one < two for one, two in pairwise(positions))


def test_restoring_reads_no_other_chunk(tmp_path: Path, monkeypatch: Any) -> None:
    store = stored(tmp_path, 100, 10)
    read: list[int] = []
    original = Store.chunk
    monkeypatch.setattr(Store, "chunk", lambda self, number: (read.append(number), original(self, number))[1])
    next(walk(store, Batching(tokens=30), 1, Position(1_000_003, 2)))
    assert len(read) == 1


def test_seeds_and_epochs_differ(tmp_path: Path) -> None:
    store = stored(tmp_path, 60, 20)
    batching = Batching(tokens=40)
    first = [batch for _, batch in epochs(store, batching, 1, 1)]
    both = [batch for _, batch in epochs(store, batching, 1, 2)]
    other = [batch for _, batch in epochs(store, batching, 2, 1)]
    assert both[: len(first)] == first
    assert both[len(first) :] != first != other


def test_the_order_is_the_same_on_every_machine() -> None:
    lengths = np.array([1, 2, 3, 1, 2], np.int64)
    batches = plan(lengths, lengths, Batching(tokens=6), seed=1, epoch=0, chunk_number=0)
    assert [batch.tolist() for batch in batches] == RECORDED


RECORDED = [[2], [1, 4], [0, 3]]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1), st.integers(1, 50), st.integers(1, 6))
def test_batches_stay_within_the_budget(lengths: list[tuple[int, int]], tokens: int, sentences: int) -> None:
    source, target = np.array(lengths, np.int64).T
    for batch in plan(source, target, Batching(tokens=tokens, sentences=sentences), 5, 0, 0):
        widest = max(source[batch].max(), target[batch].max()) + 1
        assert len(batch) == 1 or (len(batch) <= sentences and len(batch) * widest <= tokens)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1), st.integers(1, 50))
def test_both_sides_count_with_their_padding(lengths: list[tuple[int, int]], tokens: int) -> None:
    source, target = np.array(lengths, np.int64).T
    for batch in plan(source, target, Batching(tokens=tokens, counts="both"), 5, 0, 0):
        computed = len(batch) * (source[batch].max() + 1 + target[batch].max() + 1)
        assert len(batch) == 1 or computed <= tokens


def test_one_example_is_one_batch(tmp_path: Path) -> None:
    store = stored(tmp_path, 1, 100_000)
    assert [batch for _, batch in epochs(store, Batching(), 1, 3)] == [(1,)] * 3


def test_little_is_padding() -> None:
    generator = np.random.default_rng(0)
    target = generator.integers(5, 40, 20_000)
    source = np.maximum(1, target + generator.integers(-4, 5, 20_000))
    batches = plan(source, target, Batching(), 1, 0, 0)
    real = sum(int(source[batch].sum() + target[batch].sum()) for batch in batches)
    held = sum(len(batch) * int(source[batch].max() + target[batch].max()) for batch in batches)
    assert 1 - real / held < 0.06


def test_neighbors_stand_in_one_batch() -> None:
    lines, lengths = np.array([4, 1, 4, 2, 1, 2]), np.full(6, 3)
    batches = plan(lengths, lengths, Batching(sentences=2, lengths="neighbors"), 1, 0, 0, lines=lines)
    assert sorted(lines[batch].tolist() for batch in batches) == [[1, 1], [2, 2], [4, 4]]


def test_mixed_batches_have_examples_of_any_length() -> None:
    """A hundred examples of each of eight lengths: similar ones stay together unless lengths are mixed."""
    lengths = np.repeat(np.arange(1, 9), 100)
    mixed, similar = (
        plan(lengths, lengths, Batching(tokens=10_000, sentences=20, lengths=how), 1, 0, 0)
        for how in ("mixed", "similar")
    )
    assert sorted(np.concatenate(mixed).tolist()) == list(range(800))
    assert all(len({*lengths[batch].tolist()}) >= 4 for batch in mixed)
    assert all(len({*lengths[batch].tolist()}) == 1 for batch in similar)
    within = plan(lengths, lengths, Batching(tokens=40, lengths="mixed"), 1, 0, 0)
    assert all(len(batch) * (lengths[batch].max() + 1) <= 40 for batch in within)
