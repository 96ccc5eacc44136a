"""Soft weights."""

from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.attention.attend import Asked, Weighed, soft_weights


class Softmax(Config):
    """Every real position has its share (Bahdanau et al. 2015)."""

    kind: Literal["softmax"] = "softmax"


class SoftmaxWeights(nn.Module):
    """α_j = exp(e_j) / Σ_k exp(e_k) (Bahdanau et al. 2015, eq. 6)."""

    needs_steps = False

    def forward(self, scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], asked: Asked) -> Weighed:
        return soft_weights(scores, mask, asked)
