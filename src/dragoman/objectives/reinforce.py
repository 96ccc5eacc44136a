"""Learning where to look when the place is drawn, through which no gradient runs."""

from collections.abc import Mapping
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from pydantic import Field
from torch import Tensor

from dragoman.config import Config

LOG_PROBABILITY, ENTROPY, BASELINE = "attention.log_probability", "attention.entropy", "attention.baseline"
Weight = Annotated[float, Field(ge=0, le=1e6)]


class Reinforce(Config):
    """How drawn positions of hard attention are learnt (Williams 1992; Xu et al. 2015, §4.1); no other needs this."""

    weight: Weight = 1.0
    """λ_r: of the positions' loss; 1 with a discount of 1 is the gradient of the expected log-likelihood"""
    entropy: Weight = 0.01
    """λ_e: of the positions' entropy, so that the attention does not make up its mind too early"""
    discount: Annotated[float, Field(ge=0, le=1)] = 0.5
    """of each further word in a position's reward; 0: the next word alone, 1: all to the end, which varies most"""


def reinforce(
    config: Reinforce,
    extras: Mapping[str, Tensor],
    logs: Float[Tensor, "B T"],
    real: Int[Tensor, " R"],
) -> dict[str, Float[Tensor, ""]]:
    """Sums over tokens: −λ_r (r_i − b_i) log p(position_i) − λ_e H_i; for the baseline |r_i − b_i|, near 0 squared.

    r_i = Σ_{j≥i} discount^{j−i} log p(y_j) is the reward of the position drawn before word i. The baseline b_i foresees
    it; what it foresees changes the variance of the gradient and not its mean, so only its own loss moves it.
    """
    reward = rewards(logs.detach(), config.discount)
    rows = (reward, extras[BASELINE], extras[LOG_PROBABILITY], extras[ENTROPY])
    reward, baseline, log_probability, entropy = (row.flatten().index_select(0, real) for row in rows)
    positions = config.weight * (reward - baseline.detach()) * log_probability + config.entropy * entropy
    # Squares alone would be most of the gradient at first, and clipping would then leave little of all the rest.
    missed = F.smooth_l1_loss(baseline, reward, reduction="sum")
    return {"reinforce": -positions.sum(), "baseline": missed}


def rewards(logs: Float[Tensor, "B T"], discount: float) -> Float[Tensor, "B T"]:
    """r_i = Σ_{j≥i} discount^{j−i} logs_j; padding, whose logs are 0, adds nothing."""
    steps = torch.arange(logs.shape[1], device=logs.device)
    later = steps[:, None] - steps  # j − i
    factors = torch.where(later >= 0, discount ** later.clamp_min(0).to(logs.dtype), 0.0)
    return logs @ factors.to(logs.dtype)
