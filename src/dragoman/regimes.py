"""How targets are fed in training."""

from typing import Literal, Protocol, runtime_checkable

from jaxtyping import Int
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Memory, Output, Regime, State
from dragoman.errors import DataError


class Teacher(Config):
    """The decoder always sees the true words so far (Williams and Zipser 1989)."""

    kind: Literal["teacher"] = "teacher"


RegimeConfig = Teacher


def build_regime(config: RegimeConfig) -> Regime:
    return teacher


@runtime_checkable
class Decodes(Protocol):
    """All that a regime knows of a model."""

    def encode(self, batch: Batch) -> Memory: ...

    def start(self, memory: Memory) -> State: ...

    def decode(self, inputs: Int[Tensor, "N L"], state: State, attention: bool = False) -> tuple[Output, State]: ...


def teacher(model: Decodes, batch: Batch, attention: bool = False) -> Output:
    """The whole target in one run."""
    if batch.target is None:
        raise DataError("These examples have no target; training, scoring and replaying need one.")
    state = model.start(model.encode(batch))
    output, _ = model.decode(batch.target.inputs.values, state, attention)
    return output
