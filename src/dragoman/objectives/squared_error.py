"""How far a number, or a point, is from the true one."""

from typing import Annotated, Literal, Protocol, runtime_checkable

from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.config import Choices, Config
from dragoman.contracts import Batch, Loss, Output, Target
from dragoman.heads.labels import BAG

Along = Literal["points", "path"]
ALONGS: dict[Along, str] = {
    "points": "each point is compared with the true one",
    "path": "steps are summed up to each point before it is compared, for data.frame = 'steps'",
}


class SquaredError(Config):
    """The square of the distance to the true number or point, for regression (Gauss 1809)."""

    kind: Literal["squared_error"] = "squared_error"
    along: Annotated[Along, Choices(ALONGS)] = "points"
    """of tracks: points, or path"""


@runtime_checkable
class Numbers(Protocol):
    """A head that gives numbers, or points of several."""

    def numbers(self, output: Output) -> Float[Tensor, "N L *F"]: ...


@runtime_checkable
class Opinions(Protocol):
    """One that is made of parts, each with a number of its own."""

    def opinions(self, output: Output) -> list[Float[Tensor, "N L"]]: ...


class SquaredErrorObjective:
    """loss = Σ_i (ŷ_i − y_i)², in standard deviations of the training data (Gauss 1809)."""

    def __init__(self, config: SquaredError) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that the loss is divided by: numbers that are known."""
        outputs = batch.truth().outputs
        if outputs.values.dim() == 2:
            return dict.fromkeys(("squared_error", BAG), batch.target_tokens)
        return {"squared_error": int(known_numbers(batch.truth(), self.config.along).sum())}

    def __call__(self, output: Output, head: Numbers, batch: Batch) -> dict[str, Loss]:
        outputs, counts = batch.truth().outputs, self.count(batch)
        if isinstance(head, Opinions):
            totals = [(each - outputs.values).square().sum() for each in head.opinions(output)]
        else:
            totals = [missed_points(head.numbers(output), batch.truth(), self.config.along).square().sum()]
        losses = {"squared_error": Loss(totals[0], counts["squared_error"], of_numbers=True)}
        if len(totals) > 1:
            losses[BAG] = Loss(totals[1], counts[BAG], auxiliary=True)
        return losses


def known_numbers(target: Target, along: Along) -> Bool[Tensor, "N L F"]:
    """Which true numbers there are to be compared with: neither missing nor padding."""
    truth = target.path if along == "path" and target.path is not None else target.outputs
    return ~truth.values.isnan() & truth.mask[:, :, None]


def missed_points(said: Float[Tensor, "N L F"], target: Target, along: Along) -> Float[Tensor, "N L F"]:
    """By how much points are missed; what is not known, and padding, is missed by nothing."""
    known = known_numbers(target, along)
    if along == "path" and target.path is not None:  # a point behind a gap is known, though no step leads to it
        return (said.cumsum(1) - target.path.values).where(known, 0.0)
    missed = (said - target.outputs.values).where(known, 0.0)
    return missed.cumsum(1) * known if along == "path" else missed
