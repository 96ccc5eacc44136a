"""Models side by side, on answers written by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from dragoman.baselines.predicted import Predicted
from dragoman.comparison import judging
from dragoman.comparison.answering import Answered
from dragoman.comparison.conversations import CONVERSATIONS
from dragoman.comparison.judging import Alone, by_source, in_groups, judge, scored, telling
from dragoman.comparison.series import FRAMES, measure_of
from dragoman.comparison.texts import PAIRS
from dragoman.comparison.tracks import TRACKS, Past, by_horizon
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.track import Feature
from dragoman.data.tracking import Windows
from dragoman.metrics.error_rates import percent_of_items
from dragoman.metrics.measured import Counts
from dragoman.metrics.perplexity import count_symbols
from dragoman.metrics.significance import difference_by_chance
from dragoman.recipes import compose
from dragoman.served import Evaluation

ITEMS = [(f"s{number}", (f"a b c {number}",)) for number in range(6)]
RIGHT = [references[0] for _, references in ITEMS]


def answered(answers: Sequence[Any], lengths: Sequence[int] = (3, 1, 2, 5, 4, 6), log: float = -1.0) -> Answered:
    count = len(answers)
    return Answered(tuple(answers), 0, (log,) * count, (5,) * count, tuple(lengths), 1.0, 10)


def settings(*metrics: str) -> Evaluation:
    return Evaluation(metrics=metrics, resamples=20)


def test_the_best_is_that_of_the_first_metric() -> None:
    half = [*RIGHT[:3], *["x"] * 3]
    judged = judge(
        settings("sequence_error_rate", "exact_match"), ITEMS, [answered(half), answered(RIGHT, log=-2.0)], True
    )
    assert judged.metrics == ("sequence_error_rate", "exact_match", "perplexity")
    assert judged.best == 1
    first, second = judged.scores
    assert (first["sequence_error_rate"].measured.value, second["sequence_error_rate"].measured.value) == (50, 0)
    assert first["sequence_error_rate"].p == 2 * 8 / 64  # three differences, of which all must have one sign
    assert (first["exact_match"].best, second["exact_match"].best) == (False, True)
    assert second["exact_match"].p is None
    assert first["perplexity"].best  # lower is better there


def test_a_metric_in_which_all_are_equal_decides_nothing() -> None:
    nearly = ["a b c x"] * 6
    judged = judge(settings("exact_match", "word_error_rate"), ITEMS, [answered(["x"] * 6), answered(nearly)], True)
    assert (judged.decisive, judged.best) == ("word_error_rate", 1)
    same = judge(settings("exact_match", "word_error_rate"), ITEMS, [answered(nearly), answered(nearly)], True)
    assert (same.decisive, same.best, same.leaders) == ("exact_match", None, (0, 1))
    assert not any(scores[name].best for scores in same.scores for name in same.metrics)  # a tie has no best


def test_one_lucky_answer_decides_nothing() -> None:
    """One exact match of eight is chance (p = 1); three words more in each of the others are not: 4 / 256."""
    items = [("s", ("a b c d",))] * 8
    lucky, near = ["a b c d", *["x x x x"] * 7], ["a b c x"] * 8
    both = [answered(lucky, [1] * 8), answered(near, [1] * 8)]
    judged = judge(settings("exact_match", "word_error_rate"), items, both, True)
    assert judged.scores[0]["exact_match"].best
    assert (judged.decisive, judged.best) == ("word_error_rate", 1)
    only = judge(settings("exact_match"), items, both, True)
    assert (only.decisive, only.best, only.tells_apart("exact_match")) == ("exact_match", 0, False)


def test_one_model_is_not_the_best() -> None:
    judged = judge(settings("exact_match"), ITEMS, [answered(RIGHT)], True)
    assert judged.best is None
    assert not judged.scores[0]["exact_match"].best


def test_alike_models_are_seldom_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve fair coins of 200 throws: the best was chosen by the throws that it is compared on. Corrected for eleven
    comparisons only, 10 of these 60 trials are false alarms; 5 % are 3."""
    monkeypatch.setattr(judging, "trials_of", lambda models: 2_500)
    alarms = 0
    for trial in range(60):
        throws = numpy.random.default_rng(trial).integers(0, 2, (12, 200)).astype(float)
        coins = [Counts(numpy.stack([row, numpy.ones(200)], 1), percent_of_items, lambda n, seed: "") for row in throws]
        found = scored({"exact_match": coins}, 1, ["exact_match"])["exact_match"]
        alarms += any(one.p is not None and one.p < 0.05 for one in found)
    assert alarms <= 3


def test_perplexities_of_other_symbols_are_not_compared() -> None:
    judged = judge(settings("exact_match"), ITEMS, [answered(RIGHT), answered(RIGHT, log=-2.0)], False)
    assert [scores["perplexity"].p for scores in judged.scores] == [None, None]
    assert not any(scores["perplexity"].best for scores in judged.scores)


def test_right_and_wrong_alone() -> None:
    first = ["x", "x", *RIGHT[2:]]
    second = [RIGHT[0], "x", *RIGHT[2:5], "x"]
    third = [RIGHT[0], RIGHT[1], *RIGHT[2:5], "x"]
    judged = judge(settings("exact_match"), ITEMS, [answered(one) for one in (first, second, third)], True)
    assert judged.bar is None
    assert judged.alone == (Alone((5,), (0,)), Alone((), ()), Alone((1,), ()))


def test_where_nothing_is_quite_right_the_median_decides() -> None:
    """Error rates of single sentences: 25, 50 and 75 % of four words."""
    items = [("s", ("a b c d",))] * 3
    first = ["a b c x", "a b c x", "a x x x"]
    second = ["a b x x", "a x x x", "a b c x"]
    judged = judge(settings("word_error_rate"), items, [answered(one, (1, 1, 1)) for one in (first, second)], True)
    assert judged.sentences == ((75, 75, 25), (50, 25, 75))
    assert judged.bar == 62.5
    assert judged.alone == (Alone((1, 0), (2,)), Alone((2,), (1, 0)))


def test_the_worst_is_never_right() -> None:
    """Most answers share nothing with the reference, so the median is 0."""
    items = [("s", ("a b c d",))] * 3
    first, second = ["a b c x", "x x x x", "x x x x"], ["x x x x", "x x x x", "x x x x"]
    judged = judge(settings("word_error_rate"), items, [answered(one, (1, 1, 1)) for one in (first, second)], True)
    assert judged.bar == 0
    assert judged.alone == (Alone((0,), ()), Alone((), (0,)))


def test_all_or_nothing_has_an_interval() -> None:
    """Wilson's, of 0 and of 6 of 6: 3.8415 / 9.8415."""
    right, wrong = judge(settings("exact_match"), ITEMS, [answered(RIGHT), answered(["x"] * 6)], True).scores
    assert right["exact_match"].measured.low == pytest.approx(100 - 39.033, abs=0.001)
    assert right["exact_match"].measured.high == 100
    assert wrong["exact_match"].measured.high == pytest.approx(39.033, abs=0.001)
    assert wrong["exact_match"].measured.signature.endswith("|interval:wilson")


def test_perplexity_is_drawn_by_sources() -> None:
    """Two sources, one of three references: two rows."""
    counts = by_source(count_symbols([-1.0, -2.0, -3.0, -4.0], [1, 2, 3, 4]), [("a", "b", "c"), ("d",)])
    assert counts.items.tolist() == [[-6, 6], [-4, 4]]


def test_judging_tells_how_far_it_is() -> None:
    told: list[tuple[str, int, int]] = []
    judge(settings("exact_match"), ITEMS, [answered(RIGHT), answered(["x"] * 6)], True, lambda *one: told.append(one))
    assert told == [("metrics measured", 1, 2), ("metrics measured", 2, 2), ("exchanges tried", 64, 64)]


def test_one_model_is_never_alone() -> None:
    assert judge(settings("exact_match"), ITEMS, [answered(RIGHT)], True).alone == (Alone((), ()),)


def test_buckets_are_the_same_for_all_and_scored_as_corpora() -> None:
    """Forty short and twenty long sources; the second model fails on long ones."""
    items = [("s", ("a b",))] * 40 + [("s", ("a b c d",))] * 20
    lengths = [2] * 40 + [7] * 10 + [8] * 10
    good, bad = ["a b"] * 40 + ["a b c d"] * 20, ["a b"] * 40 + ["a b x x"] * 20
    judged = judge(settings("word_error_rate"), items, [answered(one, lengths) for one in (good, bad)], True)
    (buckets,) = judged.buckets.values()
    assert [(one.shortest, one.longest, one.count) for one in buckets] == [(2, 2, 40), (7, 8, 20)]
    assert [[one.value for one in bucket.measured] for bucket in buckets] == [[0, 0], [0, 50]]
    assert all(one.low <= one.value <= one.high for bucket in buckets for one in bucket.measured)
    both = judge(settings("exact_match", "word_error_rate"), items, [answered(good, lengths)], True)
    assert list(both.buckets) == ["exact_match", "word_error_rate"]


def test_sources_worth_looking_at() -> None:
    lengths = [3, 1, 2, 50, 4, 6]
    worse = [*RIGHT[:3], "x", "x", "a b c"]
    judged = judge(settings("word_error_rate"), ITEMS, [answered(RIGHT, lengths), answered(worse, lengths)], True)
    shown = telling(judged, lengths, 40)
    assert shown == [
        (1, "a short source"),
        (0, "of median length"),
        (5, "a long source"),
        (4, "where the answers differ most"),
    ]
    assert telling(judged, [50] * 6, 40) == []


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_metrics_of_sacrebleu_have_sentences_too(metric: str) -> None:
    judged = judge(settings(metric), ITEMS, [answered(RIGHT), answered(["x"] * 6)], True)
    assert judged.sentence_metric == ("ter" if metric == "ter" else "chrf")
    assert judged.sentences[0] == pytest.approx([100] * 6)
    assert max(judged.sentences[1]) < 1


def past(name: str, end: float) -> Past:
    """Two points on a line, a metre apart."""
    steps = numpy.array([[[end - 1.0], [end]]])
    return Past(Windows((name,), numpy.array([1]), steps, steps[:, :1], steps[..., None]), (Feature("x", "m"),), "m")


def test_futures_are_measured_in_the_unit_of_the_data() -> None:
    """One is right, the other half a metre and a metre and a half off; the last velocity is right, too."""
    items = [(past("a", 1.0), (((2.0,), (3.0,)),)), (past("b", 5.0), (((6.0,), (7.0,)),))]
    right = [((2.0,), (3.0,)), ((6.0,), (7.0,))]
    wrong = [((2.5,), (4.5,)), ((6.5,), (8.5,))]
    still = [Predicted("velocity", "last velocity", right)]
    found = [answered(one, (2, 2)) for one in (wrong, right)]
    judged = judge(settings(), items, found, True, kind=TRACKS, beside=still)
    assert judged.metrics == ("ade", "fde", "rmse")
    first = {name: score.measured.value for name, score in judged.scores[0].items()}
    assert first == pytest.approx({"ade": 1.0, "fde": 1.5, "rmse": (2.5 / 2) ** 0.5})
    assert judged.best == 1
    assert judged.measures["ade"].title == "ADE [m]"
    assert judged.sentences == ((-1.0, -1.0), (0.0, 0.0))
    assert judged.beside["last velocity"]["fde"].value == 0
    assert judged.chances == {"last velocity": 1.0}
    assert [[one.value for one in bucket.measured] for bucket in judged.buckets["ade"]] == [[0.5, 0], [1.5, 0]]


def test_horizons_draw_whole_tracks() -> None:
    """Of two tracks, one is a metre off in all its windows, the other three."""
    items = [(past(name, 1.0), (((2.0,),),)) for name in "ab" * 50]
    [bucket] = by_horizon([], items, [[((3.0,),), ((5.0,),)] * 50])["ade"]
    assert (bucket.count, [(one.low, one.value, one.high) for one in bucket.measured]) == (100, [(1, 2, 3)])


def test_windows_of_one_track_are_one_draw() -> None:
    """Three windows of two tracks: rows add up, so that nothing is exchanged within a track."""
    items = [(past(name, 1.0), ((),)) for name in ("a", "b", "a")]
    counts = Counts(numpy.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), percent_of_items, lambda n, seed: "")
    assert in_groups(counts, TRACKS, items).items.tolist() == [[5, 2], [2, 1]]
    assert in_groups(counts, FRAMES, items) is counts


def test_turns_of_one_conversation_are_one_draw(tmp_path: Path) -> None:
    """Of tables as of JSON lines; pairs of texts are draws of their own."""
    (tmp_path / "a.jsonl").write_text('{"turns": ["a", "b", "c"]}\n{"turns": ["d", "e"]}\n')
    (tmp_path / "a.tsv").write_text("id\ttext\n1\ta\n1\tb\n1\tc\n2\td\n2\te\n")
    for file in ("a.jsonl", "a.tsv"):
        held = {"data.test": [str(tmp_path / file)]}
        plain = compose("hred", "tiny", ("none.jsonl",), settings=held).settings
        items = [(source, (truth,)) for _, source, truth in CONVERSATIONS.read(plain, (), Problems())]
        assert [CONVERSATIONS.name_of(history) for history, _ in items] == ["a", "a / b", "d"]
        counts = Counts(numpy.array([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]]), percent_of_items, lambda n, seed: "")
        assert sorted(in_groups(counts, CONVERSATIONS, items).items.tolist()) == [[3, 2], [4, 1]]
    assert in_groups(counts, PAIRS, items) is counts


def test_labels_that_one_model_alone_says_have_a_column_for_all() -> None:
    first, second = measure_of("macro_f1").count([["up", "up"], ["up", "odd"]], [("up",), ("down",)])
    assert first.items.shape == second.items.shape
    values = [float(one.score(one.items.sum(0, keepdims=True))[0]) for one in (first, second)]
    assert values == pytest.approx([100 * (2 / 3 + 0) / 2, 100 * (1 + 0 + 0) / 3])


def test_correlations_are_exchanged_on_one_scale() -> None:
    """A model that says the same in other units is the same, whatever is exchanged."""
    truths = [(float(value),) for value in (1, 4, 2, 8)]
    one, other = measure_of("pearson").count([[1.0, 3.0, 2.0, 9.0], [10.0, 30.0, 20.0, 90.0]], truths)
    assert one.items.tolist() == [pytest.approx(row) for row in other.items.tolist()]
    assert difference_by_chance(one, other) == 1


@pytest.mark.parametrize(
    ("truths", "metrics"),
    [
        (["up", "down"], ("accuracy", "macro_f1")),
        ([("up", "up"), ("down",)], ("accuracy", "macro_f1")),
        ([("B-x", "I-x"), ("O",)], ("span_f1", "accuracy")),
        ([1.0, 3.0], ("pearson", "spearman", "root_mean_squared_error")),
    ],
)
def test_what_is_true_says_what_is_measured(truths: list[Any], metrics: tuple[str, ...]) -> None:
    items = [("s", (truth,)) for truth in truths]
    judged = judge(settings(), items, [answered(truths, (1, 1)), answered(truths, (1, 1))], True, kind=FRAMES)
    assert judged.metrics == metrics
    assert judged.scores[0][metrics[0]].measured.value == pytest.approx(100)
