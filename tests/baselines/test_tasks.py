"""Every baseline on data whose answers are known."""

import math
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import torch

from dragoman.baselines.clock import OutOfTimeError, within
from dragoman.baselines.frames import (
    around,
    frame_label_baselines,
    frame_number_baselines,
    frame_tag_baselines,
    summary_of,
)
from dragoman.baselines.images import caption_baselines
from dragoman.baselines.labels import label_baselines
from dragoman.baselines.ngrams import NGrams, fitted
from dragoman.baselines.numbers import number_baselines
from dragoman.baselines.pairs import SuffixRules, longest_common, pair_baselines
from dragoman.baselines.predicted import Baselines, Predicted, Skipped, sampled
from dragoman.baselines.solver import ridge, squared_hinge
from dragoman.baselines.spans import span_baselines
from dragoman.baselines.sparse import beside, dense, summed
from dragoman.baselines.tags import frequent_tags, tag_baselines
from dragoman.baselines.texts import Letters, Weighted, Words
from dragoman.baselines.tracks import RidgeForecaster
from dragoman.baselines.training_data import Known
from dragoman.data.readers.labelled import Labelled
from dragoman.errors import DataError

PLAIN = ("the", "a", "film", "it", "was", "so")


def by_name(found: Baselines) -> dict[str, list[object]]:
    return {one.name: list(one.predictions) for one in found if isinstance(one, Predicted)}


def opinions(count: int) -> list[tuple[tuple[str, ...], str]]:
    """Good and bad words in turn; bad ones once more in every tenth example."""
    made = []
    for number in range(count):
        good = number % 2 == 0 and number % 10 != 0
        word = ("fine", "great")[number % 3 % 2] if good else ("poor", "dull")[number % 3 % 2]
        made.append(((f"{PLAIN[number % 6]} {word} {PLAIN[number % 5]}",), "pos" if good else "neg"))
    return made


def test_labels() -> None:
    found = by_name(label_baselines(opinions(60), [("it was great",), ("so dull",), ("",)]))
    assert found["majority"] == [["neg"]] * 3
    assert found["linear"][:2] == [["pos"], ["neg"]]
    assert by_name(label_baselines([(("a",), "one")], [("b",)])) == {"majority": [["one"]]}


def test_more_than_two_labels_and_letters() -> None:
    """Endings decide, and every word is new: only n-grams of letters know them."""
    endings = ("ing", "ed", "s")
    train = [
        ((f"{chr(97 + number % 24)}{chr(97 + number % 11)}{endings[number % 3]}",), str(number % 3))
        for number in range(90)
    ]
    asked = [("zzing",), ("zzed",), ("zzs",)]
    assert by_name(label_baselines(train, asked))["linear"] == [["0"], ["1"], ["2"]]


def test_pairs_of_texts_are_compared() -> None:
    train = []
    for number in range(80):
        first = f"{PLAIN[number % 6]} dog{number} ran"
        second = first if number % 2 else f"no cat{number} sat {PLAIN[number % 5]}"
        train.append(((first, second), "same" if number % 2 else "other"))
    asked = [("an owl flew", "an owl flew"), ("an owl flew", "every horse slept long")]
    assert by_name(label_baselines(train, asked))["linear"] == [["same"], ["other"]]


def test_numbers() -> None:
    words = [
        " ".join(["good"] * (number % 3 > 0) + ["very"] * (number % 3 > 1) + [PLAIN[number % 5]])
        for number in range(90)
    ]
    train = [((text,), float(number % 3)) for number, text in enumerate(words)]
    found = by_name(number_baselines(train, [("the",), ("good the",), ("very good the",)]))
    assert found["mean"] == [1.0] * 3
    assert found["linear"] == pytest.approx([0, 1, 2], abs=0.3)


def test_ridge_is_the_solution_of_its_equation() -> None:
    rows, targets = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]]), np.array([[1.0], [0.5], [2.0]])
    weights = ridge(dense(rows), torch.tensor(targets, dtype=torch.float32), 0.5)
    known = np.linalg.solve(np.eye(2) + rows.T @ rows, rows.T @ targets)
    assert weights.numpy() == pytest.approx(known, abs=1e-4)


def test_squared_hinge_has_no_gradient_left() -> None:
    rows, signs = np.array([[1.0, 0.5], [-1.0, 1.0], [0.2, -1.0], [0.4, 0.3]]), np.array([[1.0], [-1.0], [1.0], [-1.0]])
    found = squared_hinge(dense(rows), torch.tensor(signs, dtype=torch.float32), 1.0).numpy()
    slack = np.maximum(0, 1 - signs * (rows @ found))
    start = 2 * np.linalg.norm(rows.T @ signs)
    assert np.linalg.norm(found - 2 * rows.T @ (signs * slack)) <= 0.001 * start + 1e-6


def test_squared_hinge_learns_words_beside_a_constant_that_has_most_of_the_gradient() -> None:
    """Of many labels, each against the rest, all but a few examples are negative."""
    count = 40
    rows = np.concatenate([0.3 * np.eye(count), np.ones((count, 1))], 1)
    signs = 2 * np.eye(count) - 1
    found = squared_hinge(dense(rows), torch.tensor(signs, dtype=torch.float32), 10.0).numpy()
    slack = np.maximum(0, 1 - signs * (rows @ found))
    left = found - 20 * rows.T @ (signs * slack)
    assert np.abs(left[:-1]).max() <= 0.05 * 20 * 0.3  # of the gradient of a word at the start


def test_tags() -> None:
    train = [
        (("the", "dog", "can", "run"), ("DET", "NOUN", "AUX", "VERB")),
        (("the", "can", "fell"), ("DET", "NOUN", "VERB")),
        (("dogs", "can", "run"), ("NOUN", "AUX", "VERB")),
    ] * 5
    found = by_name(tag_baselines(train, [("the", "can", "fell"), ("new",), ()]))
    assert found["majority"] == [["DET", "AUX", "VERB"], ["NOUN"], []]  # the word alone
    assert found["linear"][0] == ["DET", "NOUN", "VERB"]  # its neighbors too
    assert [len(tags) for tags in found["linear"]] == [3, 1, 0]


def test_spans() -> None:
    document = "The tower is in Paris. It was built by Eiffel in 1889. Many people visit it."
    train = [("who painted it", f"In the {place} it was painted by Rembrandt.", "Rembrandt") for place in "abcdefg"]
    found = by_name(span_baselines(train, [("who built it", document), ("why", "")]))
    assert found["sentence"][0] == "It was built by Eiffel in 1889."
    assert found["window"][0] == "Eiffel"
    assert found["sentence"][1] == ""


def test_pairs() -> None:
    train = [
        ("ein roter Hund rennt sehr schnell", "a dog"),
        ("eine alte Katze und ein Vogel", "a cat"),
        ("x y z w v u", "b b"),
    ]
    found = by_name(pair_baselines(train, ["eine Katze und mehr", "nichts davon"]))
    assert found["copy"] == ["eine Katze und mehr", "nichts davon"]
    assert found["lead"] == ["eine Katze", "nichts davon"]
    assert found["nearest"][0] == "a cat"
    assert by_name(pair_baselines(train, ["eine Katze"], replies=True)) == {"nearest": ["a cat"]}


def test_rules_of_inflection() -> None:
    train = [(f"{stem}\tPST", f"{stem}ed") for stem in ("walk", "talk", "jump", "kick")]
    train += [(f"{stem}e\tPST", f"{stem}ed") for stem in ("lov", "hat", "bak")]
    train += [(f"{stem}\tPTCP", f"ge{stem}t") for stem in ("mach", "sag", "lern")]
    found = by_name(pair_baselines(train, ["pick\tPST", "rake\tPST", "kauf\tPTCP", "new\tFUT"]))
    assert found["rules"] == ["picked", "raked", "gekauft", "new"]
    turned = [(" ".join(reversed(source.split("\t"))), form) for source, form in train]
    assert by_name(pair_baselines(turned, ["PST pick", "PTCP kauf"]))["rules"] == ["picked", "gekauft"]
    assert "rules" not in by_name(pair_baselines([("a b c", "x y z")] * 9, ["a"]))
    assert (longest_common("gemacht", "machen"), longest_common("", "a")) == ((2, 0, 4), (0, 0, 0))
    assert SuffixRules().fit([]).inflected("word", "X") == "word"


def test_n_grams_are_a_distribution() -> None:
    """Over all tokens of the vocabulary, behind any context, known or new."""
    model = NGrams(3, 5).fit([np.array([0, 1, 2, 0, 1, 3]), np.array([1, 1, 2])])
    for context in ([], [0, 1], [4, 4], [2]):
        ends = [model.log_probabilities([np.array([*context, token])])[-1] for token in range(5)]
        assert math.fsum(math.exp(one) for one in ends) == pytest.approx(1)


def test_n_grams_by_pencil() -> None:
    """Counts 2 (a), 1 (b) over three: d = 1/2 where no count of counts is known."""
    model = NGrams(1, 2).fit([np.array([0, 0, 1])])
    discount = 1 / (1 + 2)  # one token seen once, one twice
    kept_back = discount * 2 / 3
    expected = [(2 - discount) / 3 + kept_back / 2, (1 - discount) / 3 + kept_back / 2]
    assert np.exp(model.log_probabilities([np.array([0, 1])])) == pytest.approx(expected)


def test_the_order_of_n_grams_is_chosen() -> None:
    pattern = np.tile(np.array([0, 1, 0, 2]), 200)  # what follows 0 is known two tokens before
    assert fitted([pattern], 3).order >= 3
    noise = np.random.default_rng(1).integers(0, 3, 600)
    assert fitted([noise], 3).order <= 2


def test_captions() -> None:
    train = np.stack([np.full((3, 2, 2), value, np.uint8) for value in (0, 100, 250)])
    captions = [{"en": "black", "de": "schwarz"}, {"en": "grey"}, {"en": "white", "de": "weiß"}]
    test = np.stack([np.full((3, 2, 2), value, np.uint8) for value in (20, 90, 240)])
    found = by_name(caption_baselines(list(train), captions, test, ["en", "en", "de"]))
    assert found == {"nearest": ["black", "grey", "weiß"]}


def test_tracks() -> None:
    """A circle is a linear map of its last steps, which the last velocity is not."""
    angles = np.arange(12)[None, :] * 0.3 + np.linspace(0, 6, 40)[:, None]
    tracks = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    model = RidgeForecaster().fit(tracks[:, :8], tracks[:, 8:])
    missed = np.abs(model.predict(tracks[:, :8], 4) - tracks[:, 8:]).max()
    still = np.abs(RidgeForecaster().predict(tracks[:, :8], 4) - tracks[:, 8:]).max()
    assert missed < 0.05 < still
    holed = tracks[:1, :8].copy()
    holed[0, 2] = np.nan
    assert np.isfinite(model.predict(holed, 4)).all()


def test_frames() -> None:
    draw = np.random.default_rng(3)
    waves = [np.sin(np.arange(20) * (0.3 if number % 2 else 2.0) + number)[:, None] for number in range(40)]
    waves = [wave + 0.05 * draw.standard_normal(wave.shape) for wave in waves]
    labels = ["slow" if number % 2 else "fast" for number in range(40)]
    train = [(summary_of(wave), label) for wave, label in zip(waves[:30], labels, strict=False)]
    found = by_name(frame_label_baselines(train, [summary_of(wave) for wave in waves[30:]]))
    assert found["linear"] == [[label] for label in labels[30:]]
    numbers = [(summary_of(wave), float(wave.max())) for wave in waves]
    said = by_name(frame_number_baselines(numbers[:30], [row for row, _ in numbers[30:]]))["linear"]
    assert said == pytest.approx([number for _, number in numbers[30:]], abs=0.1)


def test_tags_of_frames() -> None:
    """Up or down is seen from the frames around."""
    waves = [np.sin(np.arange(30) * 0.5 + start)[:, None] for start in range(8)]
    tags = [["up" if math.cos(step * 0.5 + start) > 0 else "down" for step in range(30)] for start in range(8)]
    train = list(zip(waves[:6], tags, strict=False))
    [majority, linear] = frame_tag_baselines(train, waves[6:])
    assert isinstance(majority, Predicted)
    assert isinstance(linear, Predicted)
    right = [
        one == other
        for said, true in zip(linear.predictions, tags[6:], strict=True)
        for one, other in zip(said, true, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert {tag for row in majority.predictions for tag in row} in ({"up"}, {"down"})


def test_a_clip_of_one_frame_has_a_summary() -> None:
    assert np.isfinite(summary_of(np.array([[1.0, np.nan]]))).all()
    assert around(np.ones((1, 2)), np.array([0])).shape == (1, 12)


def test_sparse_rows_are_what_dense_ones_are() -> None:
    one = summed(np.array([1, 0, 1, 1]), np.array([2, 0, 2, 1]), np.ones(4, np.float32), (2, 3))
    assert one.matrix.to_dense().tolist() == [[1, 0, 0], [0, 1, 2]]
    assert one.transposed.to_dense().tolist() == [[1, 0], [0, 1], [0, 2]]
    both = beside([one, dense(np.array([[5.0], [6.0]]))])
    assert both.matrix.to_dense().tolist() == [[1, 0, 0, 5], [0, 1, 2, 6]]
    assert both.select(np.array([1])).matrix.to_dense().tolist() == [[0, 1, 2, 6]]


def test_weights_of_words_by_pencil() -> None:
    found = Weighted(Words(longest=1)).learn(["a b", "a"]).rows(["a b b c", ""])
    a, b = 1 * 1.0, (1 + math.log(2)) * (1 + math.log(3 / 2))  # tf and idf; c is new
    length = math.hypot(a, b)
    assert sorted(found.values.tolist()) == pytest.approx(sorted([a / length, b / length]))
    assert len(found) == 2


def test_letters_stay_inside_words() -> None:
    rows, codes = Letters((3,)).codes(["ab cd"], True)
    assert (len(rows), len(set(codes.tolist()))) == (4, 4)  # _ab ab_ _cd cd_


CASES: list[Callable[[], Baselines]] = [
    lambda: label_baselines(opinions(60), [("it was great",), ("dull film",)]),
    lambda: number_baselines([((f"w{n % 7} x{n % 3}",), n % 7.0) for n in range(60)], [("w3 x1",), ("w5",)]),
    lambda: tag_baselines([(("a", "b"), ("A", "B"))] * 30, [("a", "b", "a")]),
    lambda: pair_baselines([(f"s{n % 9} t{n}", f"u{n}") for n in range(60)], ["s3", "s4 t40"]),
]


@pytest.mark.parametrize("case", CASES)
def test_the_same_data_gives_the_same_predictions(case: Callable[[], Baselines]) -> None:
    assert list(case()) == list(case())


EMPTY: list[Callable[[], Baselines]] = [
    lambda: label_baselines([(("",), "a"), (("",), "b")], [("",)]),
    lambda: label_baselines([(("", ""), "a"), (("x", ""), "b")], [("", "")]),
    lambda: number_baselines([(("",), 1.0)], [("x",)]),
    lambda: tag_baselines([((), ())] * 2 + [(("a",), ("A",)), (("b",), ("B",))], [()]),
    lambda: pair_baselines([("", "")], ["", "a"]),
    lambda: pair_baselines([("a b", "c")], [""]),
    lambda: span_baselines([("", "", "")], [("", "")]),
]


@pytest.mark.parametrize("case", EMPTY)
def test_next_to_nothing_is_enough(case: Callable[[], Baselines]) -> None:
    assert list(case())


def test_samples_are_bounded_and_the_same_each_time() -> None:
    assert sampled(4, 9) == [0, 1, 2, 3]
    some = sampled(10**6, 50)
    assert (len(some), some) == (50, sampled(10**6, 50))


def test_what_takes_too_long_is_broken_off() -> None:
    with within(-1.0), pytest.raises(OutOfTimeError):
        list(label_baselines(opinions(60), [("it",)]))
    assert len(list(label_baselines(opinions(60), [("it",)]))) == 2  # once outside, there is no limit


def test_cost_grows_with_the_data_alone() -> None:
    """Ten times the examples take about ten times as long, not a hundred."""

    def seconds(count: int) -> float:
        train = [(f"s{n % 97} t{n % 89} u{n % 83}", f"v{n % 7}") for n in range(count)]
        started_at = time.process_time()
        list(pair_baselines(train, ["s3 t4"] * 64))
        return time.process_time() - started_at

    seconds(200)
    assert seconds(20_000) < 40 * max(seconds(2_000), 0.01)


@pytest.mark.parametrize(
    ("blocks", "case"),
    [
        (("texts.BLOCK", "labels.BLOCK"), CASES[0]),
        (("texts.BLOCK", "labels.BLOCK"), CASES[1]),
        (("tags.BLOCK",), lambda: tag_baselines([(("a", "b"), ("A", "B"))] * 9, [("a", "b"), (), ("b",), ("a",) * 70])),
        (("texts.BLOCK",), CASES[3]),
    ],
)
def test_blocks_change_no_prediction(
    blocks: tuple[str, ...], case: Callable[[], Baselines], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(case())
    for name in blocks:
        monkeypatch.setattr(f"dragoman.baselines.{name}", 64)
    assert list(case()) == whole


def test_blocks_of_n_grams_change_no_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [np.array([0, 1, 2, 0, 1]), np.array([1]), np.array([2, 2, 0]), np.array([0, 1])]
    model = NGrams(3, 4).fit(rows)
    whole = model.log_probabilities(rows).tolist()
    monkeypatch.setattr("dragoman.baselines.ngrams.BLOCK", 3)
    assert model.log_probabilities(rows).tolist() == whole


def test_memory_does_not_grow_with_the_length_of_texts() -> None:
    """Sixteen million letters in four texts."""
    words = "".join(chr(97 + number % 23) + " " * (number % 5 == 0) for number in range(10_000))
    train = [((words[start:] * 400,), str(start % 2)) for start in range(4)]
    tracemalloc.start()
    [_, linear] = label_baselines(train, [(words * 400,)])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20
    assert isinstance(linear, Predicted)
    assert linear.title.endswith(" of the first 20,000 characters")


def test_memory_does_not_grow_with_the_length_of_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two million frames in four sequences: 96 MB, each with those around it."""
    monkeypatch.setattr("dragoman.baselines.frames.MOST_FRAMES", 5_000)
    frames = np.sin(np.arange(500_000, dtype=np.float32))[:, None]
    train = [(frames, ["up", "down"] * 250_000)] * 4
    tracemalloc.start()
    [_, linear] = frame_tag_baselines(train, [frames[:9]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60 * 2**20
    assert isinstance(linear, Predicted)
    assert linear.title.endswith("trained on 5,000 of 2,000,000 frames")


def test_titles_say_how_many_examples_were_used(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known(Labelled(), {}, "", 0)
    examples = opinions(60)
    assert len(known.bounded(examples, lambda one: 1, largest=60).items) == 60
    some = known.bounded(iter(examples), lambda one: 1, largest=20)
    assert (some.items, some.read) == (examples[::4], 60)
    assert len(Known(Labelled(), {}, "", 60).bounded(examples, lambda one: 1, most=20).items) == 20
    monkeypatch.setattr("dragoman.baselines.labels.MOST", 9)
    [majority, linear] = some.trained(label_baselines(some.items, [("it",)]))
    assert isinstance(majority, Predicted)
    assert isinstance(linear, Predicted)
    assert (majority.title, majority.examples) == ("most frequent label, trained on 15 of 60 examples", 15)
    assert (linear.title, linear.examples) == ("linear model over words, trained on 9 of 60 examples", 9)
    with pytest.raises(DataError, match="no example"):
        known.bounded([], lambda one: 1)


def test_long_words_are_not_compared_letter_by_letter() -> None:
    """Twice 10⁵ letters would take hours."""
    long = [(f"{'a' * 100_000}{number} PST", "b" * 100_000) for number in range(20)]
    with within(20.0):
        assert "rules" not in by_name(pair_baselines(long, ["a PST"]))
    short = [(f"{stem} PST", f"{stem}ed") for stem in ("walk", "talk", "jump", "kick", "lick", "pack")]
    assert by_name(pair_baselines([*short, long[0]], ["pick PST"]))["rules"] == ["picked"]


def test_counting_tags_is_linear() -> None:
    """Many different words once took time with their square."""
    train = [((f"word{number}",), (f"tag{number % 400}",)) for number in range(40_000)]
    started_at = time.process_time()
    assert frequent_tags(train, [("word7", "new")]) == [["tag7", "tag0"]]
    assert time.process_time() - started_at < 2


def test_what_cannot_be_computed_is_said() -> None:
    [skipped] = caption_baselines([], [], np.zeros((1, 3, 2, 2), np.uint8), [""])
    assert isinstance(skipped, Skipped)
    assert skipped.sentence() == (
        "Skipped the baseline “caption of the nearest image by pixels”: none of the training images can be read."
    )
    [skipped] = tag_baselines([((), ())], [("a",)])
    assert isinstance(skipped, Skipped)
