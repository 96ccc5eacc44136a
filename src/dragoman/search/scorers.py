"""By what ended hypotheses are ranked: log-probability, divided by something that grows with length."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.contracts import Step
from dragoman.errors import ConfigError
from dragoman.search.beams import Beams

Normalisation = Literal["none", "average", "power", "gnmt"]
Lengths = Int[Tensor, " B"] | int

# What the log-probability of n symbols, END counted, is divided by; all grow with n, as `Scorer.bound` needs.
DIVISORS: dict[Normalisation, Callable[[Tensor, float], Tensor]] = {
    "none": lambda length, alpha: torch.ones_like(length),
    "average": lambda length, alpha: length,
    "power": lambda length, alpha: length**alpha,
    "gnmt": lambda length, alpha: ((5 + length) / 6) ** alpha,
}


class Scorer:
    """s(y) = log p(y) / divisor(|y|) + β Σ_i log min(Σ_j α_ij, 1): the last term, at most 0, asks that every source
    position i was looked at by some symbol j (Wu et al. 2016, §7)."""

    def __init__(self, normalisation: Normalisation, alpha: float = 1.0, coverage: float = 0.0) -> None:
        self.normalisation, self.alpha, self.coverage = normalisation, alpha, coverage

    def normalised(self, totals: Float[Tensor, "B *K"], lengths: Lengths) -> Float[Tensor, "B *K"]:
        if self.normalisation == "none":
            return totals
        if self.normalisation == "average":
            return totals / columns(lengths, totals)
        divisor = DIVISORS[self.normalisation](torch.as_tensor(lengths, dtype=torch.float32), self.alpha)
        return totals / columns(divisor, totals)

    def score(self, beams: Beams, ranks: Float[Tensor, "B K"], length: int) -> Float[Tensor, "B K"]:
        """Of hypotheses that have so many symbols."""
        scores = self.normalised(ranks, length)
        return scores + self.coverage * missed(beams.carried["coverage"]) if self.coverage else scores

    def bound(self, beams: Beams, lengths: Lengths | None = None) -> Float[Tensor, " B"]:
        """What no live hypothesis can exceed: log-probabilities only fall, divisors only grow up to the limit (or to
        these lengths), and coverage costs nothing at best."""
        return self.normalised(beams.ranks.amax(1), beams.limits if lengths is None else lengths)

    def follow(self, beams: Beams, taken: Step) -> Beams:
        """With what is to be remembered of each hypothesis after a step."""
        if not self.coverage:
            return beams
        if taken.attention is None:
            raise ConfigError("A coverage penalty needs a model with attention; this one looks at nothing.")
        looked = taken.attention.view(*beams.totals.shape, -1)
        coverage = beams.carried["coverage"] + looked
        return replace(beams, carried={**beams.carried, "coverage": coverage})


def columns(divisors: Tensor | int, totals: Tensor) -> Tensor | int:
    """What belongs to a sentence, beside the hypotheses of each."""
    if isinstance(divisors, int) or divisors.dim() == 0 or totals.dim() == divisors.dim():
        return divisors
    return divisors[:, None]


def missed(coverage: Float[Tensor, "B K S"]) -> Float[Tensor, "B K"]:
    """Σ log min(Σ α, 1) over source positions; padding was marked as looked at."""
    return coverage.clamp(1e-6, 1.0).log().sum(2)
