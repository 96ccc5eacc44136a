"""What stands in the place of an encoder where there is no source."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from dragoman.contracts import Final, FinalShape, Memory, Remembered
from dragoman.decoders.rnn import Rnn
from dragoman.decoders.transformer import Transformer


class NoSource:
    """Leaves nothing to look at and, for recurrent layers, a state of zeros: s₀ = 0, which a text then moves on."""

    def __init__(self, config: Rnn | Transformer) -> None:
        recurrent = isinstance(config, Rnn)
        self.width = config.width if isinstance(config, Rnn) else 1
        parts = 2 if isinstance(config, Rnn) and config.cell == "lstm" else 1
        self.final = FinalShape(parts, config.layers, self.width) if recurrent else None

    def __call__(self, vectors: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"], attention: bool = False) -> Memory:
        return self.memory(vectors.shape[0], vectors)

    def memory(self, size: int, like: Tensor) -> Memory:
        """For so many texts, on the device of `like`."""
        mask = torch.zeros(size, 0, dtype=torch.bool, device=like.device)
        sequences = {"source": Remembered(like.new_zeros(size, 0, self.width), mask)}
        if self.final is None:
            return Memory(size, sequences)
        hidden, *cell = (like.new_zeros(size, self.final.layers, self.width) for _ in range(self.final.parts))
        return Memory(size, sequences, Final(hidden, *cell))
