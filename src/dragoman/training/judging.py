"""How a model is judged while it is trained, in batches that fit into memory."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from dragoman.data.order import Batching
from dragoman.devices import free_cached_memory, is_out_of_memory

MOST_PARTS = 4096  # that a batch of a validation is cut into


@dataclass(frozen=True)
class Judge:
    """How a model is measured during training, and which of two values is better."""

    measure: Callable[[Callable[[], bool]], Mapping[str, float] | None]  # None: it was told to stop
    monitor: str
    higher_is_better: bool

    def improves(self, value: float, best: float | None) -> bool:
        if not math.isfinite(value):
            return False
        return best is None or (value > best if self.higher_is_better else value < best)


def smaller(batching: Batching, parts: int) -> Batching:
    sentences = batching.sentences and max(1, batching.sentences // parts)
    return batching.changed(tokens=max(1, batching.tokens // parts), sentences=sentences)


def in_parts(measured: Callable[[int], dict[str, float] | None], device: torch.device) -> dict[str, float] | None:
    """Measure in batches that are halved as long as memory runs out."""
    parts = 1
    while True:
        try:
            return measured(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error) or parts >= MOST_PARTS:
                raise
        free_cached_memory(device)
        parts *= 2
