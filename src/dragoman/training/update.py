"""One update of the weights: micro-batches, one division, a finite gradient or none at all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.collate import collate
from dragoman.data.sampling import Sampling
from dragoman.devices import free_cached_memory, is_out_of_memory
from dragoman.errors import OutOfMemoryError
from dragoman.seeds import key
from dragoman.training.learner import Learner


@dataclass(frozen=True)
class Draw:
    """Examples of one batch, not yet side by side, so that a batch too large for the memory can be cut."""

    chunk: Chunk
    indices: Numbers
    place: Callable[[int], str] = "line {} of the training data".format  # of an example, from its line
    sampling: Sampling | None = None

    def batches(self, parts: int) -> Iterator[Batch]:
        for piece in np.array_split(self.indices, min(parts, len(self.indices))):
            yield collate(self.chunk, piece, self.sampling)


@dataclass(frozen=True)
class Updated:
    """What an update did. `loss` is the mean over tokens."""

    loss: float
    gradient_norm: float
    target_tokens: int
    examples: tuple[int, ...]
    finite: bool
    parts: int


def update(
    learner: Learner,
    optimiser: torch.optim.Optimizer,
    draws: Sequence[Draw],
    *,
    seed: int,
    step: int,
    clip: float,
    parts: int,
    device: torch.device,
) -> Updated:
    """Take a step along the gradient of the mean loss over all draws; where it is not finite, leave no trace."""
    while True:
        try:
            loss, batches = accumulate(learner, draws, seed, step, parts, device)
            break
        except (RuntimeError, MemoryError) as error:
            optimiser.zero_grad(set_to_none=True)
            if not is_out_of_memory(error):
                raise
            parts = smaller(draws, parts)
            free_cached_memory(device)
    norm = float(nn.utils.clip_grad_norm_(learner.parameters(), clip or float("inf")))
    finite = bool(np.isfinite(loss) and np.isfinite(norm))
    if finite:
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    tokens = sum(batch.target_tokens for batch in batches)
    examples = tuple(line for batch in batches for line in batch.examples)
    return Updated(loss, norm, tokens, examples, finite, parts)


def accumulate(
    learner: Learner, draws: Sequence[Draw], seed: int, step: int, parts: int, device: torch.device
) -> tuple[float, list[Batch]]:
    """Gradients of the loss of all micro-batches, each loss divided once by its count over all of them."""
    batches = [batch for draw in draws for batch in draw.batches(parts)]
    counts: dict[str, int] = {}
    for batch in batches:
        for name, count in learner.objective.count(batch).items():
            counts[name] = counts.get(name, 0) + count
    mean = 0.0
    for number, batch in enumerate(batches):
        # Dropout is keyed by the step, so that nothing that happened before can shift it.
        torch.manual_seed(key(seed, "dropout", step, number))
        losses = learner(batch.to(device))
        loss = torch.stack([loss.total / max(1, counts[name]) for name, loss in losses.items()]).sum()
        loss.backward()  # type: ignore[no-untyped-call]
        mean += float(loss.detach())
    return mean, batches


def smaller(draws: Sequence[Draw], parts: int) -> int:
    """Twice as many pieces; a single example that does not fit is named."""
    largest = max(draws, key=lambda draw: len(draw.indices))
    if parts >= len(largest.indices):
        lengths = largest.chunk.source_lengths[largest.indices] + largest.chunk.target_lengths[largest.indices]
        place = largest.place(int(largest.chunk.lines[largest.indices[lengths.argmax()]]))
        raise OutOfMemoryError(
            f"Memory is too small for a single example: {place}, with {lengths.max()} tokens. "
            "Lower data.max_source_length, data.max_target_length or the model's width."
        )
    return parts * 2


def first_bad_module(learner: Learner, draws: Sequence[Draw], seed: int, step: int, device: torch.device) -> str:
    """The first part whose output is not finite, found by running the batch again with hooks."""
    found: list[str] = []

    def watch(name: str, module: nn.Module) -> torch.utils.hooks.RemovableHandle:
        def look(_module: nn.Module, _inputs: object, output: object) -> None:
            if isinstance(output, torch.Tensor) and not bool(torch.isfinite(output).all()):
                found.append(name)

        return module.register_forward_hook(look)

    handles = [watch(name, module) for name, module in learner.named_modules() if name]
    try:
        with torch.no_grad():
            torch.manual_seed(key(seed, "dropout", step, 0))
            learner(next(draws[0].batches(1)).to(device))
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else "the loss or its gradient"
