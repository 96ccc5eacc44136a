"""Examples side by side in tensors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Batch, Padded, Target
from dragoman.data.chunk import Chunk, Ids, Numbers, gather
from dragoman.data.encoding import flattened
from dragoman.data.sampling import Sampling
from dragoman.data.tokenizers import END, PADDING, START
from dragoman.data.turns import turns_in

Mask = NDArray[np.bool_]


def collate(chunk: Chunk, indices: Numbers, sampling: Sampling | None = None) -> Batch:
    """The batch of these examples of a chunk; 256 pairs of 20 tokens take 0.13 ms: nothing loops over tokens."""
    lines = tuple(chunk.lines[indices].tolist())
    source = rows_of(chunk.source, chunk.source_offsets, indices)
    target = rows_of(chunk.target, chunk.target_offsets, indices)
    if sampling is not None:
        if sampling.stems is not None:
            source, target = with_stems(sampling, lines, source, target)
        source = spelled(sampling, "source", lines, source)
        target = spelled(sampling, "target", lines, target)
    return batch_of(lines, source, target)


def collate_windows(chunk: Chunk, indices: Numbers) -> Batch:
    """The batch of these windows: a symbol is fed behind each, and behind END a text begins anew, with START."""
    flat, lengths = rows_of(chunk.target, chunk.target_offsets, indices)
    before = chunk.source[chunk.source_offsets[indices]]
    steps = np.arange(int(lengths.max(initial=1)))
    mask = steps < lengths[:, None]
    outputs = np.full(mask.shape, PADDING, np.int64)
    outputs[mask] = flat
    inputs = np.concatenate([before[:, None].astype(np.int64), outputs[:, :-1]], 1)
    inputs[inputs == END] = START
    inputs[~mask] = PADDING
    expected = tensors(outputs, mask)
    target = Target(Padded(torch.from_numpy(inputs), expected.mask), expected, torch.from_numpy(np.flatnonzero(mask)))
    return Batch(tuple(chunk.lines[indices].tolist()), {}, target, mask.size - int(np.count_nonzero(mask)))


def rows_of(flat: Ids, offsets: Numbers, indices: Numbers) -> tuple[Ids, Numbers]:
    lengths = offsets[indices + 1] - offsets[indices]
    return gather(flat, offsets[indices], lengths), lengths


def spelled(sampling: Sampling, side: str, lines: tuple[int, ...], rows: tuple[Ids, Numbers]) -> tuple[Ids, Numbers]:
    """The same texts in other symbols."""
    if side not in sampling.samplers:
        return rows
    return flattened([sampling.spelled(side, line, row) for line, row in zip(lines, lists_of(rows), strict=True)])


def with_stems(
    sampling: Sampling, lines: tuple[int, ...], source: tuple[Ids, Numbers], target: tuple[Ids, Numbers]
) -> tuple[tuple[Ids, Numbers], tuple[Ids, Numbers]]:
    """The same pairs, some with made-up stems; lengths stay."""
    rows = zip(lines, lists_of(source), lists_of(target), strict=True)
    sources, targets = zip(*(sampling.with_stem(*row) for row in rows), strict=True)
    return flattened(sources), flattened(targets)


def lists_of(rows: tuple[Ids, Numbers]) -> list[list[int]]:
    flat, ends = rows[0].tolist(), np.cumsum(rows[1]).tolist()
    return [flat[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def collate_sources(rows: Sequence[Sequence[int]]) -> Batch:
    """A batch to predict from: the examples are numbered as they come."""
    return batch_of(tuple(range(len(rows))), flattened(rows), None)


def collate_pairs(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> Batch:
    """A batch to score: the examples are numbered as they come."""
    return batch_of(tuple(range(len(sources))), flattened(sources), flattened(targets))


def batch_of(examples: tuple[int, ...], source: tuple[Ids, Numbers], target: tuple[Ids, Numbers] | None) -> Batch:
    values, mask = padded(*source)
    sources = {"source": replace(tensors(values, mask), turns=turns_in(values, mask))}
    missing = mask.size - int(np.count_nonzero(mask))
    if target is None:
        return Batch(examples, sources, padding=missing)
    outputs, real = padded(*target)
    missing += real.size - int(np.count_nonzero(real))
    return Batch(examples, sources, target_of(outputs, real), missing)


def target_of(outputs: Numbers, mask: Mask) -> Target:
    """What the decoder is fed is what is expected of it, one step later, behind START."""
    inputs = np.full_like(outputs, START)
    inputs[:, 1:] = outputs[:, :-1]
    inputs[~mask] = PADDING
    real = torch.from_numpy(np.flatnonzero(mask))
    expected = tensors(outputs, mask)
    return Target(Padded(torch.from_numpy(inputs), expected.mask), expected, real)


def padded(flat: Ids, lengths: Numbers) -> tuple[Numbers, Mask]:
    """Rows with END behind their last token and padding behind that, and which positions are real."""
    steps = np.arange(int(lengths.max(initial=0)) + 1)
    values = np.full((len(lengths), len(steps)), PADDING, np.int64)
    values[steps < lengths[:, None]] = flat
    values[np.arange(len(lengths)), lengths] = END
    return values, steps <= lengths[:, None]


def tensors(values: Ids, mask: Mask) -> Padded:
    return Padded(torch.from_numpy(values), torch.from_numpy(mask))
