"""Going on with a track, point by point: each is fed to the step after it."""

from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import torch
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from dragoman.config import Choices, Config
from dragoman.contracts import Output, State
from dragoman.heads.points import Gaussians, MixtureHead, PointsHead
from dragoman.seeds import key

Choice = Literal["most_likely", "mean"]
CHOICES: dict[Choice, str] = {
    "most_likely": "y_t = μ_k of the highest Gaussian, about the mode (Bishop 1994)",
    "mean": "y_t = Σ_k π_k μ_k, the mean of all Gaussians",
}
DRAWS = 2**53

Decode = Callable[[Tensor, State], tuple[Output, State]]


class Rollout(Config):
    """How a track is gone on with: the best future at each step, or several that are drawn (Graves 2013, 4)."""

    choice: Annotated[Choice, Choices(CHOICES)] = "most_likely"
    """what the best point of a mixture is"""
    temperature: Annotated[float, Field(gt=0, le=100)] = 1.0
    """of futures that are drawn: below 1 they stay closer together"""
    seed: Annotated[int, Field(ge=0)] = 1
    """what is drawn depends on it, on the number of the track in its input and on the number of the draw"""


def rollout(
    decode: Decode,
    head: PointsHead | MixtureHead,
    first: Float[Tensor, "B F"],
    state: State,
    steps: int,
    choice: Choice = "most_likely",
) -> tuple[Float[Tensor, "B T F"], Float[Tensor, " B"]]:
    """The best point at each step, and the log-density of all of them (0 of a head that knows none)."""

    def best(found: Gaussians, step: int) -> Float[Tensor, "B 1 F"]:
        return found.most_likely() if choice == "most_likely" else found.mean()

    return went_on(decode, head, first, state, steps, best)


def sampled(
    decode: Decode,
    head: MixtureHead,
    first: Float[Tensor, "B F"],
    state: State,
    steps: int,
    draws: Float[Tensor, "N T G"],
    temperature: float = 1.0,
) -> tuple[Float[Tensor, "N T F"], Float[Tensor, " N"]]:
    """Several futures of each track, of numbers that were drawn before: N = tracks × futures."""
    each = len(draws) // len(first)
    rows = torch.arange(len(first), device=first.device).repeat_interleave(each)

    def one(found: Gaussians, step: int) -> Float[Tensor, "N 1 F"]:
        return found.drawn(draws[:, step, :1], draws[:, step : step + 1, 1:], temperature)

    return went_on(decode, head, first[rows], state.select(rows), steps, one)


def went_on(
    decode: Decode,
    head: PointsHead | MixtureHead,
    last: Float[Tensor, "N F"],
    state: State,
    steps: int,
    chosen: Callable[[Gaussians, int], Float[Tensor, "N 1 F"]],
) -> tuple[Float[Tensor, "N T F"], Float[Tensor, " N"]]:
    points, total = [], last.new_zeros(len(last))
    fed = last[:, None]
    for step in range(steps):
        output, state = decode(fed, state)
        if isinstance(head, MixtureHead):
            found = head.gaussians(output)
            fed = chosen(found, step)
            total = total + found.log_density(fed)[:, 0]
        else:
            fed = head.numbers(output)
        points.append(fed)
    return torch.cat(points, 1), total


def drawn_numbers(seed: int, tracks: list[int], futures: int, steps: int, features: int) -> Float[Tensor, "N T G"]:
    """For each future of each track and step: one number between 0 and 1 and a normal one for each feature. They depend
    on the number of the track and of the future alone, not on what else is answered."""
    rows = []
    for track in tracks:
        for future in range(futures):
            generator = np.random.Generator(np.random.Philox(key=key(seed, "rollout", track, future)))
            rows.append(np.concatenate([generator.random((steps, 1)), generator.normal(size=(steps, features))], 1))
    return torch.from_numpy(np.stack(rows)).float()
