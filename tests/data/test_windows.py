"""Texts in windows, with numbers that can be checked by hand: START 2, END 3, letters from 4 on."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.collate import collate_windows
from dragoman.data.order import Batching, Position, streams, walk
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Piece
from dragoman.data.store import Store
from dragoman.data.tokenizers import (
    Bpe,
    Bytes,
    Characters,
    Tokenizer,
    TokenizerConfig,
    Unigram,
    WordPiece,
    Words,
    train_tokenizer,
)
from dragoman.data.windows import Packing, build_windows, refuse_short, symbols_of
from dragoman.errors import DataError

# Two texts, "ab\nc" and "de".
PIECES = [Piece("ab", 1, True), Piece("c", 2, False), Piece("de", 4, True)]
A, B, C, D, E, FEED = 5, 6, 7, 8, 9, 4


@pytest.fixture
def letters() -> Tokenizer:
    """Characters in the order of their numbers, since all are equally frequent."""
    return train_tokenizer(Characters(), lambda: iter(["abc", "\nde"]))


def stored(folder: Path, letters: Tokenizer, pieces: list[Piece] = PIECES, **options: object) -> Store:
    return build_windows(folder / "store", iter(pieces), letters, 3, "", Problems(lines=4), **options)


def test_a_text_is_cut_without_gaps(letters: Tokenizer) -> None:
    """a b ↵ | c END d | e END: the symbol before the first window is START."""
    packing = Packing(letters, 3)
    blocks = list(packing.blocks(iter(PIECES)))
    assert np.concatenate([block.target for block in blocks]).tolist() == [A, B, FEED, C, 3, D, E, 3]
    assert np.concatenate([block.source for block in blocks]).tolist() == [2, FEED, D]
    assert np.concatenate([block.target_lengths for block in blocks]).tolist() == [3, 3, 2]
    assert np.concatenate([block.lines for block in blocks]).tolist() == [1, 2, 4]
    counts = packing.counts(Problems(lines=4))
    assert (counts.pairs, counts.target_tokens, counts.documents, counts.characters) == (3, 8, 2, 6)


def test_behind_end_a_text_begins_with_start(tmp_path: Path, letters: Tokenizer) -> None:
    chunk = stored(tmp_path, letters, streams=True).chunk(0)
    batch = collate_windows(chunk, np.array([0, 1, 2]))
    assert batch.truth().inputs.values.tolist() == [[2, A, B], [FEED, C, 2], [D, E, 0]]
    assert batch.truth().outputs.values.tolist() == [[A, B, FEED], [C, 3, D], [E, 3, 0]]
    assert batch.truth().real.tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (batch.examples, batch.sources, batch.padding) == ((1, 2, 4), {}, 1)


def test_the_symbol_before_a_window_may_end_a_text(tmp_path: Path, letters: Tokenizer) -> None:
    chunk = stored(tmp_path, letters, [Piece("ab", 1, True), Piece("c", 3, True)], streams=True).chunk(0)
    batch = collate_windows(chunk, np.array([1]))
    assert batch.truth().inputs.values.tolist() == [[2, C]]
    assert batch.truth().outputs.values.tolist() == [[C, 3]]


@pytest.mark.parametrize("in_streams", [False, True])
def test_an_epoch_has_every_window_once(tmp_path: Path, letters: Tokenizer, in_streams: bool) -> None:
    """Seven windows of three symbols, in chunks of two windows or so."""
    pieces = [Piece("abcdeabcde", line, True) for line in (1, 2)]  # 22 symbols
    store = stored(tmp_path, letters, pieces, streams=in_streams, chunk=6)
    assert len(store) == 8
    assert store.chunks == 4
    expected = sorted([A, B, C, D, E] * 4 + [3, 3])
    for epoch in range(2):
        position, seen, batches = Position(epoch * store.chunks), [], 0
        for following, chunk, indices in walk(store, Batching(sentences=2), 1, position):
            batch = collate_windows(chunk, indices)
            seen += batch.truth().outputs.values.flatten()[batch.truth().real].tolist()
            batches += 1
            if following.chunk == (epoch + 1) * store.chunks:
                break
        assert sorted(seen) == expected
        assert batches == 4


def test_streams_lie_side_by_side() -> None:
    """Seven windows in three streams: 0 1 2, 3 4 and 5 6; the rows that end first stand last."""
    assert [batch.tolist() for batch in streams(7, 5, Batching(sentences=3))] == [[0, 3, 5], [1, 4, 6], [2]]
    assert [batch.tolist() for batch in streams(4, 5, Batching(tokens=10))] == [[0, 2], [1, 3]]
    assert [batch.tolist() for batch in streams(2, 5, Batching(tokens=3))] == [[0], [1]]


def test_a_text_as_a_whole_is_its_lines(letters: Tokenizer) -> None:
    assert symbols_of(letters, ["ab\nc", "", "x"]) == [[A, B, FEED, C], [], [1]]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (Characters(), "to be\n\nor not"),
        (Bytes(), "to be\n\nor not"),
        (Bpe(size=300), "to be\n\nor not"),
        (Unigram(size=300), "to be\n\nor not"),
        (Words(), "to be \n \n or not"),
        (WordPiece(size=100), "to be or not"),
    ],
    ids=lambda part: getattr(part, "kind", ""),
)
def test_line_feeds_come_back(config: TokenizerConfig, text: str) -> None:
    """Among words they are a word, and wordpieces have none."""
    tokenizer = train_tokenizer(config, lambda: iter(["to be", "\n", "\n", "or not"] * 5))
    [row] = symbols_of(tokenizer, ["to be\n\nor not"])
    assert tokenizer.decode(row) == text


def test_no_text_is_told(tmp_path: Path, letters: Tokenizer) -> None:
    problems = Problems()
    problems.begin("a.txt", 0)
    with pytest.raises(DataError, match=r"There is no text in a.txt: all lines are blank"):
        build_windows(tmp_path / "store", iter([]), letters, 3, "", problems)
    assert not (tmp_path / "store").exists()


def test_less_than_a_window_is_told(letters: Tokenizer) -> None:
    packing = Packing(letters, 9)
    list(packing.blocks(iter(PIECES)))
    with pytest.raises(DataError, match=r"has 8 symbols, END of each document counted, which is less than one window"):
        refuse_short(packing.counts(Problems()), 9)
