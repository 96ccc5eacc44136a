"""The encoder that leaves vectors as they are."""

from typing import Literal

from jaxtyping import Bool, Float
from torch import Tensor, nn

from dragoman.config import Config
from dragoman.contracts import FinalShape, Memory, Remembered


class Identity(Config):
    """No layers: the decoder looks at the frontend's vectors themselves, as at a picture's grid (Xu et al. 2015)."""

    kind: Literal["identity"] = "identity"

    @property
    def layers(self) -> int:
        return 0

    @property
    def directions(self) -> Literal["one", "both"]:
        return "both"


class IdentityEncoder(nn.Module):
    """h_j = x_j (Xu et al. 2015, 3.1.1)."""

    def __init__(self, config: Identity, input_width: int) -> None:
        super().__init__()
        self.width = input_width
        self.layers = nn.ModuleList()

    @property
    def final(self) -> FinalShape | None:
        """None: no vector is the last."""
        return None

    def forward(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False) -> Memory:
        """There is no attention to tell of."""
        return Memory(mask.shape[0], {"source": Remembered(vectors * mask[:, :, None], mask)})
