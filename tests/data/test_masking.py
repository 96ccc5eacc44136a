"""Which words are hidden, and what stands in their places: END 3, symbols from 4 on."""

import numpy as np
import pytest

from dragoman.data.chunk import Chunk, offsets
from dragoman.data.encoding import flattened
from dragoman.data.masking import Masking, Masks, collate_passages, continuing
from dragoman.data.tokenizers import END, Characters, WordPiece, Words, train_tokenizer
from dragoman.errors import ConfigError

SIZE = 50
ROW = np.array([*range(4, 24), END, *range(24, 44)])


def masking(**settings: object) -> Masking:
    return Masking(Masks(**settings), SIZE, None, seed=1)


def test_of_forty_symbols_six_are_to_be_guessed() -> None:
    for number in range(50):
        places, hidden, _ = masking().chosen(number, ROW)
        assert len(places) == len(hidden) == 6
        assert len(set(places.tolist())) == 6
        assert END not in ROW[places]
    assert [len(masking().chosen(1, np.array(row))[0]) for row in ([5], [5, END, 6], range(4, 34))] == [1, 1, 4]


def test_eighty_ten_and_ten_of_a_hundred() -> None:
    hidden = kept = random = 0
    for number in range(1000):
        places, masked, others = masking().chosen(number, ROW)
        same = others == ROW[places]
        hidden, kept, random = hidden + masked.sum(), kept + (~masked & same).sum(), random + (~masked & ~same).sum()
        assert (others >= 4).all()
        assert (others < SIZE).all()
    total = hidden + kept + random
    assert abs(hidden / total - 0.8) < 0.02
    assert abs(random / total - 0.1 * 45 / 46) < 0.015  # one in 46 is drawn as it was
    assert abs(kept / total - 0.1) < 0.015


def test_every_place_is_as_likely() -> None:
    counts = np.zeros(len(ROW))
    for number in range(2000):
        counts[masking().chosen(number, ROW)[0]] += 1
    assert counts[20] == 0
    assert abs(np.delete(counts, 20) / 2000 - 0.15).max() < 0.04


def test_masks_follow_from_seed_epoch_and_example() -> None:
    def drawn(of: Masking, number: int) -> list[list[int]]:
        return [part.tolist() for part in of.chosen(number, ROW)]

    assert drawn(masking(), 7) == drawn(masking(), 7)
    others = [drawn(masking().in_epoch(1), 7), drawn(masking(), 8), drawn(Masking(Masks(), SIZE, None, seed=2), 7)]
    assert all(other != drawn(masking(), 7) for other in others)


def test_words_are_hidden_as_a_whole() -> None:
    """Words of two symbols and of one: 5 ##6 | 7 | 8 ##9 | …; odd numbers from 21 on continue a word."""
    row = np.array([21, 22, 23, 24, 26, END, 28, 30, 31, 32])
    continues = np.zeros(SIZE, np.bool_)
    continues[[22, 24, 31]] = True
    whole = Masking(Masks(unit="word", share=0.35), SIZE, continues, seed=1)
    words = [{0, 1}, {2, 3}, {4}, {6}, {7, 8}, {9}]
    for number in range(200):
        places = set(whole.chosen(number, row)[0].tolist())
        assert 2 <= len(places) <= 3
        assert all(word <= places or not word & places for word in words)
    lone = Masking(Masks(unit="word", share=0.1), SIZE, continues, seed=1)
    assert {len(lone.chosen(number, row)[0]) for number in range(50)} == {1, 2}  # one word at least


def test_which_symbols_continue_a_word() -> None:
    pieces = train_tokenizer(WordPiece(size=30), lambda: iter(["abab abcab # ##"]))
    found = {symbol for symbol, on in zip(pieces.learned.vocabulary, continuing(pieces), strict=True) if on}
    assert "##a" in found
    assert not {"a", "#", "<s>"} & found
    words = train_tokenizer(Words(minimum_count=1), lambda: iter(["##a b"]))
    assert not continuing(words).any()
    letters = train_tokenizer(Characters(), lambda: iter(["ab"]))
    with pytest.raises(ConfigError, match="of the kind characters does not say which pieces go on"):
        Masking.of(Masks(unit="word"), letters, 1)


def test_shares_are_of_one_whole() -> None:
    with pytest.raises(ValueError, match="are shares of one whole"):
        Masks(hidden=0.8, random=0.3)


ROWS = [[4, 5, 6, END, 7, 8], [9, END, 10], [11, 12, 13, 14, END, 15, 16, 17]]


def chunk_of(rows: list[list[int]]) -> Chunk:
    source, target = flattened(rows), flattened([[number % 2, 40 + number] for number in range(len(rows))])
    return Chunk(source[0], offsets(source[1]), target[0], offsets(target[1]), np.arange(1, len(rows) + 1))


def test_a_batch_of_passages() -> None:
    """What is expected of a model is what stood where it is asked; all else is as it was."""
    batch = collate_passages(chunk_of(ROWS), np.array([0, 2]), masking(share=0.4))
    truth, source, hidden = batch.truth().outputs, batch.sources["source"], batch.sources["masked"].values
    plain = [[2, 4, 5, 6, 3, 7, 8, 3, 0, 0], [2, 11, 12, 13, 14, 3, 15, 16, 17, 3]]
    assert truth.mask.sum(1).tolist() == [2, 3]
    for row, expected in enumerate(plain):
        for place, symbol in enumerate(expected):
            if truth.mask[row, place]:
                assert truth.values[row, place] == symbol
            else:
                assert source.values[row, place] == symbol
                assert not hidden[row, place]
    assert batch.follows is not None
    assert batch.follows.tolist() == [False, False]
    assert (batch.examples, batch.target_tokens) == ((1, 3), 5)


def test_neighbours_change_no_mask() -> None:
    together = collate_passages(chunk_of(ROWS), np.array([2, 0, 1]), masking())
    for place, number in enumerate([2, 0, 1]):
        alone = collate_passages(chunk_of(ROWS), np.array([number]), masking())
        length = alone.sources["source"].values.shape[1]
        for name in ("source", "masked", "segments"):
            assert together.sources[name].values[place, :length].tolist() == alone.sources[name].values[0].tolist()


def test_without_masks_nothing_is_hidden() -> None:
    batch = collate_passages(chunk_of(ROWS), np.array([1]), None)
    assert batch.sources["source"].values.tolist() == [[2, 9, 3, 10, 3]]
    assert "masked" not in batch.sources
    assert batch.truth().outputs.values.tolist() == [[1]]
