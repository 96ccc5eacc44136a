"""Which of two texts a symbol stands in."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Segments(nn.Module):
    """x′_j = x_j + G[s_j]: a learnt vector for each of two texts, added to those of its symbols (Devlin et al. 2019,
    3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        bound = (3 / width) ** 0.5  # variance 1 / width, as that of symbols
        self.table = nn.Parameter(nn.init.uniform_(torch.empty(2, width), -bound, bound))

    def forward(self, vectors: Float[Tensor, "B S D"], segments: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        return vectors + self.table[segments]
