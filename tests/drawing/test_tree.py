"""The tree of a search, made by hand: what is drawn, in which order, with which marks; nothing hostile gets out."""

import random
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as Xml

import pytest

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.page import page
from dragoman.drawing.tree import DROPPED, ENDED, KEPT, ROOT, Answered, Branch, Tree, sentence
from dragoman.drawing.tree_page import tree_figure
from dragoman.drawing.tree_svg import Layout, facts, layout_of, tree_svg
from dragoman.drawing.tree_text import tree_text

HOSTILE = "<script>alert(1)</script>"
OVERRIDE = "\u202eevil\x1b[2J"


def pencil() -> Tree:
    """A beam of 2 that writes "a b" and, second, "a"; "b" was kept for a step, and one lived to the end."""
    branches = (
        Branch(1, ROOT, 1, "b", -2.0, -2.0, -2.0, "kept"),
        Branch(2, ROOT, 1, "a", -0.5, -0.5, -0.5, "kept", looked="x"),
        Branch(3, ROOT, 1, "c", -3.0, -3.0, -3.0, "dropped"),
        Branch(4, 1, 2, "a", -1.5, -3.5, -1.75, "dropped"),
        Branch(5, 2, 2, "b", -0.25, -0.75, -0.375, "kept", looked="y"),
        Branch(6, 2, 2, "END", -2.5, -3.0, -1.5, "ended", rank=2),
        Branch(7, 2, 2, "c", -2.75, -3.25, -1.625, "kept"),
        Branch(8, 5, 3, "END", -0.25, -1.0, -1 / 3, "ended", rank=1, looked="END"),
        Branch(9, 5, 3, "a", -4.0, -4.75, -4.75 / 3, "dropped"),
        Branch(10, 7, 3, "c", -1.0, -4.25, -4.25 / 3, "kept", live=True),
        Branch(11, 7, 3, "b", -1.125, -4.375, -4.375 / 3, "dropped"),
        Branch(12, 7, 3, "a", -1.25, -4.5, -1.5, "dropped"),
        Branch(13, 7, 3, "d", -1.5, -4.75, -4.75 / 3, "dropped"),
        Branch(14, 7, 3, "e", -2.0, -5.25, -1.75, "dropped"),
    )
    answers = (Answered(8, "a b", -1.0, -1 / 3, finished=True), Answered(6, "a", -3.0, -1.5, finished=True))
    return Tree("x y", branches, "decided", answers)


def grown(width: int, steps: int, seed: int = 0) -> Tree:
    """A beam search over a random model that ends now and then."""
    draw = random.Random(seed)
    live, branches = [(ROOT, 0.0)], list[Branch]()
    for step in range(1, steps + 1):
        made = []
        for parent, total in live:
            for _ in range(width):
                log = -draw.expovariate(1.0)
                made.append((total + log, parent, log, draw.random() < 0.1))
        going = sorted((one for one in made if not one[3]), reverse=True)[:width]
        live = []
        for one in made:
            total, parent, log, over = one
            number = len(branches) + 1
            fate = "ended" if over else "kept" if one in going else "dropped"
            name = "END" if over else f"s{number}"
            branches.append(Branch(number, parent, step, name, log, total, total / step, fate))
            live += [(number, total)] if fate == "kept" else []
    best = max((one for one in branches if one.fate == "ended"), key=lambda one: one.score)
    branches[best.number - 1] = replace(best, rank=1)
    answered = Answered(best.number, "text", best.total, best.score, finished=True)
    return Tree("source", tuple(branches), "length", (answered,))


def parsed(drawn: str) -> Xml.Element:
    return Xml.fromstring(drawn)  # noqa: S314 (our own)


def test_the_best_answer_comes_first_then_what_lived_longest() -> None:
    tree = pencil()
    assert [one.number for one in tree.children[ROOT]] == [2, 1, 3]
    assert [one.number for one in tree.children[2]] == [5, 6, 7]
    assert [one.number for one in tree.children[7]] == [10, 11, 12, 13, 14]
    assert tree.best == {2, 5, 8}
    assert tree.answered == {2, 5, 6, 8}
    assert [one.symbol for one in tree.path(8)] == ["a", "b", "END"]
    assert [one.symbol for one in tree.path(8, 2)] == ["b", "END"]
    assert sentence(tree) == (
        "3 steps, 14 continuations: 5 kept, 7 dropped, 2 ended. "
        "Stopped: no live hypothesis could still win, or enough had ended."
    )


def test_a_pencil_size_search_line_by_line() -> None:
    lines = tree_text(pencil()).splitlines()
    assert lines[:-1] == [
        "  ● START ✕ c -3.00",
        "1 ├─○ b -2.00 total -2.00 score -2.000 ✕ a -1.50",
        "1 ● a -0.50 total -0.50 score -0.500",
        "2 ├─○ END -2.50 ■ total -3.00 score -1.500 #2",
        "2 ├─○ c -2.75 c -1.00 total -4.25 score -1.417 live to the end "
        "✕ b for c -1.12, a for c -1.25, d for c -1.50 +1 more",
        "2 ● b -0.25 END -0.25 ■ total -1.00 score -0.333 #1 ✕ a for END -4.00",
        "",
    ]
    assert "● path of the best answer" in lines[-1]


def test_lines_are_folded_to_the_terminal_and_a_pipe_gets_whole_ones() -> None:
    lines = tree_text(pencil(), width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[6:9] == [
        "2 ├─○ c -2.75 c -1.00 total -4.25",
        "  │     score -1.417 live to the end",
        "  │     ✕ b for c -1.12, a for c -1.25,",
    ]
    wide = tree_text(grown(5, 12), width=80).splitlines()
    assert max(map(len, wide)) <= 80


def test_colours_mark_the_best_path_and_dim_what_was_dropped() -> None:
    true, fixed = (tree_text(pencil(), colours) for colours in ("true", "256"))
    assert "\x1b[1;38;2;12;146;154mb -0.25\x1b[0m" in true
    assert "\x1b[1;38;5;36mb -0.25\x1b[0m" in fixed
    assert "\x1b[2m✕ c -3.00\x1b[0m" in true
    assert "○ b -2.00 total" in fixed
    assert re.sub(r"\x1b\[[\d;]*m", "", true) == tree_text(pencil())


def test_a_long_answer_without_forks_is_one_line() -> None:
    branches = tuple(Branch(n, n - 1, n, f"w{n}", -0.1, -0.1 * n, -0.1, "kept") for n in range(1, 31))
    end = Branch(31, 30, 31, "END", -0.1, -3.1, -0.1, "ended", rank=1)
    tree = Tree("x", (*branches, end), "none live", (Answered(31, "…", -3.1, -0.1, finished=True),))
    lines = tree_text(tree).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith(" 1 ● w1 -0.10 w2 -0.10 ")
    assert lines[1].endswith(" END -0.10 ■ total -3.10 score -0.100 #1")
    assert tree_svg(tree).count("<circle") == 31


def test_an_unfinished_answer_and_a_prefix_are_named() -> None:
    one = Branch(1, ROOT, 3, "a", -1.0, -2.0, -1.0, "kept", rank=1, live=True)
    tree = Tree("x", (one,), "length", (Answered(1, "p q a", -2.0, -1.0, finished=False),), prefix="p  q")
    assert tree_text(tree).splitlines()[:2] == ["  ● p q", "3 ● a -1.00 total -2.00 score -1.000 #1 unfinished"]
    assert "1 step, 1 continuation: 1 kept. Stopped: the longest answer" in sentence(tree)
    drawn = tree_figure(tree)
    assert ">p q</text>" in drawn
    assert "3, unfinished" in drawn
    assert ">a<tspan" in drawn


def positions(layout: Layout) -> list[list[tuple[int, int]]]:
    """Of every column, from top to bottom: the rows of a branch's parent and of the branch itself."""
    return [[(layout.rows[one.parent], layout.rows[one.number]) for one in column] for column in layout.columns]


def test_a_column_a_step_and_the_best_path_on_top() -> None:
    layout = layout_of(pencil())
    assert [[one.number for one in column] for column in layout.columns] == [
        [2, 1, 3],
        [5, 6, 7, 4],
        [8, 9, 10, 11, 12, 13, 14],
    ]
    assert [layout.rows[number] for number in (ROOT, 2, 5, 8)] == [0, 0, 0, 0]
    assert [layout.rows[number] for number in (1, 3, 6, 7, 4)] == [1, 2, 1, 2, 3]
    assert layout.height == 7


@pytest.mark.parametrize(("width", "steps"), [(1, 9), (3, 14), (5, 30), (24, 6)])
def test_lines_never_cross(width: int, steps: int) -> None:
    for seed in range(4):
        tree = grown(width, steps, seed) if width > 1 else pencil()
        layout = layout_of(tree)
        for column in positions(layout):
            parents, own = [parent for parent, _ in column], [row for _, row in column]
            assert parents == sorted(parents)  # so the children of a node are neighbours
            assert all(above < below for above, below in pairwise(own))
            assert max(own, default=0) < layout.height
        assert all(layout.rows[number] == 0 for number in tree.best)


def test_what_is_not_drawn_is_counted() -> None:
    tree = grown(24, 5)
    assert sum(len(column) for column in layout_of(tree).columns) == len(tree.drawn) - 1
    for step, branches in tree.steps.items():
        shown = [one for one in branches if one.number in tree.drawn]
        for fate, most in (("kept", KEPT), ("dropped", DROPPED), ("ended", ENDED)):
            assert sum(one.fate == fate for one in shown) <= most + len(tree.answers)
        assert all(one.parent in tree.drawn for one in shown)
        missing = len(branches) - len(shown)
        assert (f">+{missing}<title>not drawn: " in tree_svg(tree)) == (missing > 0), step
    assert tree.answered <= tree.drawn


def test_marks_of_the_picture() -> None:
    drawn = parsed(tree_svg(pencil()))
    groups = {
        (found.findtext("{*}title") or "").partition("\n")[0]: found.get("class") for found in drawn.findall("{*}g")
    }
    assert groups["The beginning"] == "kept best"
    assert groups["b · step 2"] == "kept best"
    assert groups["END · step 3"] == "ended best answered"
    assert groups["c · step 1"] == "dropped"
    assert len(drawn.findall("{*}g/{*}rect")) == 2
    texts = ["".join(found.itertext()) for found in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "END #1 -1.00 / -0.333" in texts
    assert "END #2 -3.00 / -1.500" in texts
    assert [text.partition("b looked")[0] for text in texts if text.startswith("y")] == ["y"]
    lines = list(facts(pencil(), pencil().by_number[5]))
    assert lines == [
        "b · step 2",
        "log-probability -0.2500 (77.9%)",
        "total -0.7500 · score -0.3750",
        "kept",
        "looked most at y",
        "instead:",
        "  END -2.5000 ended",
        "  c -2.7500 kept",
    ]


def test_tables_below_the_tree() -> None:
    drawn = tree_figure(pencil(), alignment=Alignment(("x", "y", "END"), ("a", "b", "END"), ((1.0, 0.0, 0.0),) * 3))
    assert drawn.count("<svg") == 2
    assert "<bdi>x y</bdi> → <bdi>a b</bdi>" in drawn
    rows = [re.sub(r"<[^>]*>", "|", row) for row in re.findall("<tr>(.*?)</tr>", drawn)]
    cells = [[cell for cell in row.split("|") if cell] for row in rows]
    assert cells[:3] == [
        ["score", "total", "symbols", "answer"],
        ["1", "-0.3333", "-1.0000", "3", "a b"],
        ["2", "-1.5000", "-3.0000", "2", "a"],
    ]
    assert cells[3:] == [
        ["step", "looked at", "1", "2", "ended"],
        ["1", "x", "a", "-0.50 / -0.500", "b", "-2.00 / -2.000"],
        ["2", "y", "a b", "-0.75 / -0.375", "a c", "-3.25 / -1.625", "#2 ", "-3.00 / -1.500"],
        ["3", "END", "a c c", "-4.25 / -1.417", "#1 ", "-1.00 / -0.333"],
    ]
    assert "looked at" not in tree_figure(replace(pencil(), branches=tuple(map(unseen, pencil().branches))))


def unseen(branch: Branch) -> Branch:
    return replace(branch, looked="")


def test_hostile_symbols_stay_symbols() -> None:
    names = {"a": HOSTILE, "b": OVERRIDE, "c": '"><b onload=x>'}
    branches = tuple(
        replace(one, symbol=names.get(one.symbol, one.symbol), looked=HOSTILE * bool(one.looked))
        for one in pencil().branches
    )
    answers = tuple(replace(one, text=HOSTILE + OVERRIDE) for one in pencil().answers)
    tree = replace(pencil(), source=HOSTILE + OVERRIDE, branches=branches, answers=answers, prefix=HOSTILE + OVERRIDE)
    whole = page([tree_figure(tree, HOSTILE)], "Title")
    for written in (whole, tree_text(tree), tree_svg(tree)):
        assert "\u202e" not in written
        assert "\x1b" not in written
    assert "<script" not in whole
    assert "<b " not in whole
    assert parsed(tree_svg(tree)).tag.endswith("svg")


def test_right_to_left_symbols_do_not_turn_the_line() -> None:
    tree = replace(pencil(), branches=tuple(replace(one, symbol="שלום") for one in pencil().branches))
    for line in tree_text(tree).splitlines()[:-2]:
        assert line.startswith("\u200e")
        assert "שלום\u200e -" in line or "שלום\u200e for" in line
    assert max(len(line.replace("\u200e", "")) for line in tree_text(tree, width=44).splitlines()) <= 44
