"""Pixels → a grid of vectors, by residual blocks of convolutions."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from jaxtyping import Float, UInt8
from pydantic import Field, model_validator
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.data.pictures import Fit, shape_of
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear

LARGEST = 4096  # pixels along a side
Sides = Annotated[int, Field(ge=1, le=LARGEST)]
SideOrSides = Sides | tuple[Sides, Sides]  # of a square, or rows and columns


class ImageGrid(Config):
    """A grid of vectors for a picture, each of which sees the pixels around its cell (Xu et al. 2015, 3.1.1; residual
    blocks: He et al. 2016; group norm: Wu and He 2018)."""

    kind: Literal["image_grid"] = "image_grid"
    size: SideOrSides = 64
    """pixels along a side that every image is resized to, or rows and columns, as in [32, 128]; Xu et al. used 224"""
    fit: Fit = "pad"
    """how an image of other proportions is made to fit: pad: with white; crop: to its middle (Xu et al. 2015); stretch:
    without regard to its proportions"""
    grid: SideOrSides = 8
    """cells along a side, or rows and columns of them: size divided by 1, 2, 4, 8 …; of a size of rows and columns one
    number is that of rows. Xu et al. used 14"""
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
    summary: Literal["cells", "columns", "mean", "joined"] = "cells"
    """what a picture is: all its cells; columns: one vector for each column, W [a_1j; …; a_Rj] of its cells, as a line
    of writing is read (Shi et al. 2017); or one vector, as each frame of a clip is: their mean, which does not tell
    where things are, or W [a_1; …; a_L] of all of them (the layer behind the grid of Donahue et al. 2015)"""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """share of the vectors' elements that training leaves out"""

    @model_validator(mode="after")
    def _halves(self) -> "ImageGrid":
        if self.halvings is None:
            rows, columns = self.shape
            times = [n for n in range(13) if rows >> n << n == rows and columns >> n << n == columns and rows >> n]
            square = isinstance(self.size, int)
            allowed = [str(rows >> n) if square else f"[{rows >> n}, {columns >> n}]" for n in times if columns >> n]
            raise ValueError(
                f"grid = {plain(self.grid)} is not size = {plain(self.size)} halved some times; with this size it may "
                f"be {', '.join(allowed)}"
            )
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of pixels."""
        return shape_of(self.size)

    @property
    def bytes(self) -> int:
        """Of the pixels of an image."""
        return 3 * self.shape[0] * self.shape[1]

    @property
    def halvings(self) -> int | None:
        """How often the pixels are halved until they are the grid."""
        rows = self.grid if isinstance(self.grid, int) else self.grid[0]
        times = (self.shape[0] // rows).bit_length() - 1
        halved = [side >> max(0, times) for side in self.shape]
        wanted = [rows, halved[1] if isinstance(self.grid, int) else self.grid[1]]
        whole = times >= 0 and all(
            cells and cells << times == side for cells, side in zip(halved, self.shape, strict=True)
        )
        return times if whole and halved == wanted else None

    @property
    def cells_of_sides(self) -> tuple[int, int]:
        """Rows and columns of cells that the decoder attends to."""
        rows, columns = self.cells_of_grid
        return 1 if self.summary == "columns" else rows, columns

    @property
    def cells_of_grid(self) -> tuple[int, int]:
        """Rows and columns of cells, before they are summed up."""
        return self.shape[0] >> (self.halvings or 0), self.shape[1] >> (self.halvings or 0)

    @property
    def cells(self) -> int:
        """Vectors of a picture."""
        rows, columns = self.cells_of_sides
        return rows * columns if self.summary in ("cells", "columns") else 1


def plain(side: int | tuple[int, int]) -> int | list[int]:
    """As it stands in TOML."""
    return side if isinstance(side, int) else list(side)


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
        halvings, (rows, columns) = config.halvings or 0, config.cells_of_grid
        channels = [min(config.channels << n, config.width) for n in range(max(1, halvings))]
        self.stem = nn.Conv2d(3, channels[0], 3, 2 if halvings else 1, 1)
        self.blocks = nn.Sequential(*blocks_of(config, channels))
        self.last_norm = group_norm(config.groups, channels[-1])
        self.into = nn.Conv2d(channels[-1], config.width, 1)
        places = torch.empty(2, max(rows, columns), config.width)
        learned = config.positions == "learned"
        self.places = nn.Parameter(nn.init.uniform_(places, -0.05, 0.05)) if learned else None  # of rows; of columns
        self.columns = config.summary == "columns"
        joined = {"joined": rows * columns, "columns": rows}.get(config.summary, 0)  # cells
        self.join = linear(joined * config.width, config.width) if joined else None
        self.dropout = Dropout(config.dropout)

    def forward(self, values: UInt8[Tensor, "B S height width 3"]) -> Float[Tensor, "B cells D"]:
        """S pictures a row → S × cells vectors."""
        rows, pictures = values.shape[:2]
        weights = self.stem.weight
        # Colours lie beside one another, which is how convolutions on a CPU read them soonest.
        pixels = values.flatten(0, 1).permute(0, 3, 1, 2).to(weights.dtype).div(127.5).sub(1)
        found = self.into(torch.relu(self.last_norm(self.blocks(self.stem(pixels)))))
        if self.places is not None:
            down, across = self.places[0, : found.shape[2]].t(), self.places[1, : found.shape[3]].t()
            found = found + (down[:, :, None] + across[:, None])
        cells = found.transpose(2, 3) if self.columns else found
        vectors = cells.flatten(2).transpose(1, 2)  # pictures, cells, width
        if self.mean:
            vectors = vectors.mean(1, keepdim=True)
        elif self.join is not None:
            vectors = self.join(torch.relu(vectors).reshape(len(vectors), -1, self.join.in_features))
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
