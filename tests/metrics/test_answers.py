"""Answers to questions measured with a pencil, by the rules of SQuAD."""

import pytest

from dragoman.metrics.answers import answer_f1, exact_answers, normalised, word_f1
from dragoman.metrics.labels import measure_labels, metrics_of, values_of


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The Cat", "cat"),
        ("an  apple,\ta day!", "apple day"),
        ("U.S.", "us"),
        ("1,000", "1000"),
        ("A. the", ""),
        ("théâtre", "théâtre"),
        ("well-known", "wellknown"),
        ("“quoted”", "“quoted”"),
        ("theme", "theme"),
    ],
)
def test_case_articles_punctuation_and_spaces_do_not_count(text: str, plain: str) -> None:
    assert normalised(text) == plain


def test_f1_is_of_bags_of_words() -> None:
    """Two of three words said are right, of four wanted: 2·2/(3+4); a word said twice is right once."""
    assert word_f1("cat dog owl", "the dog cat bee ant") == pytest.approx(4 / 7)
    assert word_f1("cat cat", "cat") == pytest.approx(2 / 3)
    assert word_f1("owl", "bee") == 0


def test_the_best_reference_counts() -> None:
    values = values_of(metrics_of("spans"), ["the cat sat", "owl"], [("dog", "Cat!"), ("owl", "old owl")])
    assert values == {"exact_match": 50.0, "f1": pytest.approx(100 * (2 / 3 + 1) / 2)}


@pytest.mark.parametrize(
    ("found", "true", "score"),
    [
        ("", ("",), 100),  # rightly silent
        ("cat", ("",), 0),
        ("", ("cat",), 0),
        ("the", ("",), 100),  # nothing is left of an article
        ("", ("the", "cat"), 0),  # nor of this reference, which does not count beside another
        ("", ("a", "the"), 100),
    ],
)
def test_no_answer_is_an_answer(found: str, true: tuple[str, ...], score: float) -> None:
    assert values_of(("exact_match", "f1"), [found], [true]) == {"exact_match": score, "f1": score}


def test_intervals_are_over_questions() -> None:
    found, true = ["cat"] * 30 + ["owl"] * 10, [("cat",)] * 40
    exact, f1 = measure_labels(["exact_match", "f1"], found, true)
    assert (exact.value, f1.value) == (75, 75)
    assert 55 < exact.low < 75 < exact.high < 92
    assert exact.signature == "bs:1000|seed:12345|norm:squad|refs:max|version:dragoman.1"
    assert exact_answers(found, true).proportion
    assert not answer_f1(found, true).proportion
