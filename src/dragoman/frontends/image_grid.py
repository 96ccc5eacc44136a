"""Pixels → a grid of vectors, by residual blocks of convolutions."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from jaxtyping import Float, UInt8
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.data.pictures import Fit
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear

LARGEST = 4096  # pixels along a side


class ImageGrid(Config):
    """A grid of vectors for a picture, each of which sees the pixels around its cell (Xu et al. 2015, 3.1.1; residual
    blocks: He et al. 2016; group norm: Wu and He 2018)."""

    kind: Literal["image_grid"] = "image_grid"
    size: Annotated[int, Field(ge=1, le=LARGEST)] = 64
    """pixels along a side that every picture is brought to; Xu et al. used 224"""
    fit: Fit = "pad"
    """how a picture is made square: pad: with white; crop: to its middle (Xu et al. 2015); stretch: as broad as high"""
    grid: Annotated[int, Field(ge=1, le=LARGEST)] = 8
    """cells along a side: size divided by 2, 4, 8 …; Xu et al. used 14"""
    width: Annotated[int, Field(ge=1, le=65_536)] = 256
    """of the vectors; Xu et al. used 512"""
    channels: Annotated[int, Field(ge=1, le=65_536)] = 32
    """of the first convolution; they double wherever the grid is halved, up to width"""
    blocks: Annotated[int, Field(ge=1, le=100)] = 1
    """residual blocks behind each halving but the first"""
    groups: Annotated[int, Field(ge=1, le=65_536)] = 8
    """into which a group norm takes the channels, or as many as divide them"""
    positions: Literal["learned", "none"] = "learned"
    """learned: a vector for each row and one for each column are added to a cell's, so that whoever looks knows where
    it is (Carion et al. 2020); none: convolutions alone, which see the border of the picture"""
    summary: Literal["cells", "mean", "joined"] = "cells"
    """what a picture is: all its cells; or one vector, as each frame of a clip is: their mean, which does not tell
    where things are, or W [a_1; …; a_L] of all of them (the layer behind the grid of Donahue et al. 2015)"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the vectors' elements that training leaves out"""

    @model_validator(mode="after")
    def _halves(self) -> "ImageGrid":
        times = self.size // self.grid
        if self.grid * times != self.size or times < 1 or times & (times - 1):
            allowed = [str(self.size >> n) for n in range(13) if self.size >> n << n == self.size and self.size >> n]
            raise ValueError(
                f"grid = {self.grid} is not size = {self.size} halved some times; with this size it may be "
                f"{', '.join(allowed)}"
            )
        return self

    @property
    def cells(self) -> int:
        """Vectors of a picture."""
        return self.grid * self.grid if self.summary == "cells" else 1


class ResidualBlock(nn.Module):
    """y = x + W₂ ∗ ReLU(norm(W₁ ∗ ReLU(norm(x)))), or P x where the grid is halved or widened (He et al. 2016b)."""

    def __init__(self, inputs: int, outputs: int, stride: int, groups: int) -> None:
        super().__init__()
        self.first_norm, self.second_norm = group_norm(groups, inputs), group_norm(groups, outputs)
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        same = stride == 1 and inputs == outputs
        self.beside = None if same else nn.Conv2d(inputs, outputs, stride, stride, bias=False)

    def forward(self, x: Float[Tensor, "N C H W"]) -> Float[Tensor, "N E I J"]:
        normed = torch.relu(self.first_norm(x))
        added: Tensor = self.second(torch.relu(self.second_norm(self.first(normed))))
        return added + (x if self.beside is None else self.beside(normed))


class ImageGridFrontend(nn.Module):
    """a = {a_1, …, a_L}: one vector a cell, row by row (Xu et al. 2015, 3.1.1). Pictures of a row stand one behind the
    other, and none sees another."""

    def __init__(self, config: ImageGrid) -> None:
        super().__init__()
        self.width, self.cells, self.mean = config.width, config.cells, config.summary == "mean"
        halvings = (config.size // config.grid).bit_length() - 1
        channels = [min(config.channels << n, config.width) for n in range(max(1, halvings))]
        self.stem = nn.Conv2d(3, channels[0], 3, 2 if halvings else 1, 1)
        self.blocks = nn.Sequential(*blocks_of(config, channels))
        self.last_norm = group_norm(config.groups, channels[-1])
        self.into = nn.Conv2d(channels[-1], config.width, 1)
        places = torch.empty(2, config.grid, config.width)
        learned = config.positions == "learned"
        self.places = nn.Parameter(nn.init.uniform_(places, -0.05, 0.05)) if learned else None  # of rows; of columns
        joined = config.summary == "joined"
        self.join = linear(config.grid * config.grid * config.width, config.width) if joined else None
        self.dropout = Dropout(config.dropout)

    def forward(self, values: UInt8[Tensor, "B S height width 3"]) -> Float[Tensor, "B cells D"]:
        """S pictures a row → S × cells vectors."""
        rows, pictures = values.shape[:2]
        weights = self.stem.weight
        # Colours lie beside one another, which is how convolutions on a CPU read them soonest.
        pixels = values.flatten(0, 1).permute(0, 3, 1, 2).to(weights.dtype).div(127.5).sub(1)
        found = self.into(torch.relu(self.last_norm(self.blocks(self.stem(pixels)))))
        if self.places is not None:
            found = found + (self.places[0].t()[:, :, None] + self.places[1].t()[:, None])
        vectors = found.flatten(2).transpose(1, 2)  # pictures, cells, width
        if self.mean:
            vectors = vectors.mean(1, keepdim=True)
        elif self.join is not None:
            vectors = self.join(torch.relu(vectors).flatten(1))
        dropped: Tensor = self.dropout(vectors.reshape(rows, pictures * self.cells, self.width))
        return dropped


def blocks_of(config: ImageGrid, channels: list[int]) -> Iterator[nn.Module]:
    """At each halving but the first, which the stem does, and at the first where there is no other."""
    before = channels[0]
    for number, after in enumerate(channels):
        if number == 0 and len(channels) > 1:
            continue
        yield ResidualBlock(before, after, 2 if number else 1, config.groups)
        yield from (ResidualBlock(after, after, 1, config.groups) for _ in range(config.blocks - 1))
        before = after


def group_norm(groups: int, channels: int) -> nn.GroupNorm:
    """Over each group of channels of one picture: no picture sees another, as it would in a batch norm."""
    return nn.GroupNorm(max(n for n in range(1, min(groups, channels) + 1) if channels % n == 0), channels)
