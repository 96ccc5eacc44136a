"""Weights that choose one position."""

from typing import Annotated, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.nn.attention.attend import Asked, Weighed
from dragoman.nn.linear import linear
from dragoman.nn.softmax import masked_softmax


class Hard(Config):
    """One position has all the weight (Xu et al. 2015, 4.1)."""

    kind: Literal["hard"] = "hard"
    choice: Literal["closest", "sampled"] = "closest"
    """closest: the highest score, trained straight through (Bengio et al. 2013); sampled: drawn in training (Xu et al.
    2015), trained by reinforcement (Williams 1992)"""
    expected: Annotated[float, Field(ge=0, le=1)] = 0.5
    """in training, the share of looks that take the mean of all values in place of a draw (Xu et al. 2015, 4.1)"""


class HardWeights(nn.Module):
    """α = one-hot(argmax_j e_j), the gradient as if α were softmax(e) (Bengio et al. 2013, straight-through).

    Sampled, in training: j ~ softmax(e), with log α_j, the entropy of softmax(e) and a learnt baseline of the reward
    for the objective's REINFORCE term (Williams 1992; Xu et al. 2015, 4.1). A share of the looks has the softmax itself
    for weights, so that a gradient shows the way. The paper decides that for a whole sentence, here for each look; its
    baseline is a moving average. Out of training the highest score is taken.
    """

    needs_steps = False

    def __init__(self, config: Hard, query_width: int) -> None:
        super().__init__()
        self.expected = config.expected
        self.baseline = linear(query_width, 1) if config.choice == "sampled" else None

    def forward(self, scores: Float[Tensor, "B T S"], mask: Bool[Tensor, "B S"], asked: Asked) -> Weighed:
        soft = masked_softmax(scores, mask)
        if self.baseline is None or not self.training:
            chosen = one_of(soft.argmax(2), mask, soft)
            return Weighed(chosen + soft - soft.detach() if self.training else chosen)
        real = mask[:, None].expand_as(scores)
        logs = torch.log_softmax(scores.float().masked_fill(~real, -1e30), 2)
        noise = -torch.log(-torch.log(torch.rand_like(logs).clamp(min=1e-20)))  # the maximum is a draw (Gumbel 1954)
        drawn = (logs.detach() + noise).masked_fill(~real, -torch.inf).argmax(2)
        soft_ones = torch.rand_like(logs[:, :, 0]) < self.expected
        hard_ones = mask.any(1, keepdim=True) & ~soft_ones
        facts = {
            "log_probability": logs.gather(2, drawn[:, :, None]).squeeze(2) * hard_ones,
            "entropy": -torch.where(real, soft * logs, 0.0).sum(2),
            "baseline": self.baseline(asked.queries.detach()).squeeze(2),
        }
        return Weighed(torch.where(soft_ones[:, :, None], soft, one_of(drawn, mask, soft)), facts)


def one_of(chosen: Int[Tensor, "B T"], mask: Bool[Tensor, "B S"], like: Float[Tensor, "B T S"]) -> Tensor:
    """All weight on the chosen position; none in a source that is all padding."""
    positions = torch.arange(mask.shape[1], device=mask.device)
    return ((chosen[:, :, None] == positions) & mask[:, None]).to(like.dtype)
