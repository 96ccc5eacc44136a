"""How far a number is from the true one."""

from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output


class SquaredError(Config):
    """The square of the distance to the true number, for regression (Gauss 1809)."""

    kind: Literal["squared_error"] = "squared_error"


@runtime_checkable
class Numbers(Protocol):
    """A head that gives numbers."""

    def numbers(self, output: Output) -> Float[Tensor, "N L"]: ...


class SquaredErrorObjective:
    """loss = Σ_i (ŷ_i − y_i)², in standard deviations of the training data (Gauss 1809)."""

    def __init__(self, config: SquaredError) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by."""
        return {"squared_error": batch.target_tokens}

    def __call__(self, output: Output, head: Numbers, batch: Batch) -> dict[str, Loss]:
        missed = head.numbers(output) - batch.truth().outputs.values
        return {"squared_error": Loss(missed.square().sum(), batch.target_tokens)}
