"""Sampling: answers drawn from the model's distribution, or from what is left of it."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int
from pydantic import Field, NonNegativeInt
from torch import Tensor

from dragoman.config import Config
from dragoman.devices import in_double
from dragoman.search.beams import Beams


class Sampling(Config):
    """Every symbol is drawn, by numbers that depend on the seed and the line alone: q(v) = p(v | y_<t, x)^(1/τ) / Z for
    every symbol v that is left (Graves 2013)."""

    kind: Literal["sampling"] = "sampling"
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    """above 1 is bolder, below 1 more careful; the logarithms are divided by it"""
    top_k: NonNegativeInt = 0
    """only the k most probable symbols (Fan et al. 2018); 0: all"""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """only the fewest symbols whose probabilities add up to so much (Holtzman et al. 2020)"""
    min_p: Annotated[float, Field(ge=0, le=1)] = 0.0
    """only symbols at least so probable as a share of the most probable one (Nguyen et al. 2024)"""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    """another seed draws other answers"""


class Warped:
    """The distribution that is drawn from, normalised; barred symbols stay so. The order is that of the papers' code:
    temperature, then top-k, top-p, min-p, each on what is left."""

    def __init__(self, config: Sampling) -> None:
        self.config = config

    def __call__(self, scores: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
        config = self.config
        logs = (scores / config.temperature).log_softmax(1)
        if config.top_k and config.top_k < logs.shape[1]:
            least = logs.topk(config.top_k, dim=1).values[:, -1:]
            logs = logs.masked_fill(logs < least, -torch.inf).log_softmax(1)
        if config.top_p < 1:
            ordered, order = logs.sort(dim=1, descending=True, stable=True)
            before = ordered.exp().cumsum(1) - ordered.exp()
            left_out = torch.zeros_like(logs, dtype=torch.bool).scatter(1, order, before >= config.top_p)
            logs = logs.masked_fill(left_out, -torch.inf).log_softmax(1)
        if config.min_p > 0:
            least = logs.amax(1, keepdim=True) + torch.tensor(config.min_p).log()
            logs = logs.masked_fill(logs < least, -torch.inf).log_softmax(1)
        return logs


class Drawn:
    """One symbol a row, by turning one number between 0 and 1 around: the first symbol at which the sum of
    probabilities passes it. The number is a function of seed, line, sample and step."""

    def __init__(self, config: Sampling, lines: Int[Tensor, " all"], forbidden: tuple[int, ...]) -> None:
        self.warped, self.seed, self.lines, self.forbidden = Warped(config), config.seed, lines, forbidden

    def __call__(self, scores: Float[Tensor, "N V"], beams: Beams) -> tuple[Float[Tensor, "N 1"], Int[Tensor, "N 1"]]:
        scores = scores.clone()
        scores[:, list(self.forbidden)] = -torch.inf
        sums = in_double(self.warped(scores)).exp().cumsum(1)
        samples = beams.totals.shape[1]
        lines = self.lines[beams.sentences].repeat_interleave(samples)
        numbers = torch.arange(samples, device=lines.device).repeat(len(beams.sentences))
        drawn = uniform(self.seed, lines, numbers, beams.length)
        symbols = torch.searchsorted(sums, (drawn * sums[:, -1])[:, None], right=True).clamp(max=scores.shape[1] - 1)
        symbols = symbols.to(scores.device)
        return scores.gather(1, symbols), symbols


def uniform(seed: int, lines: Int[Tensor, " N"], samples: Int[Tensor, " N"], step: int) -> Float[Tensor, " N"]:
    """A number from 0 to 1 for each row: SplitMix64 (Steele et al. 2014) over its four coordinates."""
    state = mixed(torch.full_like(lines, seed))
    for coordinate in (lines, samples, torch.full_like(lines, step)):
        state = mixed(state ^ mixed(coordinate))
    return in_double((state >> 11) & ((1 << 53) - 1)) / (1 << 53)


def mixed(values: Int[Tensor, " N"]) -> Int[Tensor, " N"]:
    """64 bits that depend on all 64 bits; arithmetic of 64-bit integers wraps around."""
    values = values + signed(0x9E3779B97F4A7C15)
    values = (values ^ shifted(values, 30)) * signed(0xBF58476D1CE4E5B9)
    values = (values ^ shifted(values, 27)) * signed(0x94D049BB133111EB)
    return values ^ shifted(values, 31)


def shifted(values: Int[Tensor, " N"], bits: int) -> Int[Tensor, " N"]:
    """To the right, with zeros from the left, which >> of signed integers does not do."""
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
