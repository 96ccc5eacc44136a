"""What stands in the place of a hidden word."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class MaskVector(nn.Module):
    """x′_j = m where symbol j is hidden, else x_j: the learnt vector of [MASK] (Devlin et al. 2019, 3.1)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        bound = (3 / width) ** 0.5  # variance 1 / width, as that of symbols
        self.vector = nn.Parameter(nn.init.uniform_(torch.empty(width), -bound, bound))

    def forward(self, vectors: Float[Tensor, "B S D"], hidden: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:
        return torch.where(hidden[:, :, None] > 0, self.vector, vectors)
