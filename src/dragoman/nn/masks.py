"""Which positions are real and which may be seen; True means yes. Padding stands on the right."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def last_real(values: Float[Tensor, "B S D"], mask: Bool[Tensor, "B S"]) -> Float[Tensor, "B D"]:
    """Each row's last real step; zeros for a row that is all padding."""
    lengths = mask.sum(1)
    positions = (lengths - 1).clamp(min=0)[:, None, None].expand(-1, 1, values.shape[2])
    return values.gather(1, positions).squeeze(1) * (lengths > 0)[:, None]


def real_keys(mask: Bool[Tensor, "B S"]) -> Bool[Tensor, "B 1 1 S"] | None:
    """For attention of all heads to all queries: a row sees its real positions; None where everything is real.

    A row without any real position sees its first one, so that no softmax is over nothing; nobody reads such a row.
    """
    if all_real(mask):
        return None
    first = torch.arange(mask.shape[1], device=mask.device) == 0
    return (mask | (first & ~mask.any(1, keepdim=True)))[:, None, None]


def all_real(mask: Bool[Tensor, "B S"]) -> bool:
    """Whether there is no padding, where it costs nothing to know: not on another device, and not in an export, whose
    graph must do for every mask."""
    return mask.device.type == "cpu" and not torch.compiler.is_exporting() and bool(mask.all())


def causal(length: int, device: torch.device) -> Bool[Tensor, "L L"]:
    """Each position sees itself and what stands before it."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def within_reach(length: int, reach: int, device: torch.device) -> Bool[Tensor, "L L"]:
    """Each position sees itself and the `reach` − 1 that stand before it (Beltagy et al. 2020, 3.1)."""
    return causal(length, device).triu(1 - reach)


def along_paths(
    path: Int[Tensor, "N t"], length: int, sentences: int, slots: int, like: Tensor, reach: int | None = None
) -> Float[Tensor, "B 1 Q slots"]:
    """What the last `length` symbols of each of N rows see of their sentence's slots: those on the row's own path, up
    to themselves, and of these the last `reach` if that is a number. Q = N / B · length queries of a sentence, row by
    row; to be added to scores."""
    rows, steps = path.shape
    if length == 1:
        lowest, near = torch.finfo(like.dtype).min, path if reach is None else path[:, -reach:]
        seen = torch.full((rows, slots), lowest, dtype=like.dtype, device=path.device).scatter_(1, near, 0.0)
        return seen.view(sentences, 1, -1, slots)
    if reach is not None:
        seen_of_path = within_reach(steps, reach, path.device)[steps - length :].expand(rows, -1, -1)
        marked = torch.zeros(rows, length, slots, dtype=torch.bool, device=path.device)
        marked.scatter_(2, path[:, None].expand(-1, length, -1), seen_of_path)
        return as_scores(marked.view(sentences, 1, rows // sentences * length, slots), like)
    marked = torch.zeros(rows, length, slots, dtype=torch.bool, device=path.device)
    earlier, new = path[:, : steps - length], path[:, steps - length :]
    marked.scatter_(2, earlier[:, None].expand(-1, length, -1), True)
    order = causal(length, path.device).expand(rows, -1, -1)
    marked.scatter_(2, new[:, None].expand(-1, length, -1), order)
    return as_scores(marked.view(sentences, 1, rows // sentences * length, slots), like)


def as_scores(mask: Bool[Tensor, "B 1 Q S"], like: Tensor) -> Float[Tensor, "B 1 Q S"]:
    """To be added to scores: 0 where something may be seen, elsewhere the lowest number, beside which no score matters.
    Torch would make it anew in every layer."""
    lowest = torch.finfo(like.dtype).min
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill_(~mask, lowest)
