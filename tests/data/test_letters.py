"""The letters of each word: how they are numbered, kept beside words in a store, and laid out in a batch."""

from pathlib import Path

import numpy as np
import pytest

from dragoman.data.labelled import LabelEncoding, build_labelled, collate_labelled, collate_texts, words_of
from dragoman.data.labelling import learn_labelling
from dragoman.data.readers.example import Example
from dragoman.data.readers.lines import Problems
from dragoman.data.tokenizers import END, UNKNOWN, Characters, Tokenizer, Wordpunct, Words, train_tokenizer
from dragoman.data.tokenizers.letters import OTHERS, letters_of, spelled
from dragoman.errors import ConfigError

TEXTS = ["der Hund sieht", "der Igel"]
MOST = 6


def numbers(letters: str) -> list[int]:
    return [3 + ord(letter) for letter in letters]


def tokenizer(**settings: object) -> Tokenizer:
    return train_tokenizer(Words(**settings), lambda: iter(TEXTS)).with_letters(MOST)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("", [1, 2, 0, 0, 0, 0]),
        ("der", [1, *numbers("der"), 2, 0]),
        ("Hund", [1, *numbers("Hund"), 2]),
        ("sieht", [1, *numbers("siht"), 2]),  # the first two and the last two of a longer one
        ("🦊", [1, 3 + ord("🦊") % OTHERS, 2, 0, 0, 0]),
    ],
)
def test_numbers_of_letters(word: str, expected: list[int]) -> None:
    assert np.frombuffer(letters_of(word, MOST), np.uint16).tolist() == expected


def test_words_keep_their_numbers_and_have_their_letters() -> None:
    """Unknown words have letters too, as they are written, also where the vocabulary is lowercase."""
    plain, with_letters = (train_tokenizer(Words(lowercase=True), lambda: iter(TEXTS)), tokenizer(lowercase=True))
    texts = ["Der  Hund", "", "Ochs </s>"]
    rows = with_letters.encode(texts)
    assert rows == plain.encode(texts)
    assert rows[2] == [UNKNOWN, UNKNOWN]
    wanted = [letters_of(word, MOST) for word in ("Der", "Hund", "Ochs", "</s>")]
    assert spelled(rows, MOST).tobytes() == b"".join(wanted)
    assert with_letters.hash == plain.hash  # nothing is learned


def test_letters_are_those_of_the_normal_form() -> None:
    """NFC joins u and its dots: a word has the same number and letters, however it is typed."""
    learned = train_tokenizer(Words(normalisation="nfc"), lambda: iter(["f\u00fcnf"])).with_letters(8)
    [[number]] = learned.encode(["fu\u0308nf"])
    assert number != UNKNOWN
    assert np.frombuffer(number.letters, np.uint16).tolist() == [1, *numbers("f\u00fcnf"), 2, 0, 0]  # type: ignore[attr-defined]
    assert number.letters == learned.encode(["f\u00fcnf"])[0][0].letters  # type: ignore[attr-defined]


def test_letters_are_those_of_words() -> None:
    learned = train_tokenizer(Characters(), lambda: iter(TEXTS))
    assert learned.with_letters(0) is learned
    with pytest.raises(ConfigError, match=r"kind characters\. Set source\.kind = 'words'"):
        learned.with_letters(MOST)


def test_a_store_gives_what_texts_give(tmp_path: Path) -> None:
    """From the store, and from texts: the same numbers at the same places, none at <s> and </s>."""
    examples = [Example(tuple(text.split()), tuple(text.split()), 1 + n) for n, text in enumerate(TEXTS)]
    encoding = LabelEncoding(tokenizer(), learn_labelling("tags", examples, {}), 10, True)
    store = build_labelled(tmp_path / "store", iter(examples), encoding, "", Problems(), lambda counts: None)
    chunk = store.chunk(0)
    order = np.argsort(chunk.lines)
    stored = collate_labelled(chunk, order, store.layout)
    asked = collate_texts(words_of(tokenizer(), [text.split() for text in TEXTS])[0], MOST)
    for name in ("source", "segments", "letters"):
        assert stored.sources[name].values.tolist() == asked.sources[name].values.tolist()
    letters = asked.sources["letters"].values
    assert letters.shape == (2, 5, MOST)
    assert letters[1].tolist() == [[0] * 6, [1, *numbers("der"), 2, 0], [1, *numbers("Igel"), 2], [0] * 6, [0] * 6]
    assert int(asked.sources["source"].values[1, 3]) == END


def test_texts_without_letters_have_none() -> None:
    assert "letters" not in collate_texts([[4, 5], [6]]).sources


def test_texts_without_a_word_have_room_for_letters() -> None:
    assert collate_texts([[], []], MOST).sources["letters"].values.shape == (2, 2, MOST)


def test_what_a_tokenizer_leaves_nothing_of_has_no_letters() -> None:
    """A space that does not break lines stands alone."""
    learned = train_tokenizer(Wordpunct(), lambda: iter(["a b"])).with_letters(MOST)
    assert learned.encode(["a \u00a0 b", "\u00a0"]) == [learned.encode(["a b"])[0], []]
