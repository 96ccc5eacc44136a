"""Which symbols of the second text occur in the first."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.data.tokenizers import END


class Matches(nn.Module):
    """x′_j = x_j + m where symbol j of the second text occurs in the first too: a learnt vector, added to its own (the
    exact match of Chen et al. 2017, 3.2)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        bound = (3 / width) ** 0.5  # variance 1 / width, as that of symbols
        self.vector = nn.Parameter(nn.init.uniform_(torch.empty(width), -bound, bound))

    def forward(
        self, vectors: Float[Tensor, "B S D"], values: Int[Tensor, "B S"], segments: Int[Tensor, "B S"]
    ) -> Float[Tensor, "B S D"]:
        return vectors + matched(values, segments)[:, :, None] * self.vector


def matched(values: Int[Tensor, "B S"], segments: Int[Tensor, "B S"]) -> Bool[Tensor, "B S"]:
    """Symbols of the second text that are the same as one of the first; END, which stands behind both, is none."""
    same = (values[:, :, None] == values[:, None]) & (segments == 0)[:, None]
    return same.any(2) & (segments == 1) & (values != END)
