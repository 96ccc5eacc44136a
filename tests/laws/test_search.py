"""What holds for a search whatever the model."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as some

from dragoman.search import Beam, Greedy, search
from search.toy import END, START, TableModel, random_table, readable_beam, request, same

beams = some.builds(
    Beam,
    width=some.integers(1, 6),
    stop=some.sampled_from(["proved", "likely"]),
    finished=some.none() | some.integers(1, 7),
    normalisation=some.sampled_from(["none", "average", "power", "gnmt"]),
    alpha=some.sampled_from([0.0, 0.6, 1.0]),
)
limits = some.lists(some.integers(1, 6), min_size=1, max_size=5)
vocabularies = some.integers(3, 7)
seeds = some.integers(0, 10**6)


@settings(max_examples=200, deadline=None)
@given(beams, limits, vocabularies, seeds, some.integers(1, 6), some.sampled_from([0.0, 0.4]))
def test_search_is_the_readable_one_that_never_exits_early(config, limits, vocabulary, seed, n_best, impossible):
    table = random_table(seed, vocabulary, impossible)
    model = TableModel(table)
    found = search(config, model, model.start(list(range(len(limits)))), request(limits), n_best)
    for sentence, limit in enumerate(limits):
        assert same(found[sentence], readable_beam(table, sentence, limit, config, n_best))


@settings(max_examples=80, deadline=None)
@given(some.integers(1, 6), limits, vocabularies, seeds, some.integers(1, 3))
def test_the_two_rules_are_one_where_no_length_is_divided_by(width, limits, vocabulary, seed, n_best):
    model = TableModel(random_table(seed, vocabulary))
    start = model.start(list(range(len(limits))))
    proved, likely = (Beam(width=width, normalisation="none", stop=rule) for rule in ("proved", "likely"))
    assert search(likely, model, start, request(limits), n_best) == search(
        proved, model, start, request(limits), n_best
    )


@settings(max_examples=80, deadline=None)
@given(limits, vocabularies, seeds)
def test_beam_of_one_is_greedy(limits, vocabulary, seed):
    model = TableModel(random_table(seed, vocabulary))
    start = model.start(list(range(len(limits))))
    found = search(Beam(width=1), model, start, request(limits), n_best=3)
    assert found == search(Greedy(), model, start, request(limits), n_best=3)


@settings(max_examples=40, deadline=None)
@given(some.integers(3, 4), some.integers(1, 4), seeds, some.sampled_from(["none", "average"]))
def test_full_beam_is_exhaustive_search(vocabulary, limit, seed, normalisation):
    table = random_table(seed, vocabulary)
    model = TableModel(table)
    config = Beam(width=vocabulary**limit, normalisation=normalisation)
    [found] = search(config, model, model.start([0]), request([limit]), n_best=10**4)
    symbols = [symbol for symbol in range(vocabulary) if symbol not in (START, END)]
    ended = {}
    for length in range(limit):
        for tokens in itertools.product(symbols, repeat=length):
            ended[tokens] = sum(table(0, tokens[:step])[(*tokens, END)[step]] for step in range(length + 1))
    finished = [one for one in found if one.finished]
    assert {one.tokens: one.total for one in finished} == ended
    lengths = {tokens: len(tokens) + 1 if normalisation == "average" else 1 for tokens in ended}
    best = max(total / lengths[tokens] for tokens, total in ended.items())
    assert abs(found[0].score - best) < 1e-6
    assert [one.score for one in finished] == sorted((one.score for one in finished), reverse=True)
    assert len({(one.tokens, one.finished) for one in found}) == len(found)


@settings(max_examples=80, deadline=None)
@given(beams | some.just(Greedy()), limits, vocabularies, seeds, some.integers(1, 4), some.randoms())
def test_neighbours_and_order_do_not_matter(config, limits, vocabulary, seed, n_best, shuffler):
    model = TableModel(random_table(seed, vocabulary))
    order = list(range(len(limits)))
    shuffler.shuffle(order)
    together = search(config, model, model.start(order), request([limits[one] for one in order]), n_best)
    for place, sentence in enumerate(order):
        [alone] = search(config, model, model.start([sentence]), request([limits[sentence]]), n_best)
        assert together[place] == alone
