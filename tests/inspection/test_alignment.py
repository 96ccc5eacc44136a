"""Drawings of alignments, looked at character by character."""

import re

import pytest
from rich.cells import cell_len

from dragoman.contracts import Prediction
from dragoman.errors import DataError
from dragoman.inspection import alignment_text


def prediction(source: tuple[str, ...], tokens: tuple[str, ...], weights: tuple[tuple[float, ...], ...]) -> Prediction:
    return Prediction(" ".join(tokens), -0.1, -0.2, tokens, source_tokens=source, alignment=weights)


def uniform(rows: int, columns: int) -> tuple[tuple[float, ...], ...]:
    return ((1.0,) * columns,) * rows


def test_one_symbol_and_end_over_three_tokens():
    drawn = alignment_text(prediction(("a", "of", "c"), ("AE",), ((0.75, 0.2, 0.05), (0.04, 0.26, 0.7))))
    assert drawn.split("\n") == [
        "      o",
        "    a f c",
        " AE ██░░░░",
        "END · ▒▒▓▓",
        "",
        "    ░ 5%  ▒ 25%  ▓ 50%  █ 75% or more",
    ]


def test_wide_characters_keep_the_columns():
    lines = alignment_text(prediction(("東京", "x", "é"), ("猫が", "b"), uniform(3, 3))).split("\n")
    assert lines[:2] == ["     東", "     京x é"]
    assert lines[2:5] == ["猫が ██████", "   b ██████", " END ██████"]
    assert {cell_len(line) for line in lines[2:5]} == {11}


def test_combining_marks_stay_with_their_letter():
    lines = alignment_text(prediction(("e\u0301a", "b"), (), uniform(1, 2))).split("\n")
    assert lines[:2] == ["    e\u0301", "    a b"]


def test_a_row_without_weight():
    assert alignment_text(prediction(("a", "b"), ("x",), ((0.0, 0.0), (0.0, 1.0)))).split("\n")[1] == "  x · ·"


def test_long_tokens_are_cut():
    lines = alignment_text(prediction(("x" * 50, "y"), ("z" * 50,), uniform(2, 2))).split("\n")
    assert lines[13] == " " * 25 + "… y"
    assert lines[14] == "z" * 23 + "… ████"
    assert alignment_text(prediction(("a",), ("猫" * 13,), uniform(2, 1))).split("\n")[1] == "猫" * 11 + "… ██"


def test_an_unfinished_answer_has_no_end():
    drawn = alignment_text(prediction(("a",), ("x", "y"), uniform(2, 1)))
    assert "END" not in drawn
    assert drawn.startswith("  a\nx ██\ny ██\n")


def test_an_answer_of_nothing():
    assert alignment_text(prediction(("a",), (), ())).startswith(" a\n")


def test_spaces_and_control_characters_are_made_visible():
    drawn = alignment_text(prediction((" ", "\x1b[2J", ""), ("\u202ea\a",), uniform(2, 3)))
    assert "␣" in drawn
    assert "∅" in drawn
    assert "�a�" in drawn
    assert not set(drawn) & {"\x1b", "\a", "\u202e"}


def test_colour_is_a_grey_a_cell():
    drawn = alignment_text(prediction(("a", "b"), (), ((1.0, 0.5),)), colour=True)
    assert re.findall(r"\x1b\[48;2;(\d+);\1;\1m  \x1b\[0m", drawn) == ["255", "128"]
    assert re.sub(r"\x1b\[[\d;]*m", "", drawn).split("\n") == ["    a b ", "END     "]


def test_colour_does_not_wrap_long_sentences():
    drawn = alignment_text(prediction(("a",) * 200, ("x",), uniform(2, 200)), colour=True)
    assert len(drawn.split("\n")) == 3


def test_without_alignment():
    with pytest.raises(DataError, match="has no alignment"):
        alignment_text(Prediction("a", -1.0, -1.0, ("a",)))
