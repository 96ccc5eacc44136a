"""A beam of two over a vocabulary of five, every number of which can be checked with a pencil."""

import math

import pytest
import torch

from dragoman.contracts import Hypothesis
from dragoman.errors import ConfigError, NumericalError
from dragoman.search import Beam, Greedy, loop, search
from dragoman.search.proposals import propose
from search.toy import END, START, TableModel, random_table, readable_beam, request, same

HE, WE, PIE = 2, 3, 4
NEVER = -math.inf
TABLE = {  #        START  END    he     we     pie
    (): [NEVER, -3.00, -0.50, -1.00, -4.00],
    (HE,): [NEVER, -1.50, -9.00, -3.00, -1.00],
    (WE,): [NEVER, -5.00, -2.00, -9.00, -0.25],
    (WE, PIE): [NEVER, -1.00, -1.50, -9.00, -9.00],
    (HE, PIE): [NEVER, -0.25, -9.00, -3.00, -9.00],
}
LATER = [NEVER, -1.00, -1.25, -9.00, -9.00]


def pencil() -> TableModel:
    return TableModel(lambda sentence, prefix: TABLE.get(prefix, LATER))


def answers(config: Beam | Greedy, limit: int, n_best: int) -> list[Hypothesis]:
    model = pencil()
    return search(config, model, model.start([0]), request([limit]), n_best)[0]


def test_average_over_symbols_with_end_counted():
    expected = [
        Hypothesis((HE, PIE), -1.75, -1.75 / 3, True),
        Hypothesis((WE, PIE), -2.25, -0.75, True),
        Hypothesis((HE,), -2.0, -1.0, True),
    ]
    assert same(answers(Beam(width=2), limit=3, n_best=3), expected)


def test_total_favours_the_short():
    found = answers(Beam(width=2, normalisation="none"), limit=3, n_best=3)
    assert [(one.tokens, one.score) for one in found] == [((HE, PIE), -1.75), ((HE,), -2.0), ((WE, PIE), -2.25)]


def test_unfinished_ones_come_after_the_ended_and_are_marked():
    found = answers(Beam(width=2), limit=3, n_best=9)
    assert [one.finished for one in found] == [True, True, True, False, False]
    assert same(found[3:4], [Hypothesis((WE, PIE, HE), -2.75, -2.75 / 3, False)])


def test_stops_when_enough_have_ended():
    found = answers(Beam(width=2, finished=1), limit=3, n_best=2)
    assert found == [Hypothesis((HE,), -2.0, -1.0, True), Hypothesis((WE, PIE), -1.25, -0.625, False)]


def overtaken(sentence: int, prefix: tuple[int, ...]) -> list[float]:
    """The same table, but "we pie he" goes on for two certain symbols and a certain END."""
    surely = {(WE, PIE, HE): PIE, (WE, PIE, HE, PIE): WE, (WE, PIE, HE, PIE, WE): END}
    if prefix in surely:
        return [NEVER, *(0.0 if symbol == surely[prefix] else -9.0 for symbol in (END, HE, WE, PIE))]
    return TABLE.get(prefix, LATER)


@pytest.mark.parametrize("groups", [1, 2])
def test_a_likely_end_is_sooner_than_a_proved_one(groups):
    """After three steps "he pie" has -1.75 / 3 = -0.583, and the best live one would have -2.75 / 4 = -0.6875 with a
    certain END; but in the end it has -2.75 / 6 = -0.458."""
    steps, best = {}, {}
    for rule in ("proved", "likely"):
        model = TableModel(overtaken)
        config = Beam(width=2 * groups, groups=groups, diversity=0.0, stop=rule)
        [[best[rule]]] = search(config, model, model.start([0]), request([9]), n_best=1)
        steps[rule] = len(model.rows)
    assert steps == {"proved": 6, "likely": 3}
    assert same([best["likely"]], [Hypothesis((HE, PIE), -1.75, -1.75 / 3, True)])
    assert same([best["proved"]], [Hypothesis((WE, PIE, HE, PIE, WE), -2.75, -2.75 / 6, True)])


def test_none_ended_gives_the_best_unfinished():
    assert answers(Beam(width=2), limit=1, n_best=1) == [Hypothesis((HE,), -0.5, -0.5, False)]


def test_greedy():
    assert same(answers(Greedy(), limit=9, n_best=5), [Hypothesis((HE, PIE), -1.75, -1.75 / 3, True)])
    assert answers(Greedy(), limit=2, n_best=1) == [Hypothesis((HE, PIE), -1.5, -0.75, False)]


def test_exits_when_no_live_hypothesis_can_win():
    model = pencil()
    search(Beam(width=2, normalisation="none"), model, model.start([0]), request([50]), n_best=1)
    assert model.rows == [1, 2, 2]  # after three steps the best ended total is -1.75, the best live one -2.75


def test_waits_for_a_long_answer_that_overtakes():
    certain = {(): [NEVER, -1.0, -2.0, -9.0, -9.0], (HE,) * 5: [NEVER, 0.0, -9.0, -9.0, -9.0]}
    model = TableModel(lambda sentence, prefix: certain.get(prefix, [NEVER, -9.0, 0.0, -9.0, -9.0]))
    [[found]] = search(Beam(width=2), model, model.start([0]), request([6]), n_best=1)
    assert same([found], [Hypothesis((HE,) * 5, -2.0, -2.0 / 6, True)])  # END alone has -1, and ended five steps before


def test_finished_sentences_leave_the_batch():
    model = pencil()
    search(Beam(width=2), model, model.start([0, 1, 2]), request([1, 3, 2]), n_best=1)
    assert model.rows == [3, 4, 2]


def test_forbidden_symbols_never_appear():
    model = TableModel(random_table(seed=4, vocabulary=6))
    found = search(Beam(width=4), model, model.start([0, 1]), request([5, 5], forbidden=(START, 2, 5)), n_best=9)
    assert {symbol for sentence in found for one in sentence for symbol in one.tokens} == {3, 4}


def test_forbidden_end_leaves_everything_unfinished():
    model = pencil()
    for config in (Beam(width=2), Greedy()):
        [found] = search(config, model, model.start([0]), request([4], forbidden=(START, END)), n_best=1)
        assert not found[0].finished
        assert len(found[0].tokens) == 4


def test_empty_batch():
    model = pencil()
    assert search(Beam(), model, model.start([]), request([]), n_best=1) == []
    assert search(Greedy(), model, model.start([]), request([]), n_best=1) == []


@pytest.mark.parametrize("config", [Beam(width=2), Greedy()])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_model_without_numbers_is_an_error(config, value):
    model = TableModel(lambda sentence, prefix: [value] * 5)
    with pytest.raises(NumericalError, match="no allowed symbol a finite log-probability"):
        search(config, model, model.start([0]), request([3]), n_best=1)


def test_requests_that_make_no_sense():
    model = pencil()
    with pytest.raises(ConfigError, match="at least one answer; it was asked for 0"):
        search(Beam(), model, model.start([0]), request([3]), n_best=0)
    with pytest.raises(ConfigError, match="max_length is 0"):
        search(Beam(), model, model.start([0]), request([0]), n_best=1)


def test_order_of_rows_is_left_alone_when_it_does_not_change():
    seen = []

    class Watching(TableModel):
        def __call__(self, last, state):
            taken = super().__call__(last, state)
            seen.append((state.moving["of"], taken.state.moving["of"]))
            return taken

    model = Watching(lambda sentence, prefix: [NEVER, -9.0, -1.0, -8.0])
    search(Beam(width=1), model, model.start([0]), request([3]), n_best=1)
    assert all(given is seen[0][0] for given, _ in seen)


def test_ties_go_to_the_lower_symbol_wherever_topk_puts_them():
    values = torch.zeros(3, 50)
    values[1, 30] = 1.0
    best, symbols = propose(values, width=3, forbidden=(0, 2))
    assert symbols.tolist() == [[1, 3, 4], [30, 1, 3], [1, 3, 4]]
    assert best.tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_single_precision_is_kept_for_sums_of_half_precision():
    class Half(TableModel):
        def __call__(self, last, state):
            taken = super().__call__(last, state)
            return type(taken)(taken.log_probabilities.bfloat16(), taken.state)

    model = Half(lambda sentence, prefix: [NEVER, -9.0, -1 / 256, -8.0])
    [found] = search(Beam(width=1), model, model.start([0]), request([400]), n_best=1)
    assert found[0].total == -400 / 256


@pytest.mark.parametrize("waiting", [1, 3, 10**9])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_sentences_that_are_done_wait_without_changing_anything(monkeypatch, waiting, width, seed):
    """With one in one the batch stays whole to its end, with very many each leaves at once."""
    monkeypatch.setattr(loop, "WAITING", waiting)
    limits = [2 + sentence % 7 for sentence in range(12)]
    table, config = random_table(seed, 5), Beam(width=width)
    model = TableModel(table)
    found = search(config, model, model.start(list(range(12))), request(limits), n_best=width)
    for sentence, limit in enumerate(limits):
        assert same(found[sentence], readable_beam(table, sentence, limit, config, width))
    least = min(model.rows[1:])
    assert least == 12 * width if waiting == 1 else least < 12 * width
