"""Targets that are fed to a model: how probable they are, and where it looks meanwhile."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxtyping import Float
from torch import Tensor

from dragoman.contracts import Batch
from dragoman.models import WritingModel
from dragoman.objectives.cross_entropy import target_log_probabilities
from dragoman.pipeline.together import Together, mean_look, own_source
from dragoman.regimes import teacher


@dataclass(frozen=True)
class Taught:
    """A batch of targets that was fed; 0 and nothing on padding."""

    log_probabilities: Float[Tensor, "B T"]
    weights: Float[Tensor, "B T S"] | None = None
    windows: Float[Tensor, "B T 3"] | None = None
    heads: Mapping[str, Float[Tensor, "B H _ _"]] = field(default_factory=dict)  # "source.1" and so on, if asked for


@dataclass(frozen=True)
class Scored:
    """How probable a target is, given its source: natural logarithms, END counted and last."""

    log_probability: float
    tokens: tuple[str, ...]
    token_log_probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Replayed:
    """An answer fed once more: where each symbol looked, unless the model does not, and how probable it was."""

    weights: Float[Tensor, "T S"] | None
    log_probabilities: Float[Tensor, " T"]
    windows: Float[Tensor, "T 3"] | None = None  # where attention is local
    heads: Mapping[str, Float[Tensor, "H _ _"]] = field(default_factory=dict)  # where each head looked, if asked for


def taught(model: WritingModel | Together, batch: Batch, attention: bool = False, heads: bool = False) -> Taught:
    """Targets fed to a model: how probable each symbol is, where it looked and, of one model alone, every head."""
    if isinstance(model, Together):
        target = batch.truth().outputs
        logs, _ = model.logs(batch.truth().inputs.values, model.begin(batch))
        found = logs.gather(2, target.values[:, :, None])[:, :, 0].masked_fill(~target.mask, 0.0)
        alike = not any(name.startswith("source.") for name in batch.sources)
        each = enumerate(model.members) if attention and alike else ()
        looks = [taught(member, own_source(batch, number), attention=True).weights for number, member in each]
        return Taught(found, mean_look(looks) if looks else None)
    output = teacher(model, batch, attention)
    logs = target_log_probabilities(output, model.head, batch)
    weights = output.attention["source"].mean(1) if "source" in output.attention else None
    windows = None if weights is None else output.extras.get("attention.window")
    return Taught(logs, weights, windows, heads_among(output.attention) if heads else {})


def heads_among(attention: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What belongs to a layer: its name ends in the number of the layer."""
    return {name: weights for name, weights in attention.items() if name.rpartition(".")[2].isdecimal()}


def extent(kind: str, written: int, read: int) -> tuple[int, int]:
    """Rows and columns of a map, where so many symbols were written and so many tokens read."""
    return {"source": (written, read), "target": (written, written), "encoder": (read, read)}[kind]


def cut(name: str, weights: Float[Tensor, "H _ _"], written: int, read: int) -> Float[Tensor, "H _ _"]:
    """The maps of a layer without padding."""
    rows, columns = extent(name.rpartition(".")[0], written, read)
    return weights[:, :rows, :columns]
