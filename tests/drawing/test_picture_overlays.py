"""SVG, HTML and PNG: what is in them, and what never is."""

import struct
import warnings
from dataclasses import replace
from xml.etree import ElementTree as Xml

import pytest

from dragoman.drawing import png
from dragoman.drawing.alignment import Alignment
from dragoman.drawing.page import figure, page
from dragoman.drawing.svg import CELL, LETTER, folded, svg
from dragoman.errors import ConfigError
from drawing.examples import alignment, large

SVG = "{http://www.w3.org/2000/svg}"
NASTY = ("<b>&\"'", "\x1b[2J", "\ufffe", " ", "", "$x^2$", "שלום", "\u202e", "</s>")


def parsed(drawn: str) -> Xml.Element:
    return Xml.fromstring(drawn)  # noqa: S314 (our own text)


def texts(root: Xml.Element) -> list[str | None]:
    return [element.text for element in root.iter(f"{SVG}text")]


def test_labels_weights_and_their_names():
    root = parsed(svg(alignment(("a", "b"), ("X", "END"), ((0.9, 0.01), (0.2, 0.8))), "ab → X", values=True))
    assert root.get("role") == "img"
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == "ab → X"
    assert texts(root) == ["ab → X", "a", "b", "X", "-0.500", "END", "-1.000", "0%", "100%"]
    groups = {group.get("class"): [box.findtext(f"{SVG}title") for box in group] for group in root.iter(f"{SVG}g")}
    assert groups == {"w14": ["a → X: 90.0%"], "w3": ["a → END: 20.0%"], "w13": ["b → END: 80.0%"]}
    assert "-0.500" not in texts(parsed(svg(alignment(("a",), ("X", "END")))))


def test_cells_stand_where_their_labels_are():
    root = parsed(svg(alignment(("a", "b"), ("X", "END"), ((0.0, 1.0), (0.0, 0.0)))))
    [box] = [box for group in root.iter(f"{SVG}g") for box in group]
    places = {text.text: (float(text.get("x", 0)), float(text.get("y", 0))) for text in root.iter(f"{SVG}text")}
    assert float(box.get("x", 0)) + CELL / 2 == places["b"][0]
    assert float(box.get("y", 0)) < places["X"][1] < float(box.get("y", 0)) + CELL


def test_any_token_makes_valid_xml():
    root = parsed(svg(alignment(NASTY, NASTY), " → ".join(NASTY)))
    assert {"<b>&\"'", "�[2J", "�", "␣", "∅", "$x^2$", "שלום"} <= set(texts(root))


def test_nothing_from_outside_and_no_script():
    drawn = page([figure(alignment(NASTY, NASTY), "<script>alert(1)</script>", "x\u202ey", "score <1>")])
    assert "<script" not in drawn
    assert "\u202e" not in drawn
    assert drawn.replace("http://www.w3.org/2000/svg", "").count("http") == 1  # http-equiv
    assert "&lt;script&gt;" in drawn
    assert "score &lt;1&gt;" in drawn
    assert drawn.startswith("<!doctype html>")


def test_it_follows_the_page():
    drawn = svg(alignment(("a",), ("X",)))
    assert "fill:currentColor" in drawn
    assert "var(--alignment-16,light-dark(#190f41,#fcfae6))" in drawn
    assert 'class="w16" fill="#190f41"' in drawn  # for readers that know no style sheets


def test_letters_are_upright_and_words_are_turned():
    def turned(drawn: str) -> dict[str | None, bool]:
        return {text.text: text.get("transform") is not None for text in parsed(drawn).iter(f"{SVG}text")}

    letters = turned(svg(alignment(("a", "b", "</s>"), ("X",))))
    assert letters == {"a": False, "b": False, "</s>": True, "X": False, "0%": False, "100%": False}
    words = turned(svg(alignment(("a", "word", "</s>"), ("X",))))
    assert (words["a"], words["word"]) == (True, True)


def test_a_large_map_is_small_and_has_labels_on_both_sides():
    drawn = svg(large(100), values=True)
    root = parsed(drawn)
    assert len(drawn) < 120_000
    assert texts(root).count("www") == 4 * 4  # in a hundred words there are four of each length, on all four sides
    longest = max(len(label or "") for label in texts(root))
    assert longest == 24
    whole = {element.text: element.findtext(f"{SVG}title") for element in root.iter(f"{SVG}text")}
    assert whole["w" * 23 + "…"] in {"w" * length for length in range(25, 31)}
    _, _, width, height = map(float, (root.get("viewBox") or "").split())
    assert all(
        0 <= float(text.get("x", 0)) <= width and 0 <= float(text.get("y", 0)) <= height
        for text in root.iter(f"{SVG}text")
    )


def test_a_long_title_is_folded():
    assert list(folded("one two three", 8)) == ["one two", "three"]
    assert list(folded("東京は日本", 4)) == ["東京", "は日", "本"]
    assert list(folded("猫x", 1)) == ["猫", "x"]
    root = parsed(svg(alignment(("a",), ("X",)), "word " * 100))
    width = float(root.get("width", 0))
    assert all(len(line or "") * LETTER <= width for line in texts(root))


def test_nothing_to_draw():
    assert parsed(svg(alignment(("a",), ()))) is not None
    assert parsed(svg(alignment((), ()))) is not None


@pytest.mark.parametrize("side", [2, 40])
def test_png(side):
    pytest.importorskip("matplotlib")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        content, missing = png.png(large(side), "a $title$", values=True)
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert min(width, height) > side * 30
    assert missing == ""


def test_png_of_any_token_names_what_no_font_has():
    pytest.importorskip("matplotlib")
    content, missing = png.png(alignment((*NASTY, "\U000f0000x", "\U0001fbff"), NASTY), "שלום")
    assert content.startswith(b"\x89PNG")
    assert set(missing) <= {"\U0001fbff", "�", "∅", "␣"}


def test_png_without_matplotlib(monkeypatch):
    monkeypatch.setattr(png, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'dragoman\[plot\]'"):
        png.png(alignment(("a",), ("X",)))


def test_windows_are_outlines_with_a_centre():
    weights = ((0.5, 0.5, 0.0), (0.0, 0.0, 0.0))
    local = Alignment(("<a>", "b", "END"), ("X", "END"), weights, windows=((0, 0.5, 1), (5, 6.0, 2)))
    root = parsed(svg(local))
    [circle] = root.iter(f"{SVG}circle")
    outline = [box for box in root.iter(f"{SVG}rect") if box.get("stroke") == "currentColor"]
    assert len(outline) == 1  # the second window is empty
    left = float(outline[0].get("x", 0))
    assert float(circle.get("cx", 0)) == left + float(outline[0].get("width", 0)) / 2
    assert outline[0].findtext(f"{SVG}title") == "X: window from <a> to b, centre at position 0.50"
    assert "outline: window, dot: its centre" in texts(root)
    width = float(root.get("width", 0))
    assert all(float(text.get("x", 0)) + len(text.text or "") * LETTER <= width for text in root.iter(f"{SVG}text"))


def test_a_hard_choice_is_named_behind_its_row():
    hard = Alignment(("a", "Hund", "END"), ("X", "END"), ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (-1.0, -2.0))
    root = parsed(svg(hard, values=True, entropies=True))
    assert texts(root)[3:11] == ["X", "← Hund", "-1.000", "0.000", "END", "← END", "-2.000", "0.000"]
    assert "←: the one token that was chosen" in texts(root)


def test_numbers_stand_below_a_figure():
    drawn = figure(alignment(("<a>", "END"), ("X", "END"), ((0.0, 1.0), (0.0, 1.0))), "a", "X")
    assert "entropy 0.00 nats (0% of looking everywhere) · 100% of steps do not go back · under 0.2" in drawn
    assert drawn.endswith("in total: &lt;a&gt;</small></div></figure>")


def test_png_of_windows_and_choices():
    pytest.importorskip("matplotlib")
    soft = alignment(("a", "Hund", "END"), ("X", "END"), ((0.0, 0.9, 0.1), (0.0, 0.0, 1.0)))
    local = replace(soft, windows=((0, 0.5, 2), (5, 6.0, 2)))
    hard = replace(soft, weights=((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    drawn = [png.png(one, values=True, entropies=True)[0] for one in (soft, local, hard)]
    widths = [struct.unpack(">I", content[16:20])[0] for content in drawn]
    assert widths[0] == widths[1] < widths[2]  # names need room
    assert drawn[0] != drawn[1]
