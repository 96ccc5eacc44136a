"""How probable a mixture of Gaussians makes the true points."""

from typing import Literal, Protocol, runtime_checkable

from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output
from dragoman.heads.points import Gaussians
from dragoman.objectives.squared_error import known_numbers


class MixtureLikelihood(Config):
    """Minus the log-density of the true points, for a head of the kind mixture (Bishop 1994)."""

    kind: Literal["mixture"] = "mixture"


@runtime_checkable
class Distributed(Protocol):
    """A head that says how points are distributed."""

    def gaussians(self, output: Output) -> Gaussians: ...


class MixtureLikelihoodObjective:
    """loss = −Σ_t log Σ_k π_k N(y_t; μ_k, Σ_k), in standard deviations of the training data (Bishop 1994, eq. 29)."""

    def __init__(self, config: MixtureLikelihood) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by: points of which anything is known."""
        return {"mixture": int(known_numbers(batch.truth(), "points").any(-1).sum())}

    def __call__(self, output: Output, head: Distributed, batch: Batch) -> dict[str, Loss]:
        known = known_numbers(batch.truth(), "points").any(-1)
        logs = head.gaussians(output).log_density(batch.truth().outputs.values)
        return {"mixture": Loss(-logs[known].sum(), self.count(batch)["mixture"], of_numbers=True)}
