"""Where sequences of different lengths are real; padding stands on the right."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def reversed_positions(mask: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """For each row the positions of its real part from last to first; padding stays where it is."""
    positions = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - positions, positions)


def reorder(values: Float[Tensor, "B S D"], positions: Int[Tensor, "B P"]) -> Float[Tensor, "B P D"]:
    """The steps of each row that stand at the given positions."""
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))


def last_real(values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Each row's last real step; zeros for a row that is all padding."""
    lengths = mask.sum(1)
    last = reorder(values, (lengths - 1).clamp(min=0)[:, None]).squeeze(1)
    return last * (lengths > 0)[:, None]
