"""Long texts in pieces, and the answers to the pieces as one."""

import random
import time
from dataclasses import replace

import pytest

from dragoman.contracts import Prediction
from dragoman.data.pieces import join, join_texts, split
from dragoman.data.tokenizers import Bpe
from dragoman.data.tokenizers.tokenizer import train_tokenizer


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def characters(texts: list[str]) -> list[int]:
    return [len(text) for text in texts]


def test_at_the_last_sentence_that_fits() -> None:
    assert split("One two. Three! Four five six.", 4, words) == ["One two. Three!", "Four five six."]
    assert split("One two. Three! Four five six.", 3, words) == ["One two. Three!", "Four five six."]
    assert split('He said "no." She left … then', 3, words) == ['He said "no."', "She left …", "then"]


def test_at_spaces_where_no_sentence_ends() -> None:
    assert split("a b c d e", 2, words) == ["a b", "c d", "e"]
    assert split("v1.2 is out", 2, words) == ["v1.2 is", "out"]  # no end without a space


def test_anywhere_where_there_is_no_space() -> None:
    assert split("abcdefgh", 3, characters) == ["ab", "cd", "ef", "gh"]
    assert split("e\u0301" * 3, 4, characters) == ["e\u0301e\u0301", "e\u0301"]  # an accent stays with its letter


def test_sentences_of_scripts_without_spaces() -> None:
    assert split("我来了。你好！「走。」再见", 5, characters) == ["我来了。", "你好！", "「走。」", "再见"]


@pytest.mark.parametrize("limit", [1, 2, 7, 50])
def test_all_pieces_fit_and_nothing_is_lost(limit: int) -> None:
    generator = random.Random(limit)
    tokenizer = train_tokenizer(Bpe(size=300), lambda: iter(["the cat sat on the mat. the dog sat too!"] * 9))

    def count(texts: list[str]) -> list[int]:
        return [len(row) for row in tokenizer.encode(texts)]

    for _ in range(40):
        text = "".join(generator.choices("the cat. sat!  de\t我。 …?x", k=generator.randint(1, 120)))
        pieces = split(text, limit, count)
        assert "".join("".join(pieces).split()) == "".join(text.split())
        assert all(size <= limit for piece, size in zip(pieces, count(pieces), strict=True) if len(piece) > 1)


@pytest.mark.parametrize(
    "text", ["." * 300_000 + "a", "a" * 300_000, "a. " * 30_000, "\u0301" * 300_000, " " * 300_000]
)
def test_no_text_takes_long(text: str) -> None:
    started_at = time.perf_counter()
    pieces = split(text, 100, characters)
    assert time.perf_counter() - started_at < 10  # some took minutes while the time grew with the square
    assert "".join("".join(pieces).split()) == "".join(text.split())


def piece(
    text: str, source: str, rows: tuple[tuple[float, ...], ...], score: float, finished: bool = True
) -> Prediction:
    tokens, end = tuple(text.split()), ("</s>",)
    return Prediction(text, score, 2 * score, tokens, finished, (*source, *end), rows)


def test_answers_are_joined() -> None:
    first = piece("x y", "ab", ((0.9, 0.1, 0.0), (0.2, 0.5, 0.3), (0.0, 0.0, 1.0)), -1.0)
    second = piece("z", "c", ((0.75, 0.25), (0.5, 0.5)), -2.0)
    [joined] = join([(first,), (second,)], spaced=True)
    assert joined.text == "x y z"
    assert (joined.score, joined.log_probability) == (-1.5, -6.0)
    assert joined.tokens == ("x", "y", "z")
    assert joined.source_tokens == ("a", "b", "c", "</s>")
    assert joined.alignment == (
        (0.9, 0.1, 0.0, 0.0),
        (0.2, 0.5, 0.0, 0.3),
        (0.0, 0.0, 0.75, 0.25),
        (0.0, 0.0, 0.5, 0.5),
    )


def test_an_unfinished_piece_leaves_the_whole_unfinished() -> None:
    first = piece("x", "a", ((1.0, 0.0),), -1.0, finished=False)
    second = piece("z", "c", ((0.75, 0.25), (0.5, 0.5)), -2.0)
    [joined] = join([(first,), (second,)], spaced=True)
    assert not joined.finished
    assert joined.alignment == ((1.0, 0.0, 0.0), (0.0, 0.75, 0.25))
    logs = [
        (replace(part, token_log_probabilities=values),) for part, values in ((first, (-1.0,)), (second, (-2.0, -3.0)))
    ]
    [joined] = join(logs, spaced=True)
    assert joined.token_log_probabilities == (-1.0, -2.0)
    [joined] = join(logs[1:] * 2, spaced=True)
    assert joined.token_log_probabilities == (-2.0, -2.0, -3.0)


def test_columns_are_those_of_the_whole_text() -> None:
    """Two spaces between the pieces, each a token; they get no attention."""
    first = piece("x", "ab", ((0.9, 0.1, 0.0), (0.0, 0.0, 1.0)), -1.0)
    second = piece("z", "b", ((0.75, 0.25), (0.5, 0.5)), -2.0)
    [joined] = join([(first,), (second,)], True, ("a", "b", "▁", "▁", "b"))
    assert joined.source_tokens == ("a", "b", "▁", "▁", "b", "</s>")
    assert joined.alignment == (
        (0.9, 0.1, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.75, 0.25),
        (0.0, 0.0, 0.0, 0.0, 0.5, 0.5),
    )
    [torn] = join([(first,), (second,)], True, ("a", "bb"))  # the seam goes through a token
    assert torn.source_tokens == ("a", "b", "b", "</s>")


def test_the_second_best_is_made_of_the_second_best() -> None:
    best, worse = (piece(text, "a", ((1.0, 0.0),) * 2, score) for text, score in (("x", -1.0), ("y", -3.0)))
    assert [joined.text for joined in join([(best, worse), (best, worse)], spaced=True)] == ["x x", "y y"]
    assert join([(best, worse)], spaced=True) == (best, worse)


def test_seams() -> None:
    assert join_texts(["我来了。", "你好"], spaced=False) == "我来了。你好"
    assert join_texts(["我来了。", "OK"], spaced=False) == "我来了。 OK"
    assert join_texts(["我 来", "你 好"], spaced=True) == "我 来 你 好"
    assert join_texts(["", "One.", "", "Two."], spaced=False) == "One. Two."


def test_windows_stand_where_their_pieces_do() -> None:
    """Of a window that reaches the END of a piece the tokens stay; one of END alone goes with END."""
    rows = ((1.0, 0.0, 0.0),) * 3
    first = replace(piece("x y", "ab", rows, -1.0), windows=((0, 0.5, 1), (1, 1.5, 2), (2, 2.0, 2)))
    second = replace(piece("z w", "cd", rows, -2.0), windows=((2, 2.5, 2), (0, 1.0, 2), (1, 2.0, 2)))
    [joined] = join([(first,), (second,)], spaced=True)
    assert joined.windows == ((0, 0.5, 1), (1, 1.5, 1), (4, 4.0, 4), (2, 3.0, 4), (3, 4.0, 4))
    [joined] = join([(first,), (replace(second, windows=None),)], spaced=True)
    assert joined.windows is None
