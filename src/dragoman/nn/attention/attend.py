"""The weighted sum that every attention shares."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from dragoman.nn.softmax import masked_softmax


@runtime_checkable
class Score(Protocol):
    """How well a query fits each position: keys once a source, scores a step."""

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]: ...

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]: ...


@runtime_checkable
class Weigh(Protocol):
    """How scores become weights; `steps` counts the target symbols before each query, for weights that move along."""

    def __call__(
        self, scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], steps: Int[Tensor, "B T"] | None
    ) -> Float[Tensor, "B T S"]: ...


def soft_weights(
    scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], steps: Int[Tensor, "B T"] | None
) -> Float[Tensor, "B T S"]:
    """α_j = softmax(e)_j over the real positions, wherever the decoder is (Bahdanau et al. 2015, eq. 6)."""
    return masked_softmax(scores, mask)


def attend(
    score: Score,
    queries: Float[Tensor, "N L Q"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S E"],
    mask: Bool[Tensor, "B S"],
    weigh: Weigh = soft_weights,
    steps: Int[Tensor, "N L"] | None = None,
) -> tuple[Float[Tensor, "N L E"], Float[Tensor, "N L S"]]:
    """context = Σ_j α_j value_j, and the weights α (Bahdanau et al. 2015, eq. 5).

    The N = B·K rows of a search are seen as K·L queries to their sentence, so that no key is copied for a beam.
    """
    rows, length, width = queries.shape
    sentences = keys.shape[0]
    together = queries.reshape(sentences, rows // sentences * length, width)
    counted = None if steps is None else steps.reshape(sentences, -1)
    weights = weigh(score.scores(together, keys), mask, counted)
    context = weights @ values
    return context.reshape(rows, length, values.shape[2]), weights.reshape(rows, length, mask.shape[1])
