"""Where a symbol stands, for parts that would not know otherwise: added to vectors, or turned into queries and keys."""

import math
from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.errors import ConfigError, DataError
from dragoman.nn.linear import linear

Length = Annotated[int, Field(ge=1, le=1_000_000)]
BASE = 10_000.0  # of the wave lengths, from 2π to 2π · BASE


class Sinusoidal(Config):
    """Waves of growing length, added to the vectors (Vaswani et al. 2017, 3.5)."""

    kind: Literal["sinusoidal"] = "sinusoidal"


class Learned(Config):
    """A learnt vector for each position, added to the vectors (Gehring et al. 2017, 3.1)."""

    kind: Literal["learned"] = "learned"
    length: Length = 1024
    """positions that there are; a longer sequence is an error"""


class OneHot(Config):
    """The position itself, 1 in a row of zeros, beside the vector; both are then brought to the vector's width: a
    learnt table by another name (compare Gehring et al. 2017)."""

    kind: Literal["one_hot"] = "one_hot"
    length: Length = 1024
    """positions that there are; a longer sequence is an error"""


class Rotary(Config):
    """Queries and keys are turned by an angle that grows with the position, so that their product knows the distance
    (Su et al. 2021, 3.4.2)."""

    kind: Literal["rotary"] = "rotary"


PositionsConfig = Annotated[Sinusoidal | Learned | OneHot | Rotary, Field(discriminator="kind")]


class SinusoidalPositions(nn.Module):
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(p / 10000^(2i/D)) (Vaswani et al. 2017, 3.5)."""

    def __init__(self, config: Sinusoidal, width: int) -> None:
        super().__init__()
        self.width = width
        self.table = torch.empty(0, width, device="cpu")  # grows as it is needed; no parameter

    def forward(self, vectors: Float[Tensor, "N L D"], first: int) -> Float[Tensor, "N L D"]:
        return vectors + grown_table(self, first + vectors.shape[1], vectors)[first:]


class LearnedPositions(nn.Module):
    """x′_p = x_p + P_p with a learnt P (Gehring et al. 2017, 3.1)."""

    def __init__(self, config: Learned, width: int) -> None:
        super().__init__()
        bound = (3 / width) ** 0.5  # variance 1 / width, as that of embeddings
        self.table = nn.Parameter(nn.init.uniform_(torch.empty(config.length, width), -bound, bound))

    def forward(self, vectors: Float[Tensor, "N L D"], first: int) -> Float[Tensor, "N L D"]:
        end = within(first + vectors.shape[1], self.table.shape[0])
        return vectors + self.table[first:end]


class OneHotPositions(nn.Module):
    """x′_p = W [x_p; onehot(p)] + b (compare Vaswani et al. 2017, 3.5).

    The product of W with a row of zeros and a 1 is a column of W, which is looked up.
    """

    def __init__(self, config: OneHot, width: int) -> None:
        super().__init__()
        self.width, self.length = width, config.length
        self.projected = linear(width + config.length, width)
        with torch.no_grad():
            nn.init.eye_(self.projected.weight[:, :width])

    def forward(self, vectors: Float[Tensor, "N L D"], first: int) -> Float[Tensor, "N L D"]:
        end = within(first + vectors.shape[1], self.length)
        weight = self.projected.weight
        of_position = weight[:, self.width + first : self.width + end].t()
        return F.linear(vectors, weight[:, : self.width], self.projected.bias) + of_position


class RotaryPositions(nn.Module):
    """q′_p = R(p) q_p and k′_p = R(p) k_p: elements 2i and 2i+1 are turned by p / 10000^(2i/d) (Su et al. 2021)."""

    def __init__(self, config: Rotary, width: int) -> None:
        super().__init__()
        if width % 2:
            raise ConfigError(
                f"Rotary positions turn pairs of elements, and the width of a head is {width}, which is odd. Set "
                "heads, model.source.width or model.target.width so that width / heads is even, or other positions."
            )
        self.width = width  # of a head
        self.table = torch.empty(0, width, device="cpu")

    def forward(self, vectors: Float[Tensor, "N L D"], first: int) -> Float[Tensor, "N L D"]:
        """Nothing is added to vectors."""
        return vectors

    def turned(self, heads: Float[Tensor, "N L *parts d"], first: int) -> Float[Tensor, "N L *parts d"]:
        angles = grown_table(self, first + heads.shape[1], heads)[first:]
        sine, cosine = (
            part.view(-1, *[1] * (heads.dim() - 3), part.shape[1]) for part in (angles[:, 0::2], angles[:, 1::2])
        )
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


Positions = SinusoidalPositions | LearnedPositions | OneHotPositions | RotaryPositions


def build_positions(config: PositionsConfig, width: int, heads: int) -> Positions:
    match config:
        case Sinusoidal():
            return SinusoidalPositions(config, width)
        case Learned():
            return LearnedPositions(config, width)
        case OneHot():
            return OneHotPositions(config, width)
        case Rotary():
            return RotaryPositions(config, width // heads)


def longest(config: PositionsConfig) -> int | None:
    """Positions that there are; None: as many as one likes."""
    return config.length if isinstance(config, Learned | OneHot) else None


def within(wanted: int, length: int) -> int:
    if wanted > length:
        raise DataError(
            f"A sequence of {wanted:,} symbols, START or END counted, is longer than the {length:,} positions that "
            "this model has (positions.length). Shorten or split it (limits.source, limits.answer, "
            "data.max_source_length, data.max_target_length), or train with more positions, or with sinusoidal or "
            "rotary ones."
        )
    return wanted


def grown_table(module: SinusoidalPositions | RotaryPositions, length: int, like: Tensor) -> Float[Tensor, "length D"]:
    """Sines and cosines of so many positions, made once; a longer table takes the place of a shorter."""
    if module.table.shape[0] < length or module.table.device != like.device or module.table.dtype != like.dtype:
        size = max(64, 2 ** math.ceil(math.log2(length)))
        with torch.inference_mode(False):  # a table made in a validation must do for the training that goes on
            module.table = sinusoids(size, module.width).to(like.device, like.dtype)
    return module.table[:length]


def sinusoids(length: int, width: int) -> Float[Tensor, "length D"]:
    """sin and cos side by side, pair by pair; in double precision, since p / 10000^x has many digits."""
    positions = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
    pairs = torch.arange(0, width, 2, dtype=torch.float64, device="cpu")
    angles = positions * BASE ** (-pairs / width)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :width]
