"""Sampling, exact search, groups and rules, over tables that one can enumerate."""

import itertools
import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from dragoman.contracts import Hypothesis
from dragoman.errors import ConfigError
from dragoman.search import Beam, Exact, Exhaustive, Greedy, Parts, Required, Rules, Sampling, search
from dragoman.search.phrases import Phrase, Phrases
from dragoman.search.processors import BarredPhrases
from dragoman.search.sampling import Warped, uniform
from dragoman.search.tracing import Expanded, Recorder, Stopped, Told
from search.toy import END, START, TableModel, random_table, request

seeds = some.integers(0, 10**6)
normalisations = some.sampled_from(["none", "average", "power", "gnmt"])


def distribution(seed: int, vocabulary: int):
    """A table of logarithms of probabilities."""
    table = random_table(seed, vocabulary)

    def normalised(sentence: int, prefix: tuple[int, ...]) -> list[float]:
        values = table(sentence, prefix)
        values[START] = -math.inf
        return torch.tensor(values).log_softmax(0).tolist()

    return normalised


def every(table, vocabulary: int, limit: int) -> dict[tuple[int, ...], float]:
    """All sequences that end within the limit, with their log-probabilities."""
    symbols = [symbol for symbol in range(vocabulary) if symbol not in (START, END)]
    return {
        tokens: sum(table(0, tokens[:step])[(*tokens, END)[step]] for step in range(length + 1))
        for length in range(limit)
        for tokens in itertools.product(symbols, repeat=length)
    }


@settings(max_examples=30, deadline=None)
@given(some.integers(3, 5), some.integers(1, 4), seeds, normalisations, some.integers(1, 3))
def test_exact_is_exhaustive_is_the_list_of_all(vocabulary, limit, seed, normalisation, n_best):
    table = random_table(seed, vocabulary)
    model = TableModel(table)
    settled = {"normalisation": normalisation, "alpha": 0.7}
    [exact] = search(Exact(**settled), model, model.start([0]), request([limit]), n_best)
    [exhaustive] = search(Exhaustive(**settled), model, model.start([0]), request([limit]), n_best)
    assert [one.score for one in exact] == [one.score for one in exhaustive]
    divisor = {
        "none": lambda n: 1,
        "average": lambda n: n,
        "power": lambda n: n**0.7,
        "gnmt": lambda n: ((5 + n) / 6) ** 0.7,
    }[normalisation]
    scores = sorted((total / divisor(len(tokens) + 1) for tokens, total in every(table, vocabulary, limit).items()))
    assert [one.score for one in exact] == pytest.approx(scores[::-1][:n_best], rel=1e-6)
    assert all(one.bound == one.score for one in exact[:1])


def test_a_budget_ends_an_exact_search_and_says_what_is_proved():
    table = random_table(5, 7)
    model = TableModel(table)
    [[best]] = search(Exact(), model, model.start([0]), request([8]), 1)
    [[early]] = search(Exact(budget=1), model, model.start([0]), request([8]), 1)
    assert best.bound == best.score
    assert early.score <= best.score <= early.bound
    assert early.bound > early.score


def test_exact_search_finds_what_a_beam_loses():
    never = -math.inf
    certain = {(): [never, -9.0, -0.5, -1.0], (2,): [never, -4.0, -4.0, -4.0], (3,): [never, 0.0, -9.0, -9.0]}
    model = TableModel(lambda sentence, prefix: certain.get(prefix, [never, -4.0, -9.0, -9.0]))
    [[greedy]] = search(Greedy(), model, model.start([0]), request([4]), 1)
    [[exact]] = search(Exact(), model, model.start([0]), request([4]), 1)
    assert exact == Hypothesis((3,), -1.0, -1.0, True, bound=-1.0)
    assert greedy.total < exact.total


def test_an_exhaustive_search_that_would_not_end_is_refused():
    model = TableModel(random_table(1, 7))
    with pytest.raises(ConfigError, match="beginnings"):
        search(Exhaustive(), model, model.start([0]), request([40]), 1)


def test_samples_have_the_frequencies_of_the_model():
    table = distribution(3, 5)
    model = TableModel(table)
    [found] = search(Sampling(), model, model.start([0]), request([3]), 4000)
    counts = Counter(one.tokens for one in found if one.finished)
    for tokens, log in every(table, 5, 3).items():
        expected = math.exp(log) * 4000
        assert abs(counts[tokens] - expected) < 5 * math.sqrt(expected) + 1
    for one in found[:20]:
        steps = (*one.tokens, END) if one.finished else one.tokens
        assert one.total == pytest.approx(sum(table(0, steps[:n])[symbol] for n, symbol in enumerate(steps)), abs=1e-5)


def test_a_line_is_drawn_alike_in_any_company():
    table = distribution(4, 6)
    model = TableModel(table)
    wanted = request([6] * 5)
    together = search(Sampling(seed=7), model, model.start(list(range(5))), wanted, 3)
    for line in (0, 3):
        alone = request([6])
        alone = type(alone)(alone.start, alone.end, alone.max_length, alone.forbidden, lines=torch.tensor([line]))
        assert search(Sampling(seed=7), model, model.start([line]), alone, 3) == [together[line]]
    assert search(Sampling(seed=8), model, model.start(list(range(5))), wanted, 3) != together


def test_uniform_numbers_are_uniform_and_unlike():
    numbers = uniform(1, torch.arange(20_000) // 4, torch.arange(20_000) % 4, 3)
    counts = torch.histc(numbers.float(), 20, 0, 1)
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert float(((counts - 1000) ** 2 / 1000).sum()) < 45  # chi squared, 19 degrees of freedom
    assert len(numbers.unique()) == 20_000


def test_what_is_left_to_draw_from():
    logs = torch.tensor([[0.5, 0.2, 0.2, 0.1]]).log()
    probabilities = lambda **how: Warped(Sampling(**how))(logs).exp()[0].tolist()  # noqa: E731
    assert probabilities() == pytest.approx([0.5, 0.2, 0.2, 0.1])
    assert probabilities(top_k=1) == pytest.approx([1, 0, 0, 0])
    assert probabilities(top_p=0.6) == pytest.approx([5 / 7, 2 / 7, 0, 0])
    assert probabilities(top_p=0.5) == pytest.approx([1, 0, 0, 0])
    assert probabilities(min_p=0.3) == pytest.approx([5 / 9, 2 / 9, 2 / 9, 0])
    assert probabilities(temperature=0.5) == pytest.approx([25 / 34, 4 / 34, 4 / 34, 1 / 34])


@settings(max_examples=30, deadline=None)
@given(seeds, some.integers(4, 7), some.sampled_from([(2, 2), (4, 2), (6, 3), (3, 3)]), some.integers(1, 6))
def test_groups_are_those_of_the_paper(seed, vocabulary, shape, n_best):
    width, groups = shape
    table = random_table(seed, vocabulary)
    model = TableModel(table)
    [found] = search(Beam(width=width, groups=groups), model, model.start([0]), request([5]), n_best)
    assert len({(one.tokens, one.finished) for one in found}) == len(found)
    expected = readable_groups(table, 5, width // groups, groups, 0.5)
    for one in found:
        assert (one.tokens, one.finished) in expected


def readable_groups(table, limit: int, size: int, groups: int, penalty: float) -> set[tuple[tuple[int, ...], bool]]:
    """All that any group ever ended or held last, without early exit."""
    live = [[((), 0.0)] for _ in range(groups)]
    seen: set[tuple[tuple[int, ...], bool]] = set()
    for _ in range(limit):
        taken: Counter[int] = Counter()
        for group in range(groups):
            going = []
            for prefix, total in live[group]:
                scores = [value - penalty * taken[symbol] for symbol, value in enumerate(table(0, prefix))]
                order = sorted((s for s in range(len(scores)) if s != START), key=lambda s: (-scores[s], s))
                least = scores[order[:size][-1]]
                values = table(0, prefix)
                for symbol in sorted((s for s in order if scores[s] >= least), key=lambda s: (-values[s], s)):
                    value = values[symbol]
                    if symbol == END:
                        seen.add((prefix, True))
                    else:
                        going.append(((*prefix, symbol), total + value, total + scores[symbol]))
            going.sort(key=lambda one: -one[2])
            live[group] = [(prefix, total) for prefix, total, _ in going[:size]]
            taken.update(prefix[-1] for prefix, _ in live[group])
    return seen | {(prefix, False) for group in live for prefix, _ in group}


def test_no_ngram_twice_and_repetition_costs():
    always = [-math.inf, -5.0, -0.1, -1.0]
    model = TableModel(lambda sentence, prefix: always)
    [[free]] = search(Greedy(), model, model.start([0]), request([6]), 1)
    assert free.tokens == (2,) * 6
    [[barred]] = search(Greedy(), model, model.start([0]), request([7]), 1, Parts(Rules(no_repeat_ngram=2)))
    pairs = list(itertools.pairwise(barred.tokens))
    assert len(set(pairs)) == len(pairs)
    [[dear]] = search(Greedy(), model, model.start([0]), request([2]), 1, Parts(Rules(repetition_penalty=11.0)))
    assert dear.tokens == (2, 3)
    assert dear.total == pytest.approx(-1.1)


def test_an_answer_has_a_least_length():
    model = TableModel(lambda sentence, prefix: [-math.inf, -0.1, -1.0, -2.0])
    base = request([6, 6])
    wanted = type(base)(base.start, base.end, base.max_length, base.forbidden, min_length=torch.tensor([1, 4]))
    [[short], [long]] = search(Beam(width=2), model, model.start([0, 1]), wanted, 1)
    assert len(short.tokens) == 0
    assert len(long.tokens) == 3
    impossible = type(base)(base.start, base.end, base.max_length, base.forbidden, min_length=torch.tensor([1, 9]))
    with pytest.raises(ConfigError, match="at least 9 and at most 6"):
        search(Beam(width=2), model, model.start([0, 1]), impossible, 1)


@pytest.mark.parametrize("config", [Greedy(), Beam(width=3), Sampling(), Exact()], ids=lambda config: config.kind)
def test_a_prefix_is_counted(config):
    table = distribution(6, 5)
    model = TableModel(table)
    base = request([5, 5])
    state = model.start([0, 1])
    begun = model(torch.full((2,), START), state).state  # START has been read
    total = torch.tensor([table(0, ())[2], table(1, ())[2]])
    wanted = type(base)(
        base.start, base.end, base.max_length, base.forbidden, prefix=torch.tensor([[2], [2]]), prefix_total=total
    )
    for sentence, [found] in enumerate(search(config, model, begun, wanted, 1)):
        assert found.tokens[0] == 2
        steps = (*found.tokens, END) if found.finished else found.tokens
        expected = sum(table(sentence, steps[:n])[symbol] for n, symbol in enumerate(steps))
        assert found.total == pytest.approx(expected, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(seeds, some.integers(3, 6), some.integers(1, 4), some.integers(1, 5))
def test_a_trace_tells_the_whole_search(seed, vocabulary, width, limit):
    """Walked from the answers back to the root, it gives their symbols, totals and scores."""
    told: list[Told] = []
    model = TableModel(random_table(seed, vocabulary))
    sentences = [0, 1, 2]
    config = Beam(width=width)
    plain = search(config, model, model.start(sentences), request([limit] * 3), width)
    found = search(
        config, model, model.start(sentences), request([limit] * 3), width, Parts(tracer=Recorder(told.append))
    )
    assert found == plain
    for sentence in sentences:
        steps = [event for event in told if isinstance(event, Expanded) and event.sentence == sentence]
        [stopped] = [event for event in told if isinstance(event, Stopped) and event.sentence == sentence]
        assert [event.step for event in steps] == list(range(1, len(steps) + 1))
        nodes = {one.node: one for event in steps for one in event.expansions}
        assert list(nodes) == list(range(1, len(nodes) + 1))
        assert list(stopped.answers) == found[sentence]
        leaves = {node for node, one in nodes.items() if one.fate == "ended"} | set(stopped.live)
        written = {}
        for leaf in leaves:
            symbols, node = [], leaf
            while node:
                symbols.append(nodes[node].symbol)
                node = nodes[node].parent
            written[tuple(reversed(symbols))] = nodes[leaf]
        for answer in found[sentence]:
            node = written[(*answer.tokens, END) if answer.finished else answer.tokens]
            assert node.total == answer.total
            assert node.score == pytest.approx(answer.score, rel=1e-6)
        for event in steps:
            assert sum(one.fate == "kept" for one in event.expansions) <= width


@settings(max_examples=40, deadline=None)
@given(seeds, some.integers(5, 7), some.integers(2, 5), some.data())
def test_phrases_always_occur_where_there_is_room(seed, vocabulary, width, data):
    """Symbol 4 continues the word before it: a phrase behind which it stands does not count."""
    symbol = some.integers(2, vocabulary - 1)
    first = some.integers(2, 3)  # a phrase begins with a word
    phrase = some.tuples(first, some.lists(symbol, max_size=2)).map(lambda pair: (pair[0], *pair[1]))
    phrases = data.draw(some.lists(phrase, min_size=1, max_size=3))
    room = sum(map(len, set(phrases)))
    limits = [room + 1 + data.draw(some.integers(0, 4)) for _ in range(2)]
    wanted = Phrases([[Phrase(one, one) for one in phrases]] * 2, lambda one: one == 4)

    def met(sentence, tokens):
        return not wanted.missing(sentence, tokens)

    model = TableModel(random_table(seed, vocabulary))
    parts = Parts(required=Required(wanted, met))
    for limit, found in zip(
        limits, search(Beam(width=width), model, model.start([0, 1]), request(limits), width, parts), strict=True
    ):
        assert found[0].finished
        for one in found:
            assert len(one.tokens) < limit or not one.finished
            for phrase in phrases if one.finished else ():
                at = [n for n in range(len(one.tokens)) if one.tokens[n : n + len(phrase)] == phrase]
                assert any(one.tokens[n + len(phrase) : n + len(phrase) + 1] != (4,) for n in at)


def test_barred_phrases():
    always = [-math.inf, -5.0, -0.1, -1.0]
    model = TableModel(lambda sentence, prefix: always)
    barred = BarredPhrases([[(2, 2), (3, 2, 3)]])
    [[found]] = search(Greedy(), model, model.start([0]), request([9]), 1, Parts(processors=(barred,)))
    text = "".join(map(str, found.tokens))
    assert text.startswith("23323"[:2])
    assert "22" not in text
    assert "323" not in text
