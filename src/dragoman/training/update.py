"""One update of the weights: micro-batches, one division, a finite gradient or none at all."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from dragoman.contracts import Batch, Loss, Streams
from dragoman.data.captions import collate_captions
from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.collate import collate, collate_windows
from dragoman.data.gallery import Gallery
from dragoman.data.labelled import LABELLED, collate_labelled
from dragoman.data.masking import Masking, collate_passages
from dragoman.data.sampling import Sampling
from dragoman.data.store import Layout
from dragoman.data.track_store import Turning, collate_tracks
from dragoman.devices import free_cached_memory, is_out_of_memory, seed_draws
from dragoman.errors import OutOfMemoryError
from dragoman.seeds import key
from dragoman.training.learner import Learner
from dragoman.training.optimisers import LazyAdam, rows_in, values_of

TOLD = "loss"  # the sum of all losses but the auxiliary ones, which is what a training tells


@dataclass(frozen=True)
class Draw:
    """Examples of one batch, not yet side by side, so that a batch too large for the memory can be cut."""

    chunk: Chunk
    indices: Numbers
    place: Callable[[int], str] = "line {} of the training data".format  # of an example, from its line
    sampling: Sampling | Masking | Turning | None = None
    layout: Layout = "pairs"
    begins: bool = True  # of streams: nothing was carried yet
    gallery: Gallery | None = None  # of pictures

    def batches(self, parts: int) -> Iterator[Batch]:
        first = 0
        for piece in np.array_split(self.indices, min(parts, len(self.indices))):
            if self.layout == "tracks":
                assert isinstance(self.sampling, Turning)  # noqa: S101
                yield collate_tracks(self.chunk, piece, self.sampling)
                continue
            if self.layout == "passages":
                assert not isinstance(self.sampling, Sampling | Turning)  # noqa: S101
                yield collate_passages(self.chunk, piece, self.sampling)
                continue
            if self.layout == "pairs":
                assert not isinstance(self.sampling, Masking | Turning)  # noqa: S101
                yield collate(self.chunk, piece, self.sampling)
                continue
            if self.layout == "captions":
                yield collate_captions(self.chunk, piece, self.gallery)
                continue
            if self.layout in LABELLED:
                yield collate_labelled(self.chunk, piece, self.layout, self.gallery)
                continue
            streams = Streams(first, self.begins) if self.layout == "streams" else None
            yield replace(collate_windows(self.chunk, piece), streams=streams)
            first += len(piece)


@dataclass(frozen=True)
class Updated:
    """What an update did. `loss` is the mean over tokens; `others` are auxiliary losses, no part of
    it, and the losses that it is the sum of, where they are told by name."""

    loss: float
    gradient_norm: float
    target_tokens: int
    examples: tuple[int, ...]
    finite: bool
    parts: int
    others: Mapping[str, float]


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
    means, norm, batches, parts = gradients(learner, draws, seed, step, clip, parts, device)
    loss = means.pop(TOLD)
    finite = bool(np.isfinite(loss) and np.isfinite(norm))
    if finite:
        apply(optimiser, device)
    else:
        learner.carry = {}
    optimiser.zero_grad(set_to_none=True)
    tokens = sum(batch.target_tokens for batch in batches)
    examples = tuple(line for batch in batches for line in batch.examples)
    return Updated(loss, norm, tokens, examples, finite, parts, means)


def gradients(
    learner: Learner, draws: Sequence[Draw], seed: int, step: int, clip: float, parts: int, device: torch.device
) -> tuple[dict[str, float], float, list[Batch], int]:
    """Clipped gradients of all draws, in as many parts as the memory needs: losses, norm before, batches, parts."""
    carry = learner.carry
    while True:
        try:
            means, batches = accumulate(learner, draws, seed, step, parts, device)
            return means, clipped(learner.weights, clip), batches, parts
        except (RuntimeError, MemoryError) as error:
            learner.zero_grad(set_to_none=True)
            learner.carry = carry
            if not is_out_of_memory(error):
                raise
            parts = smaller(draws, parts)
            free_cached_memory(device)


def clipped(weights: Sequence[nn.Parameter], clip: float) -> float:
    """The norm of all gradients, which are made shorter where it is above `clip`; a `clip` of 0 is none."""
    for weight in rows_in(weights):  # several gradients of one row are one before they are measured
        weight.grad = weight.grad.coalesce()  # type: ignore[union-attr]
    gradients = [values_of(weight.grad) for weight in weights if weight.grad is not None]
    norm = nn.utils.get_total_norm(gradients)
    if clip and not float(norm) < 0.999 * clip:
        torch._foreach_mul_(gradients, torch.clamp(clip / (norm + 1e-6), max=1.0))
    return float(norm)


def apply(optimiser: torch.optim.Optimizer, device: torch.device) -> None:
    """Move the weights. The first step allocates the moments: if memory ends there, the weights are put back, and it is
    tried once more; later steps allocate nothing, and one that fails must not be repeated on half of the weights."""
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    if not isinstance(optimiser, LazyAdam):
        for weight in rows_in(weights):
            weight.grad = weight.grad.to_dense()  # type: ignore[union-attr]
    allocates = not optimiser.state and not all(group.get("momentum") == 0 for group in optimiser.param_groups)
    before = [weight.detach().clone() for weight in weights] if allocates else None
    for last in (False, True):
        try:
            optimiser.step()
            return
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            if before is None or last:
                raise OutOfMemoryError(
                    f"Memory ended in the optimiser's step, which keeps moments of {sum(map(torch.numel, weights)):,} "
                    "weights. Free some memory and run the same command to go on from the last checkpoint, or train a "
                    "smaller model."
                ) from error
            optimiser.state.clear()
            torch._foreach_copy_([weight.detach() for weight in weights], before)
            free_cached_memory(device)


def accumulate(
    learner: Learner, draws: Sequence[Draw], seed: int, step: int, parts: int, device: torch.device
) -> tuple[dict[str, float], list[Batch]]:
    """Gradients of all losses of all micro-batches, each divided once by its count over all of them; their
    means over what validation divides by too: tokens, whatever it was here; or the numbers that are known."""
    batches = [batch for draw in draws for batch in draw.batches(parts)]
    counts: dict[str, int] = {}
    for batch in batches:
        for name, count in learner.objective.count(batch).items():
            counts[name] = counts.get(name, 0) + count
    means, tokens = {TOLD: 0.0}, max(1, sum(batch.target_tokens for batch in batches))
    for number, batch in enumerate(batches):
        # Dropout is keyed by the step, so that nothing that happened before can shift it.
        seed_draws(key(seed, "dropout", step, number), device)
        losses = learner(batch.to(device), step)
        divided = {name: loss.total / max(1, counts[name]) for name, loss in losses.items()}
        torch.stack(list(divided.values())).sum().backward()  # type: ignore[no-untyped-call]
        for name, loss in losses.items():
            own = loss.by_name or loss.of_numbers
            mean = float(loss.total.detach()) / (max(1, counts[name]) if own else tokens)
            for shown in shown_as(name, loss):
                means[shown] = means.get(shown, 0.0) + mean
    return means, batches


def shown_as(name: str, loss: Loss) -> tuple[str, ...]:
    """What a loss is a part of when it is told."""
    if loss.by_name:
        return TOLD, name
    return (name,) if loss.auxiliary else (TOLD,)


def smaller(draws: Sequence[Draw], parts: int) -> int:
    """Twice as many pieces; a single example that does not fit is named."""
    if parts >= max(len(draw.indices) for draw in draws):
        tokens, place = max(longest_of(draw) for draw in draws)
        raise OutOfMemoryError(
            f"Memory is too small for a single example: {place}, with {tokens} tokens. "
            "Lower data.max_source_length, data.max_target_length or the model's width."
        )
    return parts * 2


def longest_of(draw: Draw) -> tuple[int, str]:
    """Tokens and place of the longest example, source and target counted."""
    lengths = draw.chunk.source_lengths[draw.indices] + draw.chunk.target_lengths[draw.indices]
    return int(lengths.max()), draw.place(int(draw.chunk.lines[draw.indices[lengths.argmax()]]))
