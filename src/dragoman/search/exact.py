"""Exact search: the sequence that scores highest of all, found depth first, with a proof or the reason why not."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch
from jaxtyping import Float
from pydantic import PositiveInt
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.devices import in_double
from dragoman.errors import ConfigError
from dragoman.search.proposals import dead_end
from dragoman.search.scorers import DIVISORS, Normalisation, Scorer

TOGETHER = 32  # children of one node that the model is asked about at once
MOST = 1_000_000  # nodes of an exhaustive search


class Exact(Config):
    """The best of all sequences that end within the limit of length, depth first; a beginning is left out where it
    cannot beat the best ended one, since log-probabilities only fall: y* = argmax_y s(y) (Stahlberg and Byrne 2019)."""

    kind: Literal["exact"] = "exact"
    budget: PositiveInt = 20_000
    """beginnings that the model is asked about, a sentence; then the best so far is given with what is proved"""
    normalisation: Normalisation = "none"
    """as for a beam; the bound is sharp without any, and weak with any other"""
    alpha: float = 1.0
    """the α of power and gnmt"""


class Exhaustive(Config):
    """Every sequence within the limit of length is looked at, which only small cases allow: y* = argmax_y s(y) (what
    Stahlberg and Byrne 2019 make feasible)."""

    kind: Literal["exhaustive"] = "exhaustive"
    normalisation: Normalisation = "none"
    """as for a beam"""
    alpha: float = 1.0
    """the α of power and gnmt"""


@dataclass
class Frame:
    """A beginning whose continuations are tried, best first; most are never reached, so nothing is sorted before."""

    state: State  # of all beginnings that were asked about together
    row: int  # of this one
    tokens: tuple[int, ...]
    sums: Float[Tensor, " V"]  # log-probabilities of its continuations
    best: float  # of them
    totals: list[float] | None = None  # those that may still win, best first
    symbols: list[int] = field(default_factory=list)
    tried: int = 0

    @property
    def next(self) -> float:
        """The best continuation that was not tried yet."""
        if self.totals is None:
            return self.best
        return self.totals[self.tried] if self.tried < len(self.totals) else -math.inf


class Depth:
    """The search of one sentence."""

    def __init__(self, config: Exact | Exhaustive, step: StepFunction, request: Request, row: int, n_best: int) -> None:
        self.step, self.end, self.forbidden = step, request.end, list(request.forbidden)
        self.limit, self.n_best = int(request.max_length[row]), n_best
        self.least = 1 if request.min_length is None else int(request.min_length[row])
        self.scorer = Scorer(config.normalisation, config.alpha)
        self.budget = config.budget if isinstance(config, Exact) else math.inf
        self.prunes = isinstance(config, Exact)
        self.divisors: dict[int, float] = {}
        self.asked = 0
        self.found: list[Hypothesis] = []

    def run(self, state: State, tokens: tuple[int, ...], total: float) -> list[Hypothesis]:
        """From a beginning (START first) with its log-probability."""
        stack = list(self.ask(state, [tokens], [total]))
        while stack and self.asked < self.budget:
            frame = stack[-1]
            if not self.promises(frame.next):
                stack.pop()
                continue
            if frame.totals is None:
                frame.totals, frame.symbols = self.promising(frame.sums)
            chunk = slice(frame.tried, frame.tried + TOGETHER)
            totals = [value for value in frame.totals[chunk] if self.promises(value)]
            frame.tried += TOGETHER
            beginnings = [(*frame.tokens, symbol) for symbol in frame.symbols[chunk][: len(totals)]]
            rows = torch.full((len(totals),), frame.row, device=frame.sums.device)
            stack.extend(reversed(list(self.ask(frame.state.select(rows), beginnings, totals))))
        left = [frame.next for frame in stack]
        bound = max([self.bound(value) for value in left if self.promises(value)], default=-math.inf)
        return [
            Hypothesis(one.tokens, one.total, one.score, one.finished, bound=max(one.score, bound))
            for one in self.found
        ]

    def ask(self, state: State, beginnings: list[tuple[int, ...]], totals: list[float]) -> Iterator[Frame]:
        """Frames of beginnings of one length, and what ends right behind them."""
        device = next(iter(state.moving.values())).device
        taken = self.step(torch.tensor([tokens[-1] for tokens in beginnings], device=device), state)
        self.asked += len(beginnings)
        if not self.prunes and self.asked == len(beginnings):
            refuse_large(taken.log_probabilities.shape[1] - len(self.forbidden) - 1, self.limit - len(beginnings[0]))
        logs = in_double(taken.log_probabilities)
        logs[:, self.forbidden] = -torch.inf
        sums = logs + torch.tensor(totals, dtype=torch.float64, device=logs.device)[:, None]
        length = len(beginnings[0])  # of what ends here: START is not counted, END is
        if length >= self.least:
            for tokens, total in zip(beginnings, sums[:, self.end].tolist(), strict=True):
                self.note(tokens, total)
        if length >= self.limit:
            return
        sums[:, self.end] = -torch.inf
        for row, (tokens, best) in enumerate(zip(beginnings, sums.amax(1).tolist(), strict=True)):
            if self.promises(best):
                yield Frame(taken.state, row, tokens, sums[row], best)

    def promising(self, sums: Float[Tensor, " V"]) -> tuple[list[float], list[int]]:
        """Continuations that may still win, best first, the lower symbol first among equals."""
        values, symbols = sums.sort(descending=True, stable=True)
        kept = values > -torch.inf
        if self.prunes and len(self.found) == self.n_best:
            kept &= values / self.divisor(self.limit) > self.found[-1].score
        most = int(kept.sum())
        return values[:most].tolist(), symbols[:most].tolist()

    def note(self, tokens: tuple[int, ...], total: float) -> None:
        if total == -math.inf or any(one.tokens == tokens[1:] for one in self.found):
            return
        score = self.score(total, len(tokens))
        self.found.append(Hypothesis(tokens[1:], total, score, finished=True))
        self.found.sort(key=lambda one: (-one.score, one.tokens))
        del self.found[self.n_best :]

    def score(self, total: float, length: int) -> float:
        return total / self.divisor(length)

    def divisor(self, length: int) -> float:
        """Of all totals of one length; asked for at every beginning, so it is computed once."""
        if length not in self.divisors:
            divisor = DIVISORS[self.scorer.normalisation]
            self.divisors[length] = float(divisor(torch.tensor(float(length)), self.scorer.alpha))
        return self.divisors[length]

    def bound(self, total: float) -> float:
        """What no sequence that begins so can exceed."""
        return self.score(total, self.limit)

    def promises(self, total: float) -> bool:
        if not self.prunes or len(self.found) < self.n_best:
            return total > -math.inf
        return self.bound(total) > self.found[-1].score


def exact_search(
    config: Exact | Exhaustive,
    step: StepFunction,
    state: State,
    request: Request,
    n_best: int,
    begun: Sequence[Sequence[Hypothesis]],
) -> list[list[Hypothesis]]:
    """Sentence after sentence; the `bound` of an answer is what no sequence can exceed. `begun` is known already."""
    answers = []
    for row in range(len(request.start)):
        one = torch.tensor([row], device=request.start.device)
        prefix = () if request.prefix is None else tuple(request.prefix[row].tolist())
        total = 0.0 if request.prefix_total is None else float(request.prefix_total[row])
        depth = Depth(config, step, request, row, n_best)
        start = int(request.start[row])
        for known in begun[row]:
            if known.finished:
                depth.note((start, *known.tokens), known.total)
        found = depth.run(state.keep(one, one), (start, *prefix), total)
        if not found:
            raise dead_end()
        answers.append(found)
    return answers


def refuse_large(symbols: int, steps: int) -> None:
    """An exhaustive search that would not end."""
    nodes = sum(symbols**depth for depth in range(steps + 1))
    if nodes > MOST:
        raise ConfigError(
            f"An exhaustive search over {symbols:,} symbols and up to {steps} steps has about 10^{len(str(nodes)) - 1} "
            f"beginnings; at most {MOST:,} are looked at. Give a shorter limit (limits.answer), or search.kind=exact."
        )
