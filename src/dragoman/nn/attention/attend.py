"""The weighted sum that every attention shares."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.nn.softmax import masked_softmax


@runtime_checkable
class Score(Protocol):
    """How well a query fits each position: keys once a source, scores a step."""

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]: ...

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]: ...


@dataclass(frozen=True)
class Asked:
    """What weights may depend on beside the scores: the decoder's states, and the target symbols before each."""

    queries: Float[Tensor, "B T Q"]
    steps: Int[Tensor, "B T"] | None = None


@dataclass(frozen=True)
class Weighed:
    """Weights, and what is known of each choice: the log-probability of a sampled position, a window."""

    weights: Float[Tensor, "B T S"]
    facts: Mapping[str, Float[Tensor, "B T *rest"]] = field(default_factory=dict)


@runtime_checkable
class Weigh(Protocol):
    """How scores become weights."""

    def __call__(self, scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], asked: Asked) -> Weighed: ...


def soft_weights(scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], asked: Asked) -> Weighed:
    """α_j = softmax(e)_j over the real positions (Bahdanau et al. 2015, eq. 6)."""
    return Weighed(masked_softmax(scores, mask))


@dataclass(frozen=True)
class Attended:
    """What a look at the source gives to each of N search rows at each of L steps."""

    context: Float[Tensor, "N L E"]
    weights: Float[Tensor, "N L S"]
    facts: Mapping[str, Float[Tensor, "N L *rest"]] = field(default_factory=dict)


def attend(
    score: Score,
    queries: Float[Tensor, "N L Q"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S E"],
    mask: Bool[Tensor, "B S"],
    weigh: Weigh = soft_weights,
    states: Float[Tensor, "N L D"] | None = None,
    steps: Int[Tensor, "N L"] | None = None,
) -> Attended:
    """context = Σ_j α_j value_j, and the weights α (Bahdanau et al. 2015, eq. 5).

    The N = B·K rows of a search are seen as K·L queries to their sentence, so that no key is copied for a beam.
    `states` are what the queries were made of (not given: the queries themselves).
    """
    rows, length = queries.shape[:2]
    sentences = keys.shape[0]

    def together(values: Tensor) -> Tensor:
        return values.reshape(sentences, rows // sentences * length, *values.shape[2:])

    asked = Asked(together(queries if states is None else states), None if steps is None else together(steps))
    weighed = weigh(score.scores(together(queries), keys), mask, asked)
    context = (weighed.weights @ values).reshape(rows, length, values.shape[2])
    facts = {name: fact.reshape(rows, length, *fact.shape[2:]) for name, fact in weighed.facts.items()}
    return Attended(context, weighed.weights.reshape(rows, length, mask.shape[1]), facts)
