"""What a report is made of, at sizes that a pencil can check."""

import json
import math
import random
import re
from pathlib import Path

import pytest

from dragoman.inspection.report.answers import Example, by_length, chosen
from dragoman.inspection.report.charts import Column, Line, Scale, column_chart, histogram, line_chart, ticks
from dragoman.inspection.report.curves import means, read_curves, thin
from dragoman.inspection.report.edits import Edit, align
from dragoman.inspection.report.errors import confusions, faults, repeats, worst
from dragoman.inspection.report.page import Html, cut, element, fixed, join, lines_of, number, percent, visible, whole
from dragoman.inspection.report.quality import marked
from dragoman.inspection.report.units import CHARACTERS, PHONEMES, WORDS, source_unit, target_unit
from dragoman.inspection.report.verdict import mistake
from dragoman.metrics.edit_distance import edit_distance


def example(source: str, expected: str, answer: str, **facts: object) -> Example:
    values = {
        "source": source,
        "references": (expected,),
        "answer": answer,
        "nearest": expected,
        "edits": align(expected.split(), answer.split()),
        "source_length": len(source),
        "score": -1.0,
        "reference_score": -2.0,
        "finished": True,
        "longer": "",
    }
    return Example(**values | facts)  # type: ignore[arg-type]


def wrong(expected: str, got: str) -> list[tuple[str | None, str | None]]:
    return [(edit.expected, edit.got) for edit in align(list(expected), list(got)) if edit.wrong]


def test_an_alignment_names_every_edit() -> None:
    assert align(["a", "b"], ["a", "b"]) == (Edit("a", "a"), Edit("b", "b"))
    assert wrong("abc", "axc") == [("b", "x")]
    assert wrong("abc", "ac") == [("b", None)]
    assert wrong("ac", "abc") == [(None, "b")]
    assert wrong("", "ab") == [(None, "a"), (None, "b")]
    assert wrong("ab", "") == [("a", None), ("b", None)]
    assert align([], []) == ()
    assert wrong("kitten", "sitting") == [("k", "s"), ("e", "i"), (None, "g")]


def test_an_alignment_has_the_fewest_edits_and_both_texts() -> None:
    letters = random.Random(2)
    for _ in range(500):
        expected, got = (letters.choices("abc", k=letters.randint(0, 8)) for _ in range(2))
        edits = align(expected, got)
        assert sum(edit.wrong for edit in edits) == edit_distance(expected, got)
        assert [edit.expected for edit in edits if edit.expected is not None] == expected
        assert [edit.got for edit in edits if edit.got is not None] == got


def test_confusions_are_counted_over_what_was_expected() -> None:
    examples = [example("one", "A B A", "A C A"), example("two", "B D", "C"), example("six", "A", "A E")]
    found = confusions(examples, 9)
    assert [(one.expected, one.got, one.count, one.occurrences) for one in found] == [
        ("B", "C", 2, 2),
        (None, "E", 1, 1),
        ("D", None, 1, 1),
    ]
    assert found[0].example.source == "one"  # fewest other edits around it
    assert confusions(examples[:1], 0) == ()


def test_the_worst_have_many_wrong_pieces_and_few_right_ones() -> None:
    right = example("r", "A B", "A B")
    long = example("l", "A B C D E F G H", "A B C D E F x y")  # 2 × 2/8
    short = example("s", "A B", "x B")  # 1 × 1/2
    all_wrong = example("a", "A B C", "x y z")  # 3 × 1
    assert worst([right, long, short, all_wrong], 9) == [all_wrong, long, short]
    assert worst([right, all_wrong], 1) == [all_wrong]


def test_search_errors_are_references_that_the_search_would_have_ranked_higher() -> None:
    assert example("a", "A", "B", reference_score=-0.5).search_error
    assert not example("a", "A", "B", reference_score=-1.0 + 1e-5).search_error
    assert not example("a", "A", "A", reference_score=-0.5).search_error
    assert not example("a", "A", "B", reference_score=-0.5, longer="split").search_error


def test_loops_are_pieces_three_times_in_a_row() -> None:
    assert repeats(list("xaaab"))
    assert repeats(list("abcabcabc"))
    assert repeats(list("zabcdabcdabcd"))
    assert not repeats(list("aabbaab"))
    assert not repeats(list("abcabcab"))
    assert not repeats(list("abcdeabcdeabcde"))
    assert not repeats([])


def test_faults() -> None:
    cases = {
        "empty": example("a", "A", ""),
        "cut": example("b", "A B", "A B", finished=False),
        "loop": example("c", "A B C", "A A A"),
        "copy": example("Sam", "sam", "Sam"),
        "unknown": example("d", "A B", "A ⁇"),
        "too short": example("e", "A B C D E", "A B"),
        "too long": example("f", "A", "A B C"),
        "long source": example("g", "A", "A", longer="cut"),
    }
    found = {fault.name: [one.source for one in fault.found] for fault in faults(list(cases.values()), WORDS)}
    assert found == {name: [one.source] for name, one in cases.items()} | {"too short": ["a", "e"]}
    proper = [example("h", "no no no", "no no no"), example("Ann", "Ann", "Ann")]
    assert not any(fault.found for fault in faults(proper, WORDS))


def test_units_follow_the_tokenizer_and_the_spaces() -> None:
    assert source_unit("characters", ["a b"]) == CHARACTERS
    assert source_unit("bpe", ["ein Hund", "zwei"]) == WORDS
    assert source_unit("bpe", ["東京は日本の首都です。人口は一千四百万人です。"]) == CHARACTERS
    assert target_unit("words", ["K AE T"], ("phoneme_error_rate",)) == PHONEMES
    assert target_unit("words", ["a cat"], ("bleu",)) == WORDS
    assert (CHARACTERS.cut("a b"), WORDS.cut(" a  b ")) == (["a", " ", "b"], ["a", "b"])


def test_buckets_have_equal_counts_and_never_share_a_length() -> None:
    lengths = [1] * 30 + [2] * 5 + [3] * 20 + [4] * 3
    examples = [example("x" * length, "A", "A" if length < 3 else "B") for length in lengths]
    found = by_length(examples, "exact_match")
    assert [(one.shortest, one.longest, one.count) for one in found] == [(1, 1, 30), (2, 4, 28)]
    assert [one.measured.value for one in found] == [100, pytest.approx(100 * 5 / 28)]
    assert (found[0].measured.low, found[0].measured.high) == (pytest.approx(88.65, abs=0.01), 100)  # Wilson: 30 of 30
    assert len(by_length(examples[:3], "exact_match")) == 1


def test_the_longest_right_answers_are_drawn_and_the_worst_but_none_that_is_illegible() -> None:
    short, long = example("ab", "A", "A"), example("abcd", "A", "A")
    bad, endless = example("abc", "A B", "x y"), example("x" * 500, "A B C", "x y z")
    good, poor = chosen([short, bad, endless, long])
    assert good[:2] == [long, short]
    assert endless not in good + poor


def test_marks_differ_by_more_than_colour() -> None:
    edits = align(list("ABC"), list("AxCD"))
    assert marked(edits, "expected", WORDS).text == "<bdi>A <mark>B</mark> C</bdi>"
    assert marked(edits, "got", WORDS).text == "<bdi>A <mark>x</mark> C <ins>D</ins></bdi>"
    assert "<del>B</del>" in marked(align(["A", "B"], ["A"]), "expected", WORDS).text
    assert marked((), "got", WORDS).text == "<bdi>∅</bdi>"
    assert marked(align(["a"] * 90, ["a"] * 90), "got", CHARACTERS).text.count("aa") == 40


def test_what_comes_from_outside_is_escaped_visible_and_cut() -> None:
    assert element("p", "<img onerror=x> & 'y'").text == "<p>&lt;img onerror=x&gt; &amp; 'y'</p>"
    assert element("p", Html("<b>"), class_="a").text == '<p class="a"><b></p>'
    assert element("a", "x", href='"><script>').text == '<a href="&quot;&gt;&lt;script&gt;">x</a>'
    assert element("path", stroke_width=1.50).text == '<path stroke-width="1.5"></path>'
    assert visible("a\u202eb\x00c\td\ud800\u200d\u3000e") == "a�b�c d�\u200d e"
    assert cut("abcd", 3) == "ab…"
    assert len(element("p", "x" * 100_000).text) < 1_100
    assert lines_of("a\n<b>\n", 100).text == "a\n&lt;b&gt;"
    assert join(["<", Html("<br>")], " & ").text == "&lt; &amp; <br>"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.008, "0.008"), (74.514, "74.51"), (13616.2, "13\u202f616"), (1.5e-7, "1.5·10⁻⁷"), (0, "0"), (-2, "−2")],
)
def test_numbers_are_short_with_thin_separators(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_that_are_none() -> None:
    assert (number(math.inf), fixed(-math.inf), number(math.nan)) == ("∞", "−∞", "not a number")
    assert (whole(1234567), percent(1, 8), percent(0, 0)) == ("1\u202f234\u202f567", "12.5\u202f%", "–")


def test_thinning_keeps_ends_and_extremes() -> None:
    points = [(float(step), math.sin(step)) for step in range(100_000)]
    points[77_777], points[12_345] = (77_777.0, 9.0), (12_345.0, -9.0)
    kept = thin(points)
    assert len(kept) <= 400
    assert {points[0], points[-1], points[77_777], points[12_345]} <= set(kept)
    assert list(kept) == sorted(kept)
    assert thin(points[:400]) == tuple(points[:400])


def test_means_of_bins() -> None:
    assert means([(1.0, 2.0), (2.0, 4.0), (3.0, 0.0), (4.0, 1.0), (5.0, 5.0)], 2) == ((1.5, 3.0), (4.0, 2.0))


def test_a_long_log_is_drawn_as_means_over_extremes(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(f'{{"step": {step}, "loss": {step % 2}}}\n' for step in range(1, 1001)))
    curves = read_curves(log)
    assert {value for _, value in curves.training["loss"]} == {0.0, 1.0}
    assert [value for _, value in curves.means["loss"]] == [0.5] * 100


def test_the_log_is_read_whatever_its_state(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    records = [
        {"step": 5, "loss": 2.0, "rate": 0.1, "epoch": 1},
        {"step": 10, "valid": {"loss": 1.5, "bleu": 3.0}, "best": True},
        {"step": 10, "loss": float("nan"), "rate": float("inf")},
        {"step": 20, "valid": {"loss": 1.9}, "best": False},
        {"step": "x", "loss": 1.0},
        {"loss": 1.0},
        [1],
    ]
    log.write_text(
        "\n".join(map(json.dumps, records)) + '\nnonsense\n{"step": 30, "loss": 1' + "0" * 400 + '}\n{"step": 3'
    )
    curves = read_curves(log)
    assert curves.training["loss"] == ((5.0, 2.0),)
    assert curves.validation == {"loss": ((10.0, 1.5), (20.0, 1.9)), "bleu": ((10.0, 3.0),)}
    assert (curves.best_step, curves.last_step) == (10, 20)
    assert read_curves(tmp_path / "none").last_step == 0


def test_ticks_are_round() -> None:
    assert ticks(0, 10, 4) == [0, 2.5, 5, 7.5, 10]
    assert ticks(3, 17, 4) == [5, 10, 15]
    assert ticks(4, 4, 4) == [4]


def test_scales() -> None:
    assert Scale(0, 10, 100, 200)(2.5) == 125
    assert Scale(1, 100, 0, 10, logarithmic=True)(10) == pytest.approx(5)
    assert Scale(0, 10, 0, 1)(99) == 1
    assert Scale(3, 3, 0, 10)(3) == 5
    assert Scale(1, 1000, 0, 1, logarithmic=True).ticks(4) == pytest.approx([1, 10, 100, 1000])


@pytest.mark.parametrize(
    "drawing",
    [
        line_chart("<t>", [Line("loss", ((1.0, 2.0), (2.0, 1.0)), dots=True)], mark=2),
        line_chart("<t>", [Line("loss", ((1.0, 0.0),))]),
        line_chart("<t>", [Line("norm", ((1.0, 1e-9), (2.0, 1e9)))]),
        column_chart("<t>", [Column("1–2", 0.0, 0.0, 0.0, "3")], "words"),
        histogram("<t>", [0, 5, 9], [3, 0], [("median", 2.0)]),
    ],
)
def test_drawings_name_and_describe_themselves(drawing: Html) -> None:
    assert re.match(r'<svg viewBox="0 0 \d+ \d+" role="img"|<svg', drawing.text)
    assert "<title>&lt;t&gt;</title><desc>" in drawing.text
    assert not re.search(r"nan|inf|\u202e|<A>", drawing.text)


@pytest.mark.parametrize(
    ("expected", "got", "said"),
    [("a", "b", "“a” became “b”"), ("a", None, "“a” was left out"), (None, "b", "“b” was put in")],
)
def test_a_mistake_in_words(expected: str | None, got: str | None, said: str) -> None:
    assert mistake(expected, got) == said
