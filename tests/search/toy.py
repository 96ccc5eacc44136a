"""A model that looks log-probabilities up by sentence and prefix, and a beam search that one can read."""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dragoman.contracts import Hypothesis, Request, State, Step
from dragoman.search import Beam

START, END = 0, 1
Prefix = tuple[int, ...]
Table = Callable[[int, Prefix], list[float]]


@dataclass
class TableModel:
    """The prefix is kept in the state alone, so an answer is right only if rows and sentences are moved rightly."""

    table: Table
    rows: list[int] = field(default_factory=list)  # of each call

    def start(self, sentences: list[int]) -> State:
        numbers = torch.tensor(sentences, dtype=torch.long)
        return State({"prefix": numbers.new_zeros(len(numbers), 0), "of": numbers}, {"sentence": numbers})

    def __call__(self, last: Tensor, state: State) -> Step:
        prefix = torch.cat([state.moving["prefix"], last[:, None]], 1)
        sentences = state.fixed["sentence"].repeat_interleave(len(last) // len(state.fixed["sentence"]))
        assert torch.equal(sentences, state.moving["of"])
        self.rows.append(len(last))
        looked_up = [
            self.table(sentence, tuple(symbols[1:]))
            for sentence, symbols in zip(sentences.tolist(), prefix.tolist(), strict=True)
        ]
        return Step(torch.tensor(looked_up), State({**state.moving, "prefix": prefix}, state.fixed))


def random_table(seed: int, vocabulary: int, impossible: float = 0.0) -> Table:
    """Eighths, so that sums are exact and ties frequent; some symbols may be impossible.

    Later symbols are cheap, so that a long answer often overtakes a short one that ended before it.
    """

    def table(sentence: int, prefix: Prefix) -> list[float]:
        generator = random.Random(f"{seed} {sentence} {prefix}")
        most = 24 if len(prefix) < 2 else 4
        values = [-generator.randint(0, most) / 8 for _ in range(vocabulary)]
        barred = [generator.random() < impossible for _ in values]
        # one symbol besides START and END stays possible: a search may not run into a dead end here
        return [
            -math.inf if no and symbol != 2 else value
            for symbol, (value, no) in enumerate(zip(values, barred, strict=True))
        ]

    return table


def request(limits: list[int], forbidden: tuple[int, ...] = (START,)) -> Request:
    return Request(torch.full((len(limits),), START), END, torch.tensor(limits, dtype=torch.long), forbidden)


def readable_beam(table: Table, sentence: int, limit: int, config: Beam, n_best: int) -> list[Hypothesis]:
    """Beam search word for word, without any early exit but the one that is asked for."""
    live: list[tuple[Prefix, float]] = [((), 0.0)]
    ended: list[Hypothesis] = []
    for length in range(1, limit + 1):
        going = []
        for prefix, total in live:
            for value, symbol in most_probable(table(sentence, prefix), config.width):
                if symbol == END:
                    ended.append(hypothesis(config, prefix, total + value, length, True))
                else:
                    going.append(((*prefix, symbol), total + value))
        live = sorted(going, key=lambda pair: -pair[1])[: config.width]
        if not live or (config.finished is not None and len(ended) >= config.finished):
            break
        if config.stop == "likely" and len(ended) >= n_best:
            scores = sorted((one.score for one in ended), reverse=True)
            if hypothesis(config, (), live[0][1], length + 1, True).score <= scores[n_best - 1]:
                break
    unfinished = [hypothesis(config, prefix, total, len(prefix), False) for prefix, total in live]
    return (sorted(ended, key=lambda one: -one.score) + unfinished)[:n_best]


def most_probable(values: list[float], width: int) -> list[tuple[float, int]]:
    allowed = [(value, symbol) for symbol, value in enumerate(values) if symbol != START and value > -math.inf]
    return sorted(allowed, key=lambda pair: (-pair[0], pair[1]))[:width]


def hypothesis(config: Beam, tokens: Prefix, total: float, length: int, finished: bool) -> Hypothesis:
    divisor = {"none": 1, "average": length, "power": length**config.alpha, "gnmt": ((5 + length) / 6) ** config.alpha}
    return Hypothesis(tokens, total, total / divisor[config.normalisation], finished)


def same(found: list[Hypothesis], expected: list[Hypothesis], total: float = 0.0) -> bool:
    """Scores are averages in single precision; so are totals, where a tolerance is given."""
    return len(found) == len(expected) and all(
        (one.tokens, one.finished) == (other.tokens, other.finished)
        and math.isclose(one.total, other.total, rel_tol=total, abs_tol=0.0)
        and math.isclose(one.score, other.score, rel_tol=max(total, 1e-6), abs_tol=1e-12)
        for one, other in zip(found, expected, strict=True)
    )
