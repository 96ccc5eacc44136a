"""From a recurrent state, the context and the last word to what the head sees."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.config import Choices
from dragoman.nn.linear import linear

ReadoutKind = Literal["tanh", "maxout"]
READOUTS = Choices(
    {
        "tanh": "t_i = tanh(U s_i + V Ey_{i−1} + C c_i + b), on the new state "
        "(Luong et al. 2015, eq. 5, with the word)",
        "maxout": "t_i = max over pairs of U s_{i−1} + V Ey_{i−1} + C c_i + b, on the state before "
        "(Bahdanau et al. 2015, A.2.2)",
    },
    __name__,
)


class Readout(nn.Module):
    """What the head sees, of all steps at once: see READOUTS."""

    def __init__(self, kind: ReadoutKind, input_width: int, width: int) -> None:
        super().__init__()
        self.kind = kind
        self.pieces = 2 if kind == "maxout" else 1
        self.of_all = linear(input_width, width * self.pieces)

    def forward(
        self,
        before: Float[Tensor, "N D"],
        states: Float[Tensor, "N L D"],
        words: Float[Tensor, "N L E"],
        contexts: Float[Tensor, "N L C"],
    ) -> Float[Tensor, "N L R"]:
        """All steps at once; `before` is the state that the first step found."""
        if self.kind == "tanh":
            return torch.tanh(self.of_all(torch.cat([states, words, contexts], 2)))
        previous = torch.cat([before[:, None], states[:, :-1]], 1)
        pieces: Tensor = self.of_all(torch.cat([previous, words, contexts], 2))
        return pieces.view(*pieces.shape[:2], -1, self.pieces).amax(3)
