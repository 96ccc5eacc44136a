"""Weights within a window."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.attention.attend import Asked, Weighed
from dragoman.nn.linear import linear
from dragoman.nn.softmax import masked_softmax


class Local(Config):
    """Only positions within a window have weight (Luong et al. 2015, 3.2)."""

    kind: Literal["local"] = "local"
    position: Literal["monotonic", "predictive"] = "predictive"
    """the window's centre: monotonic (local-m): as far as the target is; predictive (local-p): learnt from the query"""
    window: Annotated[int, Field(ge=1, le=65_536)] = 10
    """positions on either side of the centre: D of the paper"""


class LocalWeights(nn.Module):
    """α_j = softmax over |j − p| ≤ D; predictive: times exp(−(j − p)²/(2σ²)), σ = D/2 (Luong et al. 2015, 3.2, eq. 10).

    Monotonic: p is the target's step, and stays at the source's end once the target is longer (in the paper the window
    leaves the source). Predictive: p = S · σ(v · tanh(W s)) counted from one, eq. 9. S counts the end symbol.
    """

    def __init__(self, config: Local, query_width: int) -> None:
        super().__init__()
        self.window = config.window
        self.needs_steps = config.position == "monotonic"
        if not self.needs_steps:
            self.of_query = linear(query_width, query_width, bias=False)
            self.share = linear(query_width, 1, bias=False)

    def forward(self, scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], asked: Asked) -> Weighed:
        centre = self.centre(mask, asked)[:, :, None]
        distance = torch.arange(mask.shape[1], device=mask.device) - centre
        weights = masked_softmax(scores, mask[:, None] & (distance.abs() <= self.window))
        if not self.needs_steps:
            weights = weights * torch.exp(-2 * (distance / self.window).square())  # σ = D/2
        last = (mask.sum(1)[:, None, None] - 1).to(centre.dtype)
        edges = (torch.ceil(centre - self.window).clamp(min=0), centre, torch.floor(centre + self.window).minimum(last))
        return Weighed(weights, {"window": torch.cat(edges, 2)})

    def centre(self, mask: Bool[Tensor, "B S"], asked: Asked) -> Float[Tensor, "B T"]:
        """p, counted from zero."""
        lengths = mask.sum(1, keepdim=True)
        if asked.steps is not None and self.needs_steps:
            return asked.steps.minimum((lengths - 1).clamp(min=0)).to(asked.queries.dtype)
        share = torch.sigmoid(self.share(torch.tanh(self.of_query(asked.queries)))).squeeze(2)
        return lengths * share - 1
