"""Documents cut into passages of one text or two."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data import passages, shelf
from dragoman.data.passages import Cutting, Passage, build_passages, fitted, passages_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Piece, read_texts
from dragoman.data.shelf import shelved
from dragoman.data.store import Store
from dragoman.data.tokenizers import END, Tokenizer, Words, train_tokenizer
from dragoman.errors import DataError

# Words are numbered through: document 0 has 100 …, document 1 200 …, document 2 300 ….
LENGTHS = [[3, 2, 4, 1, 5, 2, 3], [2, 2, 2, 2], [6, 1, 3]]


def documents() -> list[list[list[str]]]:
    found = []
    for number, lengths in enumerate(LENGTHS, start=1):
        words = iter(range(100 * number, 100 * number + 99))
        found.append([[f"w{next(words)}" for _ in range(length)] for length in lengths])
    return found


def pieces() -> list[Piece]:
    """A sentence a line, with a blank line between documents."""
    lines, line = [], 1
    for document in documents():
        for number, words in enumerate(document):
            lines.append(Piece(" ".join(words), line, number == 0))
            line += 1
        line += 1
    return lines


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return train_tokenizer(Words(minimum_count=1), lambda: (piece.text for piece in pieces()))


def cut(folder: Path, words: Tokenizer, cutting: Cutting) -> list[Passage]:
    with shelved(folder / "shelf", iter(pieces()), words, "uint16", cutting.split, cutting.room) as found:
        assert (found.documents, found.symbols) == (3, 38)
        return list(passages_of(found, cutting))


def spelt(words: Tokenizer, symbols: list[int]) -> list[int]:
    """w103 as 103."""
    return [int(word[1:]) for word in words.decode(symbols).split()]


def pairs(room: int = 8, **settings: object) -> Cutting:
    return Cutting(**({"room": room, "two": True, "shorter": 0.0, "split": False, "passes": 60} | settings))


def test_half_of_the_pairs_follow(tmp_path: Path, words: Tokenizer) -> None:
    found = cut(tmp_path, words, pairs(room=20))
    follows = [one for one in found if one.follows]
    assert 0.35 < len(follows) / len(found) < 0.55  # the last sentence of a document is followed by none
    for one in found:
        first, second = (spelt(words, text) for text in one.texts)
        assert first
        assert second
        for text in (first, second):
            assert text == list(range(text[0], text[0] + len(text)))
        if one.follows:
            assert second[0] == first[-1] + 1
        else:
            assert second[0] // 100 != first[0] // 100


def test_no_document_gives_itself_away(tmp_path: Path, words: Tokenizer) -> None:
    """Sentences of other documents are drawn, not documents: a long one is behind as many pairs as it is long."""
    found = [one for one in cut(tmp_path, words, pairs(room=4, passes=400)) if not one.follows]
    seconds = np.bincount([spelt(words, one.texts[1])[0] // 100 for one in found if one.line > 13], minlength=3)
    share = seconds[1] / (seconds[1] + seconds[2])
    assert abs(share - 8 / 12) < 0.05  # 8 sentences, of which two were one, against 4


@pytest.mark.parametrize("room", [2, 5, 8])
def test_no_pair_is_longer_than_there_is_room(tmp_path: Path, words: Tokenizer, room: int) -> None:
    found = cut(tmp_path, words, pairs(room, shorter=0.3))
    assert all(len(one.texts[0]) + len(one.texts[1]) <= room for one in found)
    assert all(len(one.texts[0]) >= 1 <= len(one.texts[1]) for one in found)
    assert len({len(one.texts[0]) + len(one.texts[1]) for one in found}) > (room > 2)


def test_all_documents_are_told_apart_by_their_lines(tmp_path: Path, words: Tokenizer) -> None:
    lines = {one.line for one in cut(tmp_path, words, pairs(4, passes=20))}
    assert lines <= {*range(1, 8), *range(9, 13), *range(14, 17)}
    assert {1, 9, 14} <= lines


def test_texts_alone_leave_nothing_out(tmp_path: Path, words: Tokenizer) -> None:
    """Sentences of 3, 2, 4, 1, 5, 2 and 3 words in passages of 6 at most."""
    cutting = Cutting(room=6, two=False, shorter=0.0, split=False)
    found = cut(tmp_path, words, cutting)
    assert [len(one.texts[0]) for one in found] == [5, 5, 5, 5, 6, 2, 6, 4]
    assert [number for one in found for number in spelt(words, one.texts[0])] == [
        int(word[1:]) for document in documents() for sentence in document for word in sentence
    ]


def test_what_is_in_memory_changes_nothing(tmp_path: Path, words: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cut(tmp_path / "one", words, pairs(7, passes=5, shorter=0.2))
    monkeypatch.setattr(passages, "AHEAD", 1)
    monkeypatch.setattr(shelf, "BLOCK", 2)
    assert cut(tmp_path / "two", words, pairs(7, passes=5, shorter=0.2)) == before


def test_a_long_sentence_is_cut_into_several(tmp_path: Path, words: Tokenizer) -> None:
    text = [Piece(" ".join(f"w{n}" for n in range(100, 107)), 1, True)]
    with shelved(tmp_path / "shelf", iter(text), words, "uint16", False, 3) as found:
        assert found.starts(0, 3) == [0, 3, 6, 7]


def test_the_longer_text_is_cut_at_either_end() -> None:
    from random import Random

    ends = {
        (len(one), one[0], one[-1]) for one, _ in (fitted([1, 2, 3, 4, 5], [9, 9], 5, Random(n)) for n in range(40))
    }
    assert ends == {(3, 1, 3), (3, 2, 4), (3, 3, 5)}
    assert fitted([1, 2], [3], 3, Random(1)) == ([1, 2], [3])


def stored(folder: Path, words: Tokenizer, lines: list[Piece], cutting: Cutting) -> Store:
    problems = Problems(lines=len(lines))
    problems.begin("book.txt", 0)
    return build_passages(folder / "store", iter(lines), words, cutting, "", problems)


def test_a_store_of_passages(tmp_path: Path, words: Tokenizer) -> None:
    store = stored(tmp_path, words, pieces(), pairs(8, passes=3))
    chunk = store.chunk(0)
    assert store.layout == "passages"
    assert sorted(chunk.target[1::2].tolist()) == list(range(len(store)))
    assert set(chunk.target[0::2].tolist()) == {0, 1}
    parts = np.split(chunk.source, chunk.source_offsets[1:-1])
    assert all(row.tolist().count(END) == 1 for row in parts)
    assert store.counts.longest_source == 9  # END between two texts
    assert (store.counts.documents, store.counts.target_tokens) == (3, 38)
    assert sorted(path.suffix for path in store.folder.iterdir()) == [".bin"] * 5 + [".json"]


def test_the_seed_decides_where_texts_are_cut(tmp_path: Path, words: Tokenizer) -> None:
    def source(seed: int) -> bytes:
        return (stored(tmp_path / str(seed), words, pieces(), pairs(8, seed=seed)).folder / "source.bin").read_bytes()

    first = source(1)
    (tmp_path / "1").rename(tmp_path / "aside")
    assert source(1) == first != source(2)


def test_too_few_documents(tmp_path: Path, words: Tokenizer) -> None:
    with pytest.raises(DataError, match=r"book.txt holds one document, and half of the pairs"):
        stored(tmp_path, words, pieces()[:5], pairs())
    assert len(stored(tmp_path, words, pieces()[:5], Cutting(8, False, 0.0, False))) == 3
    with pytest.raises(DataError, match=r"There is no text in book.txt: all lines are blank"):
        stored(tmp_path, words, [Piece("", 1, True)], pairs())


def test_a_document_without_a_word_is_told(tmp_path: Path, words: Tokenizer) -> None:
    """Where a document is a file, one of blank lines is none."""
    (tmp_path / "a.txt").write_text("w100 w101\n\nw102\n")
    (tmp_path / "b.txt").write_text("\n \n")
    names = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    problems = Problems()
    lines = read_texts(names, "files", problems)
    store = build_passages(tmp_path / "store", lines, words, Cutting(5, False, 0.0, True), "", problems)
    assert (store.counts.documents, len(store)) == (1, 1)
    assert [str(one) for one in problems.first] == [f"{tmp_path / 'b.txt'}:1: a document without a word"]
