"""Beam search: the k best beginnings go on together."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import PositiveInt
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.search.ended import Ended, none_ended
from dragoman.search.proposals import Proposals, dead_end, propose


class Beam(Config):
    """The k most probable beginnings go on together (Graves 2012; Sutskever et al. 2014, §3.2)."""

    kind: Literal["beam"] = "beam"
    width: PositiveInt = 5
    """hypotheses that go on at each step, and symbols that each of them proposes"""
    finished: PositiveInt | None = None
    """stop a sentence when so many hypotheses have ended; without it, when no live one can still win"""
    normalisation: Literal["none", "average"] = "average"
    """rank by the total log-probability, or by its average over the symbols, END counted"""


@dataclass(frozen=True)
class Beams:
    """The search between two steps: K live hypotheses a sentence, best first; -inf is an empty place."""

    sentences: Int[Tensor, " B"]  # their numbers in the request
    limits: Int[Tensor, " B"]
    totals: Float[Tensor, "B K"]
    tokens: Int[Tensor, "B K length"]  # START first
    ended: Ended

    def keep(self, sentences: Int[Tensor, " kept"]) -> "Beams":
        return Beams(
            sentences=self.sentences[sentences],
            limits=self.limits[sentences],
            totals=self.totals[sentences],
            tokens=self.tokens[sentences],
            ended=self.ended.keep(sentences),
        )


def scored(config: Beam, totals: Float[Tensor, "B *K"], lengths: Int[Tensor, " B"] | int) -> Float[Tensor, "B *K"]:
    """What hypotheses are ranked by."""
    return totals / lengths if config.normalisation == "average" else totals


def beam_search(
    config: Beam, step: StepFunction, state: State, request: Request, n_best: int
) -> list[list[Hypothesis]]:
    """Y_t = the k best of {y v : y ∈ Y_{t−1}, v a symbol} by Σ log p; those that end are set aside.

    Gives the best `n_best` hypotheses of each sentence, ended ones first.
    """
    answers: list[list[Hypothesis]] = [[] for _ in request.start]
    beams = first(request)
    while len(beams.sentences):
        taken = step(beams.tokens[:, :, -1].flatten(), state)
        proposals = propose(taken.log_probabilities, config.width, request.forbidden)
        beams, rows = advance(config, beams, proposals, request.end, n_best)
        stopped = finished(config, beams, n_best)
        for position in stopped.nonzero().flatten().tolist():
            answers[int(beams.sentences[position])] = best_of(config, beams, position, n_best)
        state = follow(taken.state, rows, ~stopped)
        if bool(stopped.any()):
            beams = beams.keep((~stopped).nonzero().flatten())
    return answers


def first(request: Request) -> Beams:
    """One live hypothesis a sentence: START alone."""
    return Beams(
        sentences=torch.arange(len(request.start), device=request.start.device),
        limits=request.max_length,
        totals=torch.zeros_like(request.start, dtype=torch.float32)[:, None],
        tokens=request.start[:, None, None],
        ended=none_ended(request.start),
    )


def advance(
    config: Beam, beams: Beams, proposals: Proposals, end: int, n_best: int
) -> tuple[Beams, Int[Tensor, "B width"]]:
    """Set the continuations that end aside; the best others go on, and know which row they continue."""
    batch, places = beams.totals.shape
    values, symbols = (part.reshape(batch, places, -1) for part in proposals)
    totals = beams.totals[:, :, None] + values
    ends = symbols == end
    ending = totals.masked_fill(~ends, -torch.inf).amax(2)
    scores = scored(config, ending, beams.tokens.shape[2])
    ended = beams.ended.add(ending, scores, beams.tokens, n_best)
    others, order = totals.masked_fill(ends, -torch.inf).flatten(1).sort(dim=1, descending=True, stable=True)
    order = order[:, : config.width]
    parents = order // symbols.shape[2]
    offsets = places * torch.arange(batch, device=order.device)[:, None]
    before = beams.tokens.gather(1, parents[:, :, None].expand(-1, -1, beams.tokens.shape[2]))
    tokens = torch.cat([before, symbols.flatten(1).gather(1, order)[:, :, None]], 2)
    return Beams(beams.sentences, beams.limits, others[:, : config.width], tokens, ended), parents + offsets


def finished(config: Beam, beams: Beams, n_best: int) -> Bool[Tensor, " B"]:
    """At the length limit, or enough have ended, or no live hypothesis can still be among the best.

    Totals only fall, and an average is highest over the longest length, so no live hypothesis can score more than its
    bound. A later hypothesis that only equals an ended one is ranked behind it: stopping there is exact.
    """
    bounds = scored(config, beams.totals.amax(1), beams.limits)
    stopped = beams.limits < beams.tokens.shape[2]
    stopped |= bounds <= beams.ended.worst_of(n_best)
    if config.finished is not None:
        stopped |= beams.ended.count >= config.finished
    return stopped


def best_of(config: Beam, beams: Beams, position: int, n_best: int) -> list[Hypothesis]:
    """Ended hypotheses, and unfinished ones where too few ended."""
    parts = (beams.totals, scored(config, beams.totals, beams.tokens.shape[2] - 1), beams.tokens)
    totals, scores, tokens = (part[position].tolist() for part in parts)
    live = [
        Hypothesis(tuple(symbols[1:]), total, score, finished=False)
        for symbols, total, score in zip(tokens, totals, scores, strict=True)
        if score > -torch.inf
    ]
    answers = (beams.ended.of(position) + live)[:n_best]
    if not answers:
        raise dead_end()
    return answers


def follow(state: State, rows: Int[Tensor, "B K"], going: Bool[Tensor, " B"]) -> State:
    """The decoder's rows in the order of the live hypotheses, without the sentences that stopped."""
    if not bool(going.all()):
        return state.keep(going.nonzero().flatten(), rows[going].flatten())
    unchanged = torch.arange(rows.numel(), device=rows.device)
    return state if torch.equal(rows.flatten(), unchanged) else state.select(rows.flatten())
