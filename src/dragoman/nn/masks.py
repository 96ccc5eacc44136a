"""Where sequences of different lengths are real; padding stands on the right."""

from jaxtyping import Bool, Float
from torch import Tensor


def last_real(values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Each row's last real step; zeros for a row that is all padding."""
    lengths = mask.sum(1)
    positions = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, values.shape[2])
    return values.gather(1, positions).squeeze(1) * (lengths > 0)[:, None]
