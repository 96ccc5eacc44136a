"""Several models as one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.contracts import Batch, State, Step
from dragoman.models import WritingModel

Mean = Literal["logarithms", "probabilities"]


class Together(nn.Module):
    """p(v) ∝ exp(mean of log p_m(v)), or the mean of p_m(v), over models m with one target vocabulary.

    Each has its own state, whose tensors carry the number of their model, and its own source in the batch if its
    vocabulary is another, or if it reads more or less of a conversation.
    """

    def __init__(self, models: Sequence[WritingModel], mean: Mean) -> None:
        super().__init__()
        self.members = list(models)
        self.kept = nn.ModuleList(models)  # so that they are moved together
        self.mean = mean

    def begin(self, batch: Batch) -> State:
        return joined([model.begin(own_source(batch, number)) for number, model in enumerate(self.members)])

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
                    for part in (state.moving, state.fixed, state.grown)))
            for number in range(len(self.members))
        ]  # fmt: skip


def joined(states: Sequence[State]) -> State:
    def named(parts: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        return {f"{number}.{name}": value for number, part in enumerate(parts) for name, value in part.items()}

    return State(*(named([getattr(state, part) for state in states]) for part in ("moving", "fixed", "grown")))


def mean_look(looks: Sequence[Float[Tensor, "N *T S"] | None]) -> Float[Tensor, "N *T S"] | None:
    """Where all looked on average, if all read the same."""
    seen = [look for look in looks if look is not None]
    if len(seen) < len(looks) or len({look.shape for look in seen}) > 1:
        return None
    return torch.stack(seen).mean(0)


def own_source(batch: Batch, number: int) -> Batch:
    """What one model reads."""
    name = f"source.{number}"
    found = batch.sources.get(name, batch.sources.get("source"))
    return batch if found is None else replace(batch, sources={"source": found})
