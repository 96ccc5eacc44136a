"""From a step function to answers: one loop that cannot know what model it drives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import torch
from pydantic import Field

from dragoman.contracts import Hypothesis, Request, State, StepFunction
from dragoman.errors import ConfigError
from dragoman.search.beam import WIDEST, Beam
from dragoman.search.exact import Exact, Exhaustive, exact_search
from dragoman.search.greedy import Greedy
from dragoman.search.loop import Plan, Processor, Proposer, Selection, Stop, Tracer, run
from dragoman.search.phrases import Banks, Contained, Phrases, WithNext
from dragoman.search.processors import AtLeast, NoRepeatedNgram, RepetitionPenalty
from dragoman.search.proposals import MostProbable
from dragoman.search.rules import Rules
from dragoman.search.sampling import Drawn, Sampling
from dragoman.search.scorers import Scorer
from dragoman.search.selections import Best, EachItsOwn, Groups
from dragoman.search.stopping import EnoughEnded, none_live, nothing_better, nothing_leads

__all__ = [
    "WIDEST",
    "AnySearch",
    "Beam",
    "Exact",
    "Exhaustive",
    "Greedy",
    "Parts",
    "Required",
    "Rules",
    "Sampling",
    "SearchConfig",
    "Tracer",
    "scorer_of",
    "search",
]

AnySearch = Greedy | Beam | Sampling | Exact | Exhaustive
FIRST_BEAM = 5  # of an exact search, to begin with
SearchConfig = Annotated[AnySearch, Field(discriminator="kind")]


@dataclass(frozen=True)
class Required:
    """Phrases that answers must contain, and what says that a whole answer does."""

    phrases: Phrases
    satisfied: Callable[[int, Sequence[int]], bool]


@dataclass(frozen=True)
class Parts:
    """What is added to a search: rules, processors, phrases, and one who watches."""

    rules: Rules = field(default_factory=Rules)
    processors: tuple[Processor, ...] = ()
    required: Required | None = None
    tracer: Tracer | None = None


def search(
    config: AnySearch, step: StepFunction, state: State, request: Request, n_best: int, parts: Parts | None = None
) -> list[list[Hypothesis]]:
    """At most `n_best` hypotheses a sentence, best first; the state has one row a sentence."""
    check(request, n_best)
    parts = parts or Parts()
    with torch.no_grad():
        if isinstance(config, Exact | Exhaustive):
            refuse_parts(parts)
            return exact_search(config, step, state, request, n_best, begun(config, step, state, request, n_best))
        return run(plan_of(config, request, n_best, parts), step, state, request, n_best)


def begun(
    config: Exact | Exhaustive, step: StepFunction, state: State, request: Request, n_best: int
) -> list[list[Hypothesis]]:
    """What an exact search has to beat: the answers of a beam, so that it leaves out much from the first step on."""
    if isinstance(config, Exhaustive):
        return [[] for _ in request.start]
    beam = Beam(width=min(WIDEST, max(FIRST_BEAM, n_best)), normalisation=config.normalisation, alpha=config.alpha)
    return run(plan_of(beam, request, n_best, Parts()), step, state, request, n_best)


def refuse_parts(parts: Parts) -> None:
    """An exact search goes depth first and knows log-probabilities alone."""
    if parts != Parts():
        raise ConfigError(
            "An exact or exhaustive search looks at log-probabilities alone: it has no rules against repetition, no "
            "phrases that must or must not occur, and no trace. Choose search.kind=beam for those."
        )


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


def processors_of(parts: Parts, request: Request) -> tuple[Processor, ...]:
    found: list[Processor] = []
    if parts.rules.repetition_penalty != 1:
        found.append(RepetitionPenalty(parts.rules.repetition_penalty))
    if parts.rules.no_repeat_ngram:
        found.append(NoRepeatedNgram(parts.rules.no_repeat_ngram))
    if request.min_length is not None:
        found.append(AtLeast(request.min_length, request.end))
    found += parts.processors
    if parts.required is not None:  # last, so that nothing undoes it
        found.append(Contained(parts.required.phrases, parts.required.satisfied, request.end))
    return tuple(found)


def scorer_of(config: AnySearch) -> Scorer:
    """By what a search ranks its answers."""
    if isinstance(config, Beam):
        return Scorer(config.normalisation, config.alpha, config.coverage)
    if isinstance(config, Exact | Exhaustive):
        return Scorer(config.normalisation, config.alpha)
    return Scorer("average")


def plan_of(config: Greedy | Beam | Sampling, request: Request, n_best: int, parts: Parts) -> Plan:
    """The parts that a search is made of."""
    scorer, processors = scorer_of(config), processors_of(parts, request)
    if parts.required is not None and not (isinstance(config, Beam) and config.width > 1 and config.groups == 1):
        raise ConfigError(
            "Phrases that must occur need a beam of two or more without groups, since hypotheses with and without them "
            "go on side by side: give --beam 5, or search.kind=beam."
        )
    if isinstance(config, Sampling):
        lines = torch.arange(len(request.start)) if request.lines is None else request.lines
        drawn = Drawn(config, lines.to(request.start.device), request.forbidden)
        return Plan(drawn, EachItsOwn(), scorer, (none_live,), processors, n_best, parts.tracer)
    if isinstance(config, Greedy):
        config = Beam(width=1)
    propose: Proposer = MostProbable(config.width, request.forbidden)
    select: Selection = Best(config.width)
    stops: tuple[Stop, ...] = (nothing_leads if config.stop == "likely" else nothing_better,)
    if config.groups > 1:
        select = groups = Groups(config.width, config.groups, config.diversity)
        # a group may have to pass over every symbol that the groups before it took
        propose = MostProbable(config.width + groups.size, request.forbidden)
        stops = (groups.nothing_leads if config.stop == "likely" else groups.nothing_better,)
    if parts.required is not None:
        propose = WithNext(config.width, request.forbidden, parts.required.phrases)
        select = Banks(config.width, parts.required.phrases)
    if config.finished is not None:
        stops = (*stops, EnoughEnded(config.finished))
    return Plan(propose, select, scorer, stops, processors, 1, parts.tracer)
