"""The likelihood of the true tags of a whole sentence."""

from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output, Target


class Crf(Config):
    """Minus the log-probability of the true sequence of tags among all sequences (Lafferty et al. 2001)."""

    kind: Literal["crf"] = "crf"


@runtime_checkable
class Sequences(Protocol):
    """A head that knows how probable the tags of a sentence are together."""

    def negative_log_likelihoods(self, output: Output, target: Target) -> Float[Tensor, " B"]: ...


class CrfObjective:
    """loss = log Z − score(y) of the true tags y, as a mean over words (Lample et al. 2016, eq. 1)."""

    def __init__(self, config: Crf) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by: words."""
        return {"crf": batch.target_tokens}

    def __call__(self, output: Output, head: Sequences, batch: Batch) -> dict[str, Loss]:
        return {"crf": Loss(head.negative_log_likelihoods(output, batch.truth()).sum(), batch.target_tokens)}
