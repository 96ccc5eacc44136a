"""From a recurrent state, the context and the last word to what the head sees."""

from collections.abc import Callable, Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.nn.linear import linear

ReadoutKind = Literal["tanh", "maxout", "linear", "none"]

READOUTS: Mapping[ReadoutKind, str] = {
    "tanh": "t = tanh(U s + V Ey + C c + b) (Luong et al. 2015, eq. 5, with the last word)",
    "maxout": "t = max over pairs of U s + V Ey + C c + b (Cho et al. 2014, A.1.2)",
    "linear": "t = U s + V Ey + C c + b (Cho et al. 2014, A.1.2, without maxout)",
    "none": "t = s (Sutskever et al. 2014, eq. 1)",
}


class Readout(nn.Module):
    """t_i of the state s_i or s_{i−1}, and of the last word Ey_{i−1} and the context c_i, where they are given."""

    def __init__(self, kind: ReadoutKind, input_width: int, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.pieces = 2 if kind == "maxout" else 1
        self.width = input_width if kind == "none" else width
        self.of_all = None if kind == "none" else linear(input_width, width * self.pieces)

    def forward(self, read: list[Float[Tensor, "N L _"]]) -> Float[Tensor, "N L R"]:
        """All steps at once; the state is read first."""
        if self.of_all is None:
            return read[0]
        pieces: Tensor = self.of_all(torch.cat(read, 2))
        if self.kind == "tanh":
            return torch.tanh(pieces)
        return pieces if self.kind == "linear" else pieces.view(*pieces.shape[:2], -1, self.pieces).amax(3)

    def quickly(self) -> Callable[[list[Float[Tensor, "N _"]]], Float[Tensor, "N R"]]:
        """One step without gradients, by prepared weights."""
        if self.of_all is None:
            return lambda read: read[0]
        product, bias = self.of_all.prepared.make([self.of_all.weight]), self.of_all.bias

        def of_all(read: list[Float[Tensor, "N _"]]) -> Float[Tensor, "N P"]:
            return product.of_rows(torch.cat(read, 1), bias)

        if self.kind == "tanh":
            return lambda read: of_all(read).tanh_()
        if self.kind == "linear":
            return of_all
        return lambda read: of_all(read).view(read[0].shape[0], -1, self.pieces).amax(2)
