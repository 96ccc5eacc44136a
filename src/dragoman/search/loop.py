"""The one loop of every search that goes forward: greedy, sampling, beams, groups, constraints.

The loop asks the model, and parts decide: processors change or bar symbols, a proposer names continuations of each row,
a selection says which of them live, a scorer ranks what ended, stops say when a sentence is done, a tracer watches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.search.beams import Beams, Ended, first
from dragoman.search.proposals import dead_end
from dragoman.search.scorers import Scorer

Placed = tuple[int, Hypothesis]  # a hypothesis and the place among the K that it stood in

# Sentences that are done leave the batch when they are one in so many of it, since all that the others have is copied
# then. A Transformer's greedy batches of 64 take 0.92 of the time that they take when each leaves at once.
WAITING = 8


class Candidates(NamedTuple):
    """Continuations of every live hypothesis, best first in each row; a rank of -inf is none."""

    totals: Float[Tensor, "B K P"]  # log-probability of the hypothesis with this symbol
    ranks: Float[Tensor, "B K P"]  # the same after all processors
    symbols: Int[Tensor, "B K P"]


@runtime_checkable
class Processor(Protocol):
    """Changes the log-probabilities of the next symbols; -inf bars one. Never above 0, or early exit is wrong."""

    bars: bool  # whether it does nothing but that, so that ranks and log-probabilities stay one

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> Float[Tensor, "N V"]: ...


@runtime_checkable
class Proposer(Protocol):
    """Some symbols of each row with their values, best first."""

    def __call__(
        self, scores: Float[Tensor, "N V"], beams: Beams
    ) -> tuple[Float[Tensor, "N P"], Int[Tensor, "N P"]]: ...


@runtime_checkable
class Selection(Protocol):
    """Which continuations go on, which are set aside, and what is answered in the end. `ends` is None where none ends,
    as at most steps."""

    def __call__(self, beams: Beams, candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> "Selected": ...

    def kept(self, n_best: int) -> int | None:
        """How many ended hypotheses of a sentence are worth keeping; None: all."""

    def answers(self, ended: Sequence[Placed], live: Sequence[Placed], n_best: int) -> list[Hypothesis]:
        """Of hypotheses, best first, those that are answered."""


class Selected(NamedTuple):
    """What a selection decides."""

    places: Int[Tensor, "B width"]  # in K·P, best first
    ranks: Float[Tensor, "B width"]
    ending: Float[Tensor, "B K P"] | None  # ranks of what is set aside; -inf is not


@runtime_checkable
class Stop(Protocol):
    """Which sentences need no further step."""

    def __call__(self, beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]: ...


@runtime_checkable
class Tracer(Protocol):
    """Watches every expansion."""

    def expanded(
        self, before: Beams, candidates: Candidates, selected: Selected, after: Beams, scorer: Scorer
    ) -> None: ...

    def stopped(self, beams: Beams, position: int, answers: Sequence[Hypothesis]) -> None: ...


@dataclass(frozen=True)
class Plan:
    """The parts of one search."""

    propose: Proposer
    select: Selection
    scorer: Scorer
    stops: tuple[Stop, ...]
    processors: tuple[Processor, ...] = ()
    copies: int = 1  # rows of each sentence from the first step on
    tracer: Tracer | None = None

    @property
    def one_number(self) -> bool:
        """Whether what the model gave is also what hypotheses are ranked by."""
        return all(processor.bars for processor in self.processors)


def run(plan: Plan, step: StepFunction, state: State, request: Request, n_best: int) -> list[list[Hypothesis]]:
    """At most `n_best` hypotheses of each sentence, ended ones first."""
    answers: list[list[Hypothesis]] = [[] for _ in request.start]
    beams, shortest = first(request, plan.copies), min(request.max_length.tolist(), default=0)
    if plan.copies > 1:
        state = state.select(torch.arange(len(answers), device=request.start.device).repeat_interleave(plan.copies))
    waiting: Tensor | None = None  # sentences that are done and still in the batch
    while len(beams.sentences):
        taken = step(beams.last, state)
        beams = plan.scorer.follow(beams, taken)
        candidates = continuations(plan, taken.log_probabilities, beams)
        ends = candidates.symbols == request.end
        selected = plan.select(beams, candidates, ends if bool(ends.any()) else None)
        after, rows = advance(beams, candidates, selected, set_aside(plan, beams, candidates, selected, n_best))
        if plan.tracer is not None:
            plan.tracer.expanded(beams, candidates, selected, after, plan.scorer)
        beams = after
        stopped = beams.limits < beams.length if shortest < beams.length else None
        for stop in plan.stops:
            also = stop(beams, plan.scorer, n_best)
            stopped = also if stopped is None else stopped | also
        new = stopped if stopped is None or waiting is None else stopped & ~waiting
        if new is None or not bool(new.any()):
            state = follow(taken.state, rows)
            continue
        for position in new.nonzero().flatten().tolist():
            found = best_of(plan, beams, position, n_best)
            answers[int(beams.sentences[position])] = found
            if plan.tracer is not None:
                plan.tracer.stopped(beams, position, found)
        done = new if waiting is None else new | waiting
        going = (~done).nonzero().flatten()
        left = len(done) - len(going)
        if len(going) and plan.tracer is None and left * WAITING < len(done):
            state, waiting = follow(taken.state, rows), done
        else:
            state, beams, waiting = taken.state.keep(going, rows[going].flatten()), beams.keep(going), None
    return answers


def continuations(plan: Plan, logs: Float[Tensor, "N V"], beams: Beams) -> Candidates:
    """What every row proposes, added to what it has."""
    batch, places = beams.totals.shape
    scores = logs
    for processor in plan.processors:
        scores = processor(scores, beams)
    values, symbols = plan.propose(scores, beams)
    symbols = symbols.view(batch, places, -1)
    ranks = beams.ranks[:, :, None] + values.view(batch, places, -1)
    if plan.one_number:
        return Candidates(ranks, ranks, symbols)
    own = logs.view(batch, places, -1).gather(2, symbols)
    return Candidates(beams.totals[:, :, None] + own, ranks, symbols)


def set_aside(plan: Plan, beams: Beams, candidates: Candidates, selected: Selected, n_best: int) -> Ended:
    """What ended before, and what ends at this step."""
    if selected.ending is None:
        return beams.ended
    ending, which = selected.ending.max(2)
    alone = candidates.totals is candidates.ranks
    totals = ending if alone else candidates.totals.gather(2, which[:, :, None])[:, :, 0]
    scores = plan.scorer.score(beams, ending, beams.length)
    return beams.ended.add(totals, scores, beams.tokens, plan.select.kept(n_best))


def advance(
    beams: Beams, candidates: Candidates, selected: Selected, ended: Ended
) -> tuple[Beams, Int[Tensor, "B width"]]:
    """What was selected goes on, and knows which row it continues."""
    batch, places, proposed = candidates.symbols.shape
    alone = candidates.totals is candidates.ranks
    order = selected.places
    if places == order.shape[1] == proposed == 1:  # nothing to choose from
        parents, before, symbols = order, beams.tokens, candidates.symbols
    else:
        parents = order // proposed
        before = beams.tokens.gather(1, parents[:, :, None].expand(-1, -1, beams.tokens.shape[2]))
        symbols = candidates.symbols.flatten(1).gather(1, order)[:, :, None]
    tokens = torch.cat([before, symbols], 2)
    after = Beams(
        sentences=beams.sentences,
        limits=beams.limits,
        totals=selected.ranks if alone else candidates.totals.flatten(1).gather(1, order),
        ranks=selected.ranks,
        tokens=tokens,
        ended=ended,
        carried={name: reordered(value, parents) for name, value in beams.carried.items()},
    )
    if batch == 1:
        return after, parents
    return after, parents + torch.arange(0, batch * places, places, device=order.device)[:, None]


def reordered(value: Tensor, parents: Int[Tensor, "B width"]) -> Tensor:
    index = parents.view(*parents.shape, *[1] * (value.dim() - 2)).expand(*parents.shape, *value.shape[2:])
    return value.gather(1, index)


def best_of(plan: Plan, beams: Beams, position: int, n_best: int) -> list[Hypothesis]:
    """Ended hypotheses, and unfinished ones where too few ended."""
    ended, live = beams.ended.of(position), []
    if len(ended) < n_best:
        scores = plan.scorer.score(beams, beams.ranks, beams.length - 1)
        parts = (beams.totals, beams.ranks, scores, beams.tokens)
        totals, ranks, values, tokens = (part[position].tolist() for part in parts)
        live = [
            (place, Hypothesis(tuple(symbols[1:]), total, score, finished=False))
            for place, (symbols, total, rank, score) in enumerate(zip(tokens, totals, ranks, values, strict=True))
            if rank > -torch.inf
        ]
    answers = plan.select.answers(ended, live, n_best)
    if not answers:
        raise dead_end()
    return answers


def follow(state: State, rows: Int[Tensor, "B K"]) -> State:
    """The decoder's rows in the order of the live hypotheses."""
    if rows.shape[1] == 1:  # each sentence has one, before and after
        return state
    flat = rows.flatten()
    return state if torch.equal(flat, torch.arange(len(flat), device=flat.device)) else state.select(flat)
