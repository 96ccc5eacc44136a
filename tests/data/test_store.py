"""The store: every example once, mixed, whole or not there."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dragoman.data import columns as layout
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.filters import Filters
from dragoman.data.readers.pairs import Pair, Pairs, Problems, read_pairs, read_split
from dragoman.data.store import Store, build_store
from dragoman.data.tokenizers import Tokenizer, Words, train_tokenizer
from dragoman.data.tokenizers.base import Learned, Normaliser
from dragoman.errors import DataError, StorageError

LETTERS = train_tokenizer(Words(), lambda: iter(["a b c d e"]))


def corpus(count: int) -> Iterator[Pair]:
    """Sorted by length: source of 1, 2, … words; target one word shorter, at least one."""
    for line in range(1, count + 1):
        length = 1 + line * 7 // count
        yield Pair(" ".join("abcde"[i % 5] for i in range(length)), "b " * max(1, length - 1), line)


def built(folder: Path, count: int, chunk: int = 10, **limits: object) -> Store:
    settings = Pairs.model_validate(limits)
    return build_store(folder / "store", corpus(count), LETTERS, LETTERS, settings, "signed", chunk)


def examples(chunk: Chunk) -> Iterator[tuple[int, str, str]]:
    for i in range(chunk.size):
        source = chunk.source[chunk.source_offsets[i] : chunk.source_offsets[i + 1]].tolist()
        target = chunk.target[chunk.target_offsets[i] : chunk.target_offsets[i + 1]].tolist()
        yield int(chunk.lines[i]), LETTERS.decode(source), LETTERS.decode(target)


def everything(store: Store) -> list[tuple[int, str, str]]:
    return sorted(row for number in range(store.chunks) for row in examples(store.chunk(number)))


@pytest.mark.parametrize("count", [1, 5, 14, 16, 95])
def test_every_example_is_there_exactly_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(layout, "DEALT", 16)
    store = built(tmp_path, count)
    assert everything(store) == [(pair.line, pair.source, pair.target.strip()) for pair in corpus(count)]
    assert len(store) == count
    assert store.chunks == max(1, round(count / 10))


def test_chunks_are_equal_and_mixed_even_if_the_corpus_is_sorted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "DEALT", 64)
    store = built(tmp_path, 1003, chunk=200)
    chunks = [store.chunk(number) for number in range(store.chunks)]
    assert sorted(chunk.size for chunk in chunks) == [200, 200, 201, 201, 201]
    for chunk in chunks:
        assert abs(chunk.source_lengths.mean() - 4) < 0.2
        assert abs(np.median(chunk.lines) - 502) < 40


def test_counts_say_what_was_made(tmp_path: Path) -> None:
    pairs = iter([Pair("a b x", "a", 1), Pair("a", "a b c d", 2), Pair("e", "y z", 4)])
    store = build_store(tmp_path / "s", pairs, LETTERS, LETTERS, Pairs(max_target_length=3), "signed")
    counts = store.counts
    assert (counts.pairs, counts.dropped_long, counts.truncated) == (2, 1, 0)
    assert (counts.source_tokens, counts.target_tokens) == (4, 3)
    assert (counts.unknown_source, counts.unknown_target) == (1, 2)
    assert (counts.longest_source, counts.longest_target) == (3, 2)
    assert sorted(store.chunk(0).lines.tolist()) == [1, 4]
    assert (counts.lines, counts.bad) == (3, 0)


def test_a_longer_pair_may_be_cut(tmp_path: Path) -> None:
    pairs = iter([Pair("a b c d", "e", 1), Pair("a", "a b c", 2)])
    limits = Pairs(max_source_length=2, max_target_length=2, longer="truncate")
    store = build_store(tmp_path / "s", pairs, LETTERS, LETTERS, limits, "signed")
    assert everything(store) == [(1, "a b", "e"), (2, "a", "a b")]
    assert (store.counts.truncated, store.counts.dropped_long) == (2, 0)


def test_a_large_vocabulary_takes_wider_numbers(tmp_path: Path) -> None:
    words = tuple(f"w{i}" for i in range(65_536))
    large = Tokenizer("words", Normaliser(), Learned((*LETTERS.learned.vocabulary[:4], *words)))
    store = build_store(tmp_path / "s", iter([Pair("w65535", "a", 1)]), large, LETTERS, Pairs(), "signed")
    chunk = store.chunk(0)
    assert (chunk.source.dtype, chunk.target.dtype) == (np.uint32, np.uint16)
    assert chunk.source.tolist() == [65_539]


def test_two_builds_give_the_same_files(tmp_path: Path) -> None:
    one, two = built(tmp_path / "1", 57), built(tmp_path / "2", 57)
    names = sorted(path.name for path in one.folder.iterdir())
    assert names == [
        "lines.bin",
        "source.bin",
        "source_lengths.bin",
        "store.json",
        "target.bin",
        "target_lengths.bin",
    ]
    assert all((one.folder / name).read_bytes() == (two.folder / name).read_bytes() for name in names)


def test_a_store_opens_again_for_the_same_data_only(tmp_path: Path) -> None:
    store = built(tmp_path, 30)
    assert Store.open(store.folder, "signed") == store
    assert Store.open(store.folder, "other") is None
    assert Store.open(tmp_path / "nowhere", "signed") is None


@pytest.mark.parametrize("name", ["source.bin", "target.bin", "source_lengths.bin", "lines.bin", "store.json"])
@pytest.mark.parametrize("damage", ["shorter", "longer", "gone"])
def test_a_damaged_store_is_not_opened(tmp_path: Path, name: str, damage: str) -> None:
    store = built(tmp_path, 30)
    path = store.folder / name
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:-1] if damage == "shorter" else path.read_bytes() + b"x")
    assert Store.open(store.folder, "signed") is None
    assert everything(built(tmp_path, 30)) == everything(built(tmp_path / "new", 30))


@pytest.mark.parametrize("change", [{"format_version": 2}, {"starts": []}, {"counts": {}}, {"columns": {"source": 3}}])
def test_facts_that_do_not_fit_are_not_opened(tmp_path: Path, change: dict[str, object]) -> None:
    path = built(tmp_path, 30).folder / "store.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert Store.open(path.parent, "signed") is None


def test_a_file_cut_while_open_is_noticed(tmp_path: Path) -> None:
    store = built(tmp_path, 30)
    os.truncate(store.folder / "source.bin", 4)
    with pytest.raises(
        StorageError, match=r"source\.bin is damaged: it ends too early\. Delete .* and run the same command"
    ):
        everything(store)


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Iterator[Pair]:
        yield from corpus(5)
        raise KeyboardInterrupt

    built(tmp_path, 30)
    (tmp_path / ".store.draft").mkdir()
    with pytest.raises(KeyboardInterrupt):
        build_store(tmp_path / "store", broken(), LETTERS, LETTERS, Pairs(), "other")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    assert Store.open(tmp_path / "store", "signed") is not None


def test_a_disk_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        StorageError, match=r"Cannot write .*: Not a directory\. Free some space or choose another place"
    ):
        build_store(tmp_path / "file" / "store", corpus(3), LETTERS, LETTERS, Pairs(), "signed")


def test_nothing_left_is_refused_with_the_reasons(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        built(tmp_path, 4, max_target_length=1, max_source_length=1)
    message = str(caught.value)
    assert (
        "No pair is left to learn from: of 4 lines 4 are longer than data.max_source_length = 1 or "
        "data.max_target_length = 1 tokens. Raise these limits, or set data.longer=truncate." in message
    )
    assert list(tmp_path.iterdir()) == []


def test_too_many_bad_lines_leave_no_store(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("a\tb\nbad\n")
    problems = Problems()
    with pytest.raises(DataError, match=r"1 bad lines among 2 are more than data\.max_bad = 0\.01"):
        stored(tmp_path, file, Pairs(), problems)
    assert not (tmp_path / "store").exists()
    store = stored(tmp_path, file, Pairs(max_bad=0.5), Problems())
    assert (store.counts.lines, store.counts.bad, len(store)) == (2, 1, 1)


def test_a_corpus_of_bad_lines_only_says_why(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("bad\n")
    with pytest.raises(DataError, match=r"(?s)No pair is left.*1 × no tab.*a\.tsv:1: no tab"):
        stored(tmp_path, file, Pairs(max_bad=1), Problems())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("a\ta\nb\tb\n", "of 2 lines 2 are left out by data.filters (identical). Loosen the filters."),
        ("source\ttarget\n", "1 lines hold a header and no pair below it."),
    ],
)
def test_advice_is_about_what_left_the_pairs_out(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(content)
    data, problems = Pairs(train=(str(file),), filters=Filters(identical="drop")), Problems()
    pairs = read_split(data, "train", problems)
    with pytest.raises(DataError) as caught:
        build_store(tmp_path / "store", pairs, LETTERS, LETTERS, data, "signed", problems=problems)
    assert str(caught.value) == f"No pair is left to learn from: {sentence}"


def stored(folder: Path, file: Path, limits: Pairs, problems: Problems) -> Store:
    pairs = read_pairs((str(file),), problems)
    return build_store(folder / "store", pairs, LETTERS, LETTERS, limits, "signed", problems=problems)


def test_progress_is_told_in_pairs(tmp_path: Path) -> None:
    told: list[int] = []
    build_store(tmp_path / "s", corpus(2_500), LETTERS, LETTERS, Pairs(), "signed", progress=told.append)
    assert told == [2_000, 2_500]


def test_steps_may_be_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Source steps of two numbers, target steps of three, one of them missing; dealt out and read back by example."""
    monkeypatch.setattr(layout, "DEALT", 4)
    columns = layout.Columns("float32", "float32", 2, 3)
    lengths = np.array([1, 3, 2, 4, 1, 2, 5])
    sources = [np.full((n, 2), [i, -i], np.float32) for i, n in enumerate(lengths)]
    targets = [np.full((n + 1, 3), [i, 0.5, np.nan], np.float32) for i, n in enumerate(lengths)]
    lines = np.arange(1, 8)
    chunk = Chunk(np.concatenate(sources), offsets(lengths), np.concatenate(targets), offsets(lengths + 1), lines)
    with columns.writing(tmp_path / "spool") as writer:
        writer.append(chunk)
    starts = layout.deal(columns, tmp_path / "spool", tmp_path, 7, 3)
    assert columns.sizes(tmp_path) == columns.expected(starts[-1])
    found = {}
    for start, end, sums in zip(starts, starts[1:], columns.sums(tmp_path, starts), strict=False):
        part = columns.read(tmp_path, start, end[0] - start[0], sums)
        for i in range(part.size):
            source = part.source[part.source_offsets[i] : part.source_offsets[i + 1]]
            target = part.target[part.target_offsets[i] : part.target_offsets[i + 1]]
            found[int(part.lines[i])] = source, target
    assert sorted(found) == lines.tolist()
    for line, (source, target) in found.items():
        np.testing.assert_array_equal(source, sources[line - 1])
        np.testing.assert_array_equal(target, targets[line - 1])
