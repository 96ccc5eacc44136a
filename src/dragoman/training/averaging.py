"""Means of weights: a moving one during training, and a uniform one over checkpoints."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.errors import StorageError
from dragoman.training.checkpoints import find_damage
from dragoman.weights import first_mismatch, read_tensors

PREFIX = "average."  # of the moving average among the tensors of a checkpoint


class MovingAverage:
    """mean ← d mean + (1 − d) weights, with d = min(decay, (1 + n) / (10 + n)) at the n-th update, so that the initial
    weights are forgotten soon (Polyak & Juditsky 1992; the warm-up is TensorFlow's)."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.weights = list(model.parameters())
        self.means = [weight.detach().clone() for weight in self.weights]

    def update(self, number: int) -> None:
        """Take the weights in, after `number` updates before this one."""
        decay = min(self.decay, (1 + number) / (10 + number))
        torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the mean for its weights within; tensors change hands, and nothing is copied."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def swap(self) -> None:
        for number, weight in enumerate(self.weights):
            weight.data, self.means[number] = self.means[number], weight.data

    def tensors(self) -> dict[str, Tensor]:
        return {PREFIX + name: mean for name, mean in zip(self.names, self.means, strict=True)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for name, mean in zip(self.names, self.means, strict=True):
            mean.copy_(tensors[PREFIX + name])


def mean_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The uniform mean of the weights of checkpoints, summed in double precision, one of them in memory at a time."""
    total: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for folder in folders:
        if damage := find_damage(folder):
            raise StorageError(f"{folder} cannot be averaged: {damage}. Leave it out with --steps.")
        weights = read_tensors(folder / "model.safetensors")
        if not total:
            total = {name: torch.zeros_like(weight, dtype=torch.float64) for name, weight in weights.items()}
            kinds = {name: weight.dtype for name, weight in weights.items()}
        found, wanted = ({name: tuple(tensor.shape) for name, tensor in some.items()} for some in (weights, total))
        if found != wanted:
            raise StorageError(
                f"{folder} cannot be averaged with {folders[0]}: {first_mismatch(found, wanted)}. "
                "Only checkpoints of one model have a mean."
            )
        for name, weight in weights.items():
            total[name] += weight
    return {name: (tensor / len(folders)).to(kinds[name]) for name, tensor in total.items()}
