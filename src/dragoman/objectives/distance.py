"""How far points are from the true ones."""

from typing import Annotated, Literal, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from dragoman.config import Choices, Config
from dragoman.contracts import Batch, Loss, Output
from dragoman.objectives.squared_error import ALONGS, Along, known_numbers, missed_points

TINY = 1e-8  # under the root, whose slope is infinite at 0


class Distance(Config):
    """The distance to the true point, not its square: what the mean displacement error is, and less moved by what
    nobody could foresee (the spatial median: Weber 1909)."""

    kind: Literal["distance"] = "distance"
    along: Annotated[Along, Choices(ALONGS)] = "points"
    """points, or path"""


@runtime_checkable
class SaysPoints(Protocol):
    """A head that says one point."""

    def numbers(self, output: Output) -> Float[Tensor, "N L F"]: ...


class DistanceObjective:
    """loss = Σ_t √(Σ_f (ŷ_tf − y_tf)²), in standard deviations of the training data (Weber 1909)."""

    def __init__(self, config: Distance) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by: points of which anything is known."""
        return {"distance": int(known_numbers(batch.truth(), self.config.along).any(-1).sum())}

    def __call__(self, output: Output, head: SaysPoints, batch: Batch) -> dict[str, Loss]:
        known = known_numbers(batch.truth(), self.config.along).any(-1)
        missed = missed_points(head.numbers(output), batch.truth(), self.config.along)
        each = (missed.square().sum(-1) + TINY).sqrt()
        return {"distance": Loss(each[known].sum(), self.count(batch)["distance"], of_numbers=True)}
