"""Greedy search: the most probable symbol at every step."""

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.search.proposals import dead_end, propose


class Greedy(Config):
    """Take the most probable symbol at every step; the same as a beam of one (Sutskever et al. 2014, §3.2)."""

    kind: Literal["greedy"] = "greedy"


def greedy_search(step: StepFunction, state: State, request: Request) -> list[list[Hypothesis]]:
    """y_t = argmax_v p(v | y_<t, source): one hypothesis a sentence, scored by its average log-probability."""
    answers: list[list[Hypothesis]] = [[] for _ in request.start]
    sentences = torch.arange(len(request.start), device=request.start.device)
    totals = torch.zeros_like(sentences, dtype=torch.float32)
    tokens = request.start[:, None]
    while len(sentences):
        taken = step(tokens[:, -1], state)
        values, symbols = propose(taken.log_probabilities, 1, request.forbidden)
        totals, tokens, state = totals + values[:, 0], torch.cat([tokens, symbols], 1), taken.state
        stopped = (symbols[:, 0] == request.end) | (request.max_length[sentences] < tokens.shape[1])
        if bool(stopped.any()):
            ended = read(tokens[stopped], totals[stopped], request.end)
            for sentence, hypothesis in zip(sentences[stopped].tolist(), ended, strict=True):
                answers[sentence] = [hypothesis]
            going = (~stopped).nonzero().flatten()
            sentences, totals, tokens = sentences[going], totals[going], tokens[going]
            state = state.keep(going, going)
    return answers


def read(tokens: Int[Tensor, "B length"], totals: Float[Tensor, " B"], end: int) -> list[Hypothesis]:
    """Hypotheses of one length, some of which end in END."""
    if not bool(totals.isfinite().all()):
        raise dead_end()
    scores = totals / (tokens.shape[1] - 1)
    return [
        Hypothesis(tuple(symbols[:-1] if symbols[-1] == end else symbols), total, score, symbols[-1] == end)
        for symbols, total, score in zip(tokens[:, 1:].tolist(), totals.tolist(), scores.tolist(), strict=True)
    ]
