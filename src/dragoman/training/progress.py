"""Where a training stands: everything beside tensors that a checkpoint has to keep."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from dragoman.data.order import Position
from dragoman.errors import StorageError
from dragoman.training.spikes import Spikes
from dragoman.training.stall import FROM


@dataclass
class Progress:
    """Plain numbers, all of them in the checkpoint's state.json."""

    step: int = 0
    position: Position = field(default_factory=Position)
    examples: int = 0
    target_tokens: int = 0
    seconds: float = 0.0
    window_loss: float = 0.0  # since the last log line: the sum over tokens …
    window_tokens: int = 0  # … and their number
    best_step: int | None = None
    best_value: float | None = None
    validated_step: int = 0
    poor: int = 0  # validations in a row without improvement, for early stopping
    plateau: int = 0  # the same since the last cut of the rate
    cuts: int = 0
    parts: int = 1  # pieces that each batch is cut into since memory ran out
    skipped: int = 0  # updates in a row that were not finite
    skipped_steps: list[int] = field(default_factory=list)  # the recent ones
    rollbacks: int = 0
    finite: int = 0  # updates since the last rollback that were
    anchors: list[int] = field(default_factory=list)  # the last two checkpoints that came in turn, to go back to
    averaged: int = 0  # updates in the moving average of the weights
    spikes: Spikes = field(default_factory=Spikes)
    spent: float = 0.0  # seconds before the first update, of all starts together
    validation_seconds: float = 0.0  # of the longest validation so far
    lowered: int = 0  # times that the rate was lowered since the loss did not fall
    lowered_at: int = 0  # the update after which that was, the last time
    judged_from: float = FROM  # share of the training from which on the loss is judged for that; above 1: it fell
    judged_loss: float = 0.0  # since then: the sum over updates …
    judged_updates: int = 0  # … and their number

    def as_state(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Progress":
        """Read back; a field that is missing or new means another version of dragoman wrote it."""
        given = {name: value for name, value in state.items() if name != "format_version"}
        known = {item.name for item in fields(cls)}
        if set(given) != known:
            missing, new = sorted(known - set(given)), sorted(set(given) - known)
            which = f"'{missing[0]}' is missing" if missing else f"'{new[0]}' is not known here"
            file = f"checkpoints/step-{given.get('step', 'N')}/state.json"
            raise StorageError(
                f"{file} was written by another version of dragoman: {which}. "
                "Go on with that version (environment.json names it), or give --fresh to set the run aside."
            )
        parts = {"position": Position(**given["position"]), "spikes": Spikes(**given["spikes"])}
        return cls(**{**given, **parts})
