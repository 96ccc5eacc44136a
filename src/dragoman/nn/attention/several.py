"""Looks at one sequence of a memory, or at several of them side by side."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from dragoman.contracts import Remembered
from dragoman.nn.attention.attend import Attended
from dragoman.nn.attention.attention import Attention
from dragoman.nn.attention.functions import Scored
from dragoman.nn.attention.quick import Look, look_of


class Attentions(nn.Module):
    """c_i = [c_i of the words; c_i of the turns]: each has an attention of its own, asked by the same state."""

    def __init__(self, config: Scored, query_width: int, memory_widths: Mapping[str, int]) -> None:
        super().__init__()
        self.looks = nn.ModuleDict(
            {name: Attention(config, query_width, width) for name, width in memory_widths.items()}
        )
        self.width = sum(attention.width for _, attention in named(self, ()))
        self.needs_steps = False  # weights are soft: where a window stands is of one sequence alone


Looking = Attention | Attentions


def named(attention: Looking, names: Sequence[str]) -> list[tuple[str, Attention]]:
    """Each attention with the sequence that it looks at; `names` has that of a single one."""
    if isinstance(attention, Attention):
        return [(names[0], attention)]
    return [(name, module) for name, module in attention.looks.items() if isinstance(module, Attention)]


def remembered(attention: Looking, sequences: Mapping[str, Remembered]) -> dict[str, Tensor]:
    """Keys, values and masks of all that is looked at, once a source."""
    found: dict[str, Tensor] = {}
    for name, one in named(attention, tuple(sequences)):
        found[f"{name}.keys"], found[f"{name}.values"] = one.remember(sequences[name].states)
        found[f"{name}.mask"] = sequences[name].mask
    return found


def looks_at(
    attention: Looking,
    names: Sequence[str],
    fixed: Mapping[str, Tensor],
    states: Float[Tensor, "N L D"],
    steps: Int[Tensor, "N L"] | None,
) -> dict[str, Attended]:
    """A look at each sequence, from what was remembered of it."""
    return {
        name: one(states, fixed[f"{name}.keys"], fixed[f"{name}.values"], fixed[f"{name}.mask"], steps)
        for name, one in named(attention, names)
    }


def quick_look(attention: Looking, names: Sequence[str]) -> Look | None:
    """All contexts side by side, for the steps of a search; None where weights are not soft."""
    looks = [look_of(one, name) for name, one in named(attention, names)]
    known = [look for look in looks if look is not None]
    if len(known) < len(looks):
        return None
    return known[0] if len(known) == 1 else lambda states, fixed: torch.cat([look(states, fixed) for look in known], 1)
