"""From a step function to answers: one loop that cannot know what model it drives."""

from collections.abc import Sequence
from typing import Annotated

import torch
from pydantic import Field

from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.errors import ConfigError
from dragoman.search.beam import Beam
from dragoman.search.exact import Exact, Exhaustive, exact_search
from dragoman.search.greedy import Greedy
from dragoman.search.loop import Plan, Processor, Stop, Tracer, run
from dragoman.search.processors import AtLeast, NoRepeatedNgram, RepetitionPenalty
from dragoman.search.proposals import MostProbable
from dragoman.search.rules import Rules
from dragoman.search.sampling import Drawn, Sampling
from dragoman.search.scorers import Scorer
from dragoman.search.selections import Best, EachItsOwn, Groups
from dragoman.search.stopping import EnoughEnded, none_live, nothing_better

__all__ = ["Beam", "Exact", "Exhaustive", "Greedy", "Rules", "Sampling", "SearchConfig", "scorer_of", "search"]

AnySearch = Greedy | Beam | Sampling | Exact | Exhaustive
SearchConfig = Annotated[AnySearch, Field(discriminator="kind")]


def search(
    config: AnySearch,
    step: StepFunction,
    state: State,
    request: Request,
    n_best: int,
    rules: Rules | None = None,
    processors: Sequence[Processor] = (),
    tracer: Tracer | None = None,
) -> list[list[Hypothesis]]:
    """At most `n_best` hypotheses a sentence, best first; the state has one row a sentence."""
    check(request, n_best)
    rules = rules or Rules()
    with torch.no_grad():
        if isinstance(config, Exact | Exhaustive):
            return exact_search(config, step, state, request, n_best)
        used = (*ruled(rules, request), *processors)
        return run(plan_of(config, request, n_best, used, tracer), step, state, request, n_best)


def check(request: Request, n_best: int) -> None:
    if n_best < 1:
        raise ConfigError(f"A search gives at least one answer; it was asked for {n_best}.")
    if bool((request.max_length < 1).any()):
        raise ConfigError(f"An answer has at least one symbol, END; max_length is {int(request.max_length.min())}.")
    if request.min_length is not None and bool((request.min_length > request.max_length).any()):
        place = int((request.min_length > request.max_length).nonzero()[0])
        raise ConfigError(
            f"An answer of at least {int(request.min_length[place])} and at most {int(request.max_length[place])} "
            "symbols, END counted, does not exist. Raise the longest length or lower the shortest."
        )


def ruled(rules: Rules, request: Request) -> tuple[Processor, ...]:
    found: list[Processor] = []
    if rules.repetition_penalty != 1:
        found.append(RepetitionPenalty(rules.repetition_penalty))
    if rules.no_repeat_ngram:
        found.append(NoRepeatedNgram(rules.no_repeat_ngram))
    if request.min_length is not None:
        found.append(AtLeast(request.min_length, request.end))
    return tuple(found)


def scorer_of(config: AnySearch) -> Scorer:
    """By what a search ranks its answers."""
    if isinstance(config, Beam):
        return Scorer(config.normalisation, config.alpha, config.coverage)
    if isinstance(config, Exact | Exhaustive):
        return Scorer(config.normalisation, config.alpha)
    return Scorer("average")


def plan_of(
    config: Greedy | Beam | Sampling,
    request: Request,
    n_best: int,
    processors: tuple[Processor, ...],
    tracer: Tracer | None,
) -> Plan:
    """The parts that a search is made of."""
    scorer = scorer_of(config)
    if isinstance(config, Sampling):
        lines = request.lines if request.lines is not None else torch.arange(len(request.start))
        drawn = Drawn(config, lines.to(request.start.device), request.forbidden)
        return Plan(drawn, EachItsOwn(), scorer, (none_live,), processors, n_best, tracer)
    if isinstance(config, Greedy):
        config = Beam(width=1)
    groups = Groups(config.width, config.groups, config.diversity) if config.groups > 1 else None
    # A group may have to pass over every symbol that the groups before it took.
    proposed = config.width if groups is None else config.width + groups.size
    stops: tuple[Stop, ...] = (nothing_better if groups is None else groups.nothing_better,)
    if config.finished is not None:
        stops = (*stops, EnoughEnded(config.finished))
    return Plan(
        MostProbable(proposed, request.forbidden), groups or Best(config.width), scorer, stops, processors, 1, tracer
    )
