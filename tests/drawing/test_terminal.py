"""Drawings of alignments in a terminal, looked at character by character."""

import re

import pytest
from rich.cells import cell_len

from dragoman.drawing.alignment import Alignment, Windows
from dragoman.drawing.labels import characters, shortened, visible
from dragoman.drawing.terminal import colours_of, columns_of, is_light, text
from drawing.examples import alignment, large

LRM = "\u200e"


def test_one_symbol_and_end_over_three_tokens():
    drawn = text(alignment(("a", "of", "c"), ("AE", "END"), ((0.75, 0.2, 0.05), (0.04, 0.26, 0.7))))
    assert drawn.split("\n") == [
        "      o",
        "    a f c",
        " AE ██░░░░",
        "END · ▒▒▓▓",
        "",
        "    ░ 5%  ▒ 25%  ▓ 50%  █ 75% or more",
    ]


def test_wide_characters_keep_the_columns():
    lines = text(alignment(("東京", "x", "é"), ("猫が", "b", "END"))).split("\n")
    assert lines[:2] == ["     東", "     京x é"]
    assert lines[2:5] == ["猫が ██████", "   b ██████", " END ██████"]
    assert {cell_len(line) for line in lines[2:5]} == {11}


def test_log_probabilities_beside_the_symbols():
    drawn = text(alignment(("a",), ("猫", "b", "END")), values=True)
    assert drawn.split("\n")[1:4] == [" 猫  -0.500 ██", "  b  -1.000 ██", "END  -1.500 ██"]


def test_combining_marks_stay_with_their_letter():
    assert text(alignment(("e\u0301a", "b"), ("END",))).split("\n")[:2] == ["    e\u0301", "    a b"]
    assert characters("e" + "\u0301" * 10_000 + "b") == ["e" + "\u0301" * 6, "b"]
    assert visible("\u0301") == "◌\u0301"
    assert characters("क्या") == ["क्", "या"]


def test_joiners_are_not_in_the_way():
    assert characters(visible("می\u200cخواهم")) == list("میخواهم")
    assert visible("\u200d") == "�"


def test_letters_from_right_to_left_do_not_turn_the_columns():
    lines = text(alignment(("אב", "ג", "x"), ("שלום", "b", "END"))).split("\n")
    assert lines[0] == f"{LRM}     א{LRM}{LRM}"
    assert lines[1] == f"{LRM}     ב{LRM} ג{LRM} x{LRM}"
    assert lines[2] == f"{LRM}שלום {LRM}██████"
    assert lines[3] == "   b ██████"
    assert text(alignment(("a",), ("ש",)), values=True).split("\n")[1] == f"{LRM}ש{LRM}  -0.500 {LRM}██"


def test_a_row_without_weight():
    assert text(alignment(("a", "b"), ("x", "END"), ((0.0, 0.0), (0.0, 1.0)))).split("\n")[1] == "  x · ·"


def test_long_tokens_are_cut():
    lines = text(alignment(("x" * 50, "y"), ("z" * 50, "END"))).split("\n")
    assert lines[13] == " " * 25 + "… y"
    assert lines[14] == "z" * 23 + "… ████"
    assert shortened("猫" * 13, 24) == "猫" * 11 + "…"
    assert shortened("猫" * 12, 24) == "猫" * 12
    assert shortened("x" * 10**6, 3) == "xx…"


def test_a_wide_map_is_drawn_in_parts():
    source = tuple("abcdefg")
    lines = text(alignment(source, ("x", "END")), width=10).split("\n")
    assert lines == [
        "",
        "    source tokens 1 to 3 of 7",
        "    a b c",
        "  x ██████",
        "END ██████",
        "",
        "    source tokens 4 to 6 of 7",
        "    d e f",
        "  x ██████",
        "END ██████",
        "",
        "    source tokens 7 to 7 of 7",
        "    g",
        "  x ██",
        "END ██",
        "",
        "    ░ 5%  ▒ 25%  ▓ 50%  █ 75% or more",
    ]
    assert "source tokens" not in text(alignment(source, ("x", "END")), width=18)
    assert text(alignment(source, ("x", "END")), width=1).count("source tokens") == 7


@pytest.mark.parametrize("colours", ["true", "256", "plain"])
def test_no_line_is_wider_than_the_terminal(colours):
    drawn = re.sub(r"\x1b\[[\d;]*m", "", text(large(100), colours, width=80, values=True))
    assert max(map(cell_len, drawn.split("\n"))) <= 80


def test_an_answer_of_nothing():
    assert text(alignment(("a",), ())).startswith(" a\n")
    assert text(alignment((), ())).endswith("or more")


def test_spaces_and_control_characters_are_made_visible():
    drawn = text(alignment((" ", "\x1b[2J", ""), ("\u202ea\a", "END")))
    assert "␣" in drawn
    assert "∅" in drawn
    assert "�a�" in drawn
    assert not set(drawn) & {"\x1b", "\a", "\u202e"}


def test_true_colours():
    drawn = text(alignment(("a", "b"), ("END",), ((1.0, 0.0),)), "true")
    map_, _, scale = drawn.partition("\n\n")
    assert re.findall(r"\x1b\[48;2;([\d;]+)m  \x1b\[0m", map_) == ["252;250;230", "25;15;65"]
    assert re.findall(r"\x1b\[48;2;([\d;]+)m  \x1b\[0m", scale)[::10] == ["25;15;65", "252;250;230"]
    light = text(alignment(("a", "b"), ("END",), ((1.0, 0.0),)), "true", light=True)
    assert re.findall(r"\x1b\[48;2;([\d;]+)m", light)[:2] == ["25;15;65", "252;250;230"]


def test_256_colours():
    drawn = text(alignment(("a", "b"), ("END",), ((1.0, 0.5),)), "256").partition("\n\n")[0]
    assert re.findall(r"\x1b\[48;5;(\d+)m  \x1b\[0m", drawn) == ["230", "36"]
    assert re.sub(r"\x1b\[[\d;]*m", "", drawn).split("\n") == ["    a b", "END     "]


@pytest.mark.parametrize(
    ("environment", "colours"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "true"),
        ({"TERM": "xterm-256color", "COLORTERM": "24bit"}, "true"),
        ({"TERM": "xterm-kitty"}, "true"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "screen-256color", "COLORTERM": "yes"}, "256"),
        ({"TERM": "vt100"}, "plain"),
        ({"TERM": "dumb", "COLORTERM": "truecolor"}, "plain"),
        ({"COLORTERM": "truecolor"}, "plain"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "plain"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256"),
    ],
)
def test_colours_are_those_of_the_terminal(environment, colours):
    assert colours_of(True, environment) == colours
    assert colours_of(False, environment) == "plain"


def test_width_and_background_of_the_terminal():
    assert columns_of(-1, {}) is None
    assert columns_of(-1, {"COLUMNS": "60"}) == 60
    assert columns_of(-1, {"COLUMNS": "0"}) is None
    assert is_light({"COLORFGBG": "0;15"})
    assert is_light({"COLORFGBG": "0;default;7"})
    assert not is_light({"COLORFGBG": "15;0"})
    assert not is_light({})


def local(windows: Windows) -> Alignment:
    rows = ((0.6, 0.1, 0.0, 0.0, 0.3),) * len(windows)
    return Alignment(tuple("abcde"), tuple("vwxyz")[: len(windows)], rows, finished=False, windows=windows)


def test_windows_stand_in_brackets_with_their_centres():
    """The centre stands in the half of a cell where it is; at an edge it stands for the bracket."""
    windows = ((0, 1.0, 2), (0, 0.8, 2), (0, 0.0, 2), (2, 3.9, 4), (1, 1.0, 1))
    lines = text(local(windows)).split("\n")
    assert lines[1:6] == [
        "v [▓░+·]  ▒▒",
        "w [▓+░·]  ▒▒",
        "x +▓░░·]  ▒▒",
        "y ▓▓░░[ · ▒+",
        "z ▓▓[]    ▒▒",
    ]
    assert lines[-1] == "  [] window  + its centre"


def test_an_empty_window_is_not_drawn():
    assert text(local(((7, 9.0, 4), (0, 9.0, 4)))).split("\n")[1:3] == ["v ▓▓░░    ▒▒", "w [▓░░· · ▒+"]


def test_marks_can_be_read_on_every_colour():
    drawn = text(alignment(("a", "b"), ("END",), ((1.0, 0.0),)), "true")
    assert ";38;5;" not in drawn
    marked = Alignment(("a", "b"), ("END",), ((1.0, 0.0),), windows=((0, 0.5, 1),))
    dark, light = text(marked, "true"), text(marked, "true", light=True)
    assert re.findall(r"48;2;([\d;]+);38;5;(\d+)m(..)", dark) == [
        ("252;250;230", "16", "[ "),
        ("25;15;65", "231", " +"),
    ]
    assert re.findall(r";38;5;(\d+)m", light) == ["231", "16"]


def test_a_hard_choice_is_named_in_the_part_where_it_is():
    rows = ((0.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0))
    hard = Alignment(("a", "Hund", "שלום", "END"), ("x", "y", "END"), rows)
    assert [line.rstrip() for line in text(hard).split("\n")][4:7] == [
        "  x · ██· ·  ← Hund",
        "  y ██· · ·  ← a",
        "END · · · ██ ← END",
    ]
    parts = text(hard, width=16).split("\n")
    assert max(map(cell_len, parts[:-2])) <= 29
    assert sum("← " in line for line in parts) == 4  # three rows and the legend


def test_entropies_beside_the_symbols():
    even = alignment(("a", "b"), ("x", "END"), ((0.5, 0.5), (0.0, 0.0)))
    assert text(even, entropies=True).split("\n")[1:3] == ["  x   0.693 ▓▓▓▓", "END       – · ·"]
    assert text(even, values=True, entropies=True).split("\n")[1].startswith("  x  -0.500   0.693 ▓▓")
