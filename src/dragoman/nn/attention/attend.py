"""The weighted sum that every attention shares."""

from typing import Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.nn.softmax import masked_softmax


@runtime_checkable
class Score(Protocol):
    """How well a query fits each position: keys once a source, scores a step."""

    def keys(self, states: Float[Tensor, "B S E"]) -> Float[Tensor, "B S A"]: ...

    def scores(self, query: Float[Tensor, "B T Q"], keys: Float[Tensor, "B S A"]) -> Float[Tensor, "B T S"]: ...


def attend(
    score: Score,
    queries: Float[Tensor, "N L Q"],
    keys: Float[Tensor, "B S A"],
    values: Float[Tensor, "B S E"],
    mask: Bool[Tensor, "B S"],
) -> tuple[Float[Tensor, "N L E"], Float[Tensor, "N L S"]]:
    """context = Σ_j softmax(score)_j value_j, and the weights (Bahdanau et al. 2015, eq. 5 and 6).

    The N = B·K rows of a search are seen as K·L queries to their sentence, so that no key is copied for a beam.
    """
    rows, steps, width = queries.shape
    sentences = keys.shape[0]
    together = queries.reshape(sentences, rows // sentences * steps, width)
    weights = masked_softmax(score.scores(together, keys), mask)
    context = weights @ values
    return context.reshape(rows, steps, values.shape[2]), weights.reshape(rows, steps, mask.shape[1])
