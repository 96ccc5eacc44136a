"""From a step function to answers: one loop that cannot know what model it drives."""

from typing import Annotated

import torch
from pydantic import Field

from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.errors import ConfigError
from dragoman.search.beam import Beam, beam_search
from dragoman.search.greedy import Greedy, greedy_search

__all__ = ["Beam", "Greedy", "SearchConfig", "search"]

SearchConfig = Annotated[Greedy | Beam, Field(discriminator="kind")]


def search(
    config: Greedy | Beam, step: StepFunction, state: State, request: Request, n_best: int
) -> list[list[Hypothesis]]:
    """At most `n_best` hypotheses a sentence, best first; the state has one row a sentence."""
    if n_best < 1:
        raise ConfigError(f"A search gives at least one answer; it was asked for {n_best}.")
    if bool((request.max_length < 1).any()):
        raise ConfigError(f"An answer has at least one symbol, END; max_length is {int(request.max_length.min())}.")
    with torch.no_grad():
        if isinstance(config, Greedy):
            return greedy_search(step, state, request)
        return beam_search(config, step, state, request, n_best)
