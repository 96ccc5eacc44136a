"""Convolutions over neighbouring positions."""

from typing import Annotated, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import FinalShape, Memory, Remembered
from dragoman.nn.linear import linear

Window = Annotated[int, Field(ge=1, le=63)]


class Cnn(Config):
    """One layer of convolutions of several window sizes, side by side; with max pooling in the head, the sentence
    classifier of Kim (2014)."""

    kind: Literal["cnn"] = "cnn"
    windows: Annotated[tuple[Window, ...], Field(min_length=1, max_length=16)] = (3, 4, 5)
    """positions that a filter sees at once; one convolution for each"""
    filters: Annotated[int, Field(ge=1, le=65_536)] = 100
    """of each window size: the states have windows × filters elements"""

    @property
    def layers(self) -> int:
        return 1

    @property
    def directions(self) -> Literal["one", "both"]:
        return "both"


class CnnEncoder(nn.Module):
    """h_j = [relu(W_k [x_{j−⌊(k−1)/2⌋}; …; x_{j+⌊k/2⌋}] + b_k)]_k, with zeros beyond both ends (Kim 2014)."""

    def __init__(self, config: Cnn, input_width: int) -> None:
        super().__init__()
        self.width = len(config.windows) * config.filters
        self.windows = config.windows
        convolutions = [linear(window * input_width, config.filters) for window in config.windows]
        self.layers = nn.ModuleList([nn.ModuleList(convolutions)])

    @property
    def final(self) -> FinalShape | None:
        """None: no state is the last."""
        return None

    def forward(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False) -> Memory:
        """There is no attention to tell of."""
        real = mask[:, :, None]
        rows = (vectors * real).transpose(1, 2)
        found = [
            convolved(rows, layer, window) for layer, window in zip(self.convolutions(), self.windows, strict=True)
        ]
        states = F.relu(torch.cat(found, 1)).transpose(1, 2) * real
        return Memory(mask.shape[0], {"source": Remembered(states, mask)})

    def convolutions(self) -> list[nn.Linear]:
        [layer] = self.layers
        assert isinstance(layer, nn.ModuleList)  # noqa: S101
        return [each for each in layer if isinstance(each, nn.Linear)]


def convolved(rows: Float[Tensor, "B D S"], layer: nn.Linear, window: int) -> Float[Tensor, "B F S"]:
    """One filter bank at every position; a weight's columns are the window's vectors, one after another."""
    kernel = layer.weight.view(layer.out_features, window, rows.shape[1]).transpose(1, 2)
    before = (window - 1) // 2
    return F.conv1d(F.pad(rows, (before, window - 1 - before)), kernel, layer.bias)
