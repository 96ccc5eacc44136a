"""From what the encoder leaves to the state in which the decoder starts."""

from collections.abc import Mapping
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from dragoman.contracts import Final, FinalShape
from dragoman.errors import ConfigError
from dragoman.nn.linear import linear

BridgeKind = Literal["copy", "linear", "mlp", "zeros"]

BRIDGES: Mapping[BridgeKind, str] = {
    "copy": "s₀ = h_S, layer by layer, cells too (Sutskever et al. 2014, 2)",
    "linear": "s₀ = tanh(W h_S + b) of the top layer, or of a fixed context (Bahdanau et al. 2015, A.2.2)",
    "mlp": "s₀ = tanh(W₂ tanh(W₁ h_S + b₁) + b₂), of the same (compare Cho et al. 2014, A.1.1)",
    "zeros": "s₀ = 0, as encoders start (Cho et al. 2014, A.1.1)",
}


class Bridge(nn.Module):
    """The first state of every layer, an LSTM's cells included; h_S holds both directions (Bahdanau's: one), and is the
    mean of all states where none of them is the last (Xu et al. 2015, 3.1.2)."""

    def __init__(self, kind: BridgeKind, final: FinalShape | None, width: int, shape: FinalShape) -> None:
        """`width` is that of what linear and mlp read; `shape` is what the decoder wants."""
        super().__init__()
        self.kind, self.shape = kind, (shape.parts, shape.layers, shape.width)
        if kind == "copy" and final is None:
            raise ConfigError("This encoder leaves no final state for bridge = 'copy'. Set bridge = 'linear'.")
        if kind == "copy" and final != shape:
            raise ConfigError(not_alike(final, shape))
        size = shape.parts * shape.layers * shape.width
        self.hidden = linear(width, shape.width) if kind == "mlp" else None
        self.first = linear(shape.width if kind == "mlp" else width, size) if kind in ("linear", "mlp") else None

    def forward(self, final: Final | None, read: Float[Tensor, "B D"]) -> Float[Tensor, "B parts layers E"]:
        """`read` is what linear and mlp see, and what says how many rows there are."""
        if self.kind == "copy" and final is not None:
            return torch.stack([part for part in (final.hidden, final.cell) if part is not None], 1)
        if self.first is None:
            return read.new_zeros(read.shape[0], *self.shape)
        hidden = read if self.hidden is None else torch.tanh(self.hidden(read))
        return torch.tanh(self.first(hidden)).view(-1, *self.shape)


def not_alike(final: FinalShape | None, shape: FinalShape) -> str:
    """Why a final state cannot be copied."""

    def told(some: FinalShape | None) -> str:
        cells = "LSTM" if some and some.parts == 2 else "simple"
        return f"{some.layers} {cells} layer{'s' * (some.layers > 1)} of width {some.width}" if some else "none"

    return (
        f"bridge = 'copy' needs an encoder and a decoder of one shape; the encoder leaves {told(final)} (both "
        f"directions counted) and the decoder has {told(shape)}. Make them alike, or set bridge = 'linear'."
    )
