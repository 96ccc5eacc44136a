"""The likelihood of the places where an answer begins and ends."""

from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output
from dragoman.heads.spans import span_log_probabilities


class SpanCrossEntropy(Config):
    """Minus the mean log-probability of the true start and the true end (Devlin et al. 2019, 4.2)."""

    kind: Literal["span_cross_entropy"] = "span_cross_entropy"


@runtime_checkable
class Places(Protocol):
    """A head that scores every symbol as the first and as the last of an answer."""

    def scores(self, output: Output) -> Float[Tensor, "N L 2"]: ...


class SpanCrossEntropyObjective:
    """loss = −½ [log p(start) + log p(end)] of a window, START in the place of both where the answer is not in it
    (Devlin et al. 2019, 4.2)."""

    def __init__(self, config: SpanCrossEntropy) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by: two places a window."""
        return {"span_cross_entropy": batch.target_tokens}

    def __call__(self, output: Output, head: Places, batch: Batch) -> dict[str, Loss]:
        logs = place_log_probabilities(head.scores(output), batch)
        return {"span_cross_entropy": Loss(-logs.sum(), batch.target_tokens)}


def place_log_probabilities(scores: Float[Tensor, "B S 2"], batch: Batch) -> Float[Tensor, "B 2"]:
    """log p of the true start and of the true end."""
    truth = batch.truth().outputs.values
    return span_log_probabilities(scores, batch).gather(1, truth[:, None]).squeeze(1)
