"""Several models that write one answer together."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.contracts import Batch, Memory, Padded, State, Step
from dragoman.data.collate import collate_sources
from dragoman.errors import ConfigError
from dragoman.models import EncoderDecoderModel
from dragoman.pipeline.pipeline import Pipeline, Row, Taught

Mean = Literal["logarithms", "probabilities"]


class Together(nn.Module):
    """p(v) ∝ exp(mean of log p_m(v)), or the mean of p_m(v), over models m with one target vocabulary.

    Each has its own state, whose tensors carry the number of their model, and its own source in the batch if its
    vocabulary is another.
    """

    def __init__(self, models: Sequence[EncoderDecoderModel], mean: Mean) -> None:
        super().__init__()
        self.members = list(models)
        self.kept = nn.ModuleList(models)  # so that they are moved together
        self.mean = mean

    def encode(self, batch: Batch) -> list[Memory]:
        return [model.encode(own_source(batch, number)) for number, model in enumerate(self.members)]

    def start(self, memories: Sequence[Memory]) -> State:
        return joined([model.start(memory) for model, memory in zip(self.members, memories, strict=True)])

    def step(self, last: Int[Tensor, " N"], state: State, attention: bool = False) -> Step:
        taken = [model.step(last, own, attention) for model, own in zip(self.members, self.apart(state), strict=True)]
        logs = self.combined(torch.stack([one.log_probabilities for one in taken]))
        return Step(logs, joined([one.state for one in taken]), mean_look([one.attention for one in taken]))

    def logs(self, inputs: Int[Tensor, "N L"], state: State) -> tuple[Float[Tensor, "N L V"], State]:
        taken = [model.logs(inputs, own) for model, own in zip(self.members, self.apart(state), strict=True)]
        return self.combined(torch.stack([logs for logs, _ in taken])), joined([own for _, own in taken])

    def combined(self, logs: Float[Tensor, "M *rows V"]) -> Float[Tensor, "*rows V"]:
        if self.mean == "logarithms":
            return logs.mean(0).log_softmax(-1)
        return logs.logsumexp(0) - torch.tensor(len(self.members), dtype=logs.dtype, device=logs.device).log()

    def apart(self, state: State) -> list[State]:
        """The state of each model."""
        return [
            State(*({name.partition(".")[2]: value for name, value in part.items() if name.startswith(f"{number}.")}
                    for part in (state.moving, state.fixed)))
            for number in range(len(self.members))
        ]  # fmt: skip


def joined(states: Sequence[State]) -> State:
    moving, fixed = (
        {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.items()}
        for parts in ([state.moving for state in states], [state.fixed for state in states])
    )
    return State(moving, fixed)


def mean_look(looks: Sequence[Float[Tensor, "N S"] | None]) -> Float[Tensor, "N S"] | None:
    """Where all looked on average, if all read the same."""
    seen = [look for look in looks if look is not None]
    if len(seen) < len(looks) or len({look.shape for look in seen}) > 1:
        return None
    return torch.stack(seen).mean(0)


def own_source(batch: Batch, number: int) -> Batch:
    """What one model reads."""
    name = f"source.{number}"
    return replace(batch, sources={"source": batch.sources.get(name, batch.sources["source"])})


class Ensemble(Pipeline):
    """Runs with one target vocabulary; source vocabularies may differ. Limits, search and rules are the first one's."""

    def __init__(self, members: Sequence[Pipeline], mean: Mean = "logarithms") -> None:
        first = members[0]
        for number, member in enumerate(members[1:], start=2):
            if member.target.hash != first.target.hash:
                raise ConfigError(
                    f"Run {number} of the ensemble writes other symbols than the first ({member.target.size:,} and "
                    f"{first.target.size:,}, or another order): log-probabilities of different vocabularies have no "
                    "mean. Train them on one vocabulary: target.kind=file with the tokenizers/target.json of the first."
                )
        together = Together([member.model for member in members], mean).eval()
        super().__init__(together, first.source, first.target, first.settings, first.device)  # type: ignore[arg-type]
        self.members = tuple(members)

    @staticmethod
    def load_all(paths: Sequence[str | Path], mean: Mean = "logarithms", device: str = "auto") -> "Ensemble":
        return Ensemble([Pipeline.load(path, device) for path in paths], mean)

    def batch_of(self, rows: Sequence[Row], targets: Sequence[Sequence[int]] | None = None) -> Batch:
        """With a source more for each member that reads other symbols."""
        batch = super().batch_of(rows, targets)
        further: dict[str, Padded] = {}
        for number, member in enumerate(self.members):
            if member.source.hash != self.source.hash:
                limit = member.settings.limits.source
                own = [row[:limit] for row in member.source.encode([row.text for row in rows])]
                further[f"source.{number}"] = collate_sources(own).to(self.device).sources["source"]
        return replace(batch, sources={**batch.sources, **further})

    def taught(self, batch: Batch, attention: bool = False) -> Taught:
        """The mean of all, over the whole vocabulary at every step."""
        model = self.model
        target = batch.truth()
        logs, _ = model.logs(target.inputs.values, model.start(model.encode(batch)))
        found = logs.gather(2, target.outputs.values[:, :, None])[:, :, 0].masked_fill(~target.outputs.mask, 0.0)
        looks = [
            member.taught(own_source(batch, number), attention=True).weights if attention else None
            for number, member in enumerate(self.members)
        ]
        return Taught(found, mean_look(looks) if attention else None)
