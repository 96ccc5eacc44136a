"""Labels, tags and numbers measured with a pencil."""

import pytest

from dragoman.errors import DataError
from dragoman.metrics.classes import accuracy, binary_f1, class_report, macro_f1, matthews, micro_f1
from dragoman.metrics.correlations import pearson, ranks, root_mean_squared_error, spearman
from dragoman.metrics.labels import LABEL_METRICS, measure_labels, metrics_of, values_of
from dragoman.metrics.measured import Counts
from dragoman.metrics.spans import span_f1, spans_in

# Six texts: a is said 3 times (2 right), b 2 times (1 right), c once (right).
TRUE = [["a"], ["a"], ["a"], ["b"], ["b"], ["c"]]
SAID = [["a"], ["a"], ["b"], ["b"], ["a"], ["c"]]


def value(counts: Counts) -> float:
    return float(counts.score(counts.items.sum(0, keepdims=True))[0])


def test_accuracy_and_f1() -> None:
    """4 of 6; F1 of a: 2·2/(3+3), of b: 2·1/(2+2), of c: 1."""
    assert value(accuracy(SAID, TRUE)) == pytest.approx(100 * 4 / 6)
    assert value(macro_f1(SAID, TRUE)) == pytest.approx(100 * (2 / 3 + 1 / 2 + 1) / 3)
    assert value(micro_f1(SAID, TRUE)) == pytest.approx(100 * 4 / 6)
    assert value(binary_f1([["1"], ["0"], ["1"], ["0"]], [["1"], ["1"], ["1"], ["0"]])) == pytest.approx(80)


def test_a_label_that_is_only_said_counts_in_the_mean() -> None:
    """F1 of a: 2/3, of b: 0, as scikit-learn has it."""
    assert value(macro_f1([["a"], ["b"]], [["a"], ["a"]])) == pytest.approx(100 * (2 / 3) / 2)


def test_matthews_of_two_labels_is_phi() -> None:
    """tp 3, tn 1, fp 1, fn 1: (3·1 − 1·1) / √(4·4·2·2) = 1/4."""
    true = [["+"]] * 4 + [["-"]] * 2
    said = [["+"]] * 3 + [["-"], ["+"], ["-"]]
    assert value(matthews(said, true)) == pytest.approx(25)


def test_matthews_of_three_labels() -> None:
    """c = 4, s = 6, p = t = (3, 2, 1): (24 − 14) / (36 − 14)."""
    assert value(matthews(SAID, TRUE)) == pytest.approx(100 * 10 / 22)
    assert value(matthews([["a"]] * 3, [["a"], ["b"], ["a"]])) == 0.0


def test_every_label_by_itself() -> None:
    report = class_report(SAID, TRUE)
    assert report.labels == ("a", "b", "c")
    assert report.confusion == ((2, 1, 0), (1, 1, 0), (0, 0, 1))
    [a, b, c] = report.classes
    assert (a.precision, a.recall, a.f1, a.support) == pytest.approx((200 / 3, 200 / 3, 200 / 3, 3))
    assert (b.precision, b.recall, b.support, c.f1) == pytest.approx((50, 50, 2, 100))
    assert report.confused(5) == [("a", "b", 1), ("b", "a", 1)]
    unsaid = class_report([["a"]], [["b"]])
    assert [(one.precision, one.recall, one.f1) for one in unsaid.classes] == [(0, 0, 0), (0, 0, 0)]


def test_words_are_counted_and_sentences_resampled() -> None:
    """3 of 4 words; two sentences are two items."""
    counts = accuracy([["D", "N", "V"], ["N"]], [["D", "N", "N"], ["N"]])
    assert counts.items.tolist() == [[2, 3], [1, 1]]
    assert not counts.proportion
    assert value(counts) == 75


def test_correlations() -> None:
    """x = 1, 2, 3, 4 and y = 2, 1, 4, 3: Σ = 3 of √(5·5)."""
    x, y = [1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 4.0, 3.0]
    assert value(pearson(x, y)) == pytest.approx(60)
    assert value(spearman(x, y)) == pytest.approx(60)
    assert value(pearson(x, [-3 * one + 1e6 for one in x])) == pytest.approx(-100)
    assert value(spearman(x, [one**5 for one in x])) == pytest.approx(100)
    assert value(pearson(x, [7.0] * 4)) == 0.0
    assert value(root_mean_squared_error([1.0, 2.0], [4.0, 6.0])) == pytest.approx((25 / 2) ** 0.5)


def test_equal_numbers_share_their_rank() -> None:
    """By hand: ranks 1, 2.5, 2.5, 4, whose correlation with 1, 2, 3, 4 is 4.5 / √(5 · 4.5)."""
    import numpy

    assert ranks(numpy.array([1.0, 5.0, 5.0, 9.0])).tolist() == [1.0, 2.5, 2.5, 4.0]
    assert value(spearman([1.0, 2.0, 3.0, 4.0], [1.0, 5.0, 5.0, 9.0])) == pytest.approx(100 * 4.5 / (5 * 4.5) ** 0.5)


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("B-per I-per O B-loc", {("per", 0, 2), ("loc", 3, 4)}),
        ("B-per B-per", {("per", 0, 1), ("per", 1, 2)}),
        ("I-per I-per O", {("per", 0, 2)}),  # as conlleval reads the older notation
        ("B-per I-loc", {("per", 0, 1), ("loc", 1, 2)}),
        ("O O", set()),
        ("S-loc B-per I-per E-per I-per", {("loc", 0, 1), ("per", 1, 4), ("per", 4, 5)}),
        ("B-a-b I-a-b", {("a-b", 0, 2)}),
    ],
)
def test_spans(tags: str, spans: set[tuple[str, int, int]]) -> None:
    assert spans_in(tags.split()) == spans


def test_span_f1() -> None:
    """One of two that were said is right, of three that are there: 2·1 / 5."""
    true = [["B-per", "I-per", "O", "B-loc", "O", "B-loc"]]
    said = [["B-per", "I-per", "O", "B-per", "O", "O"]]
    assert value(span_f1(said, true)) == pytest.approx(40)
    assert value(span_f1([["O"]], [["O"]])) == 0.0


def test_each_kind_has_its_metrics() -> None:
    assert metrics_of("labels") == ["accuracy", "macro_f1", "micro_f1", "binary_f1", "matthews"]
    assert "binary_f1" not in metrics_of("labels", two=False)
    assert metrics_of("tags") == ["accuracy", "macro_f1", "span_f1"]
    assert metrics_of("tags", spans=False) == ["accuracy", "macro_f1"]
    assert metrics_of("numbers") == ["pearson", "spearman", "root_mean_squared_error"]
    assert [name for name, one in LABEL_METRICS.items() if not one.higher_is_better] == ["root_mean_squared_error"]


def test_intervals_hold_the_value() -> None:
    for one in measure_labels(metrics_of("labels", two=False), SAID * 20, TRUE * 20, resamples=100):
        assert one.low <= one.value <= one.high
        assert one.low < one.high
    assert values_of(["accuracy"], SAID, TRUE) == {"accuracy": pytest.approx(400 / 6)}


def test_what_cannot_be_compared_is_no_number() -> None:
    with pytest.raises(DataError, match="nothing to measure"):
        accuracy([], [])
    with pytest.raises(DataError, match="cannot be compared"):
        macro_f1([["a", "b"]], [["a"]])
    with pytest.raises(DataError, match="2 numbers cannot be compared with 1"):
        pearson([1.0, 2.0], [1.0])
