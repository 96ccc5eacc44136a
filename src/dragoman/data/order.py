"""Which examples are learned from together, and when: a function of seed and epoch, never a state to replay."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import PositiveInt

from dragoman.config import Config
from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.permutation import permutation
from dragoman.data.store import Store, Weights
from dragoman.seeds import key


class Batching(Config):
    """How many examples make a batch."""

    tokens: PositiveInt = 4096
    """tokens of a batch at most, its padding and end symbols counted"""
    counts: Literal["longer", "both"] = "longer"
    """which tokens count: longer: sentences times the longest of either side; both: times the sum of the longest source
    and the longest target, which is what is computed where dialogue histories are much longer than turns"""
    sentences: PositiveInt | None = None
    """sentences of a batch at most; of a language model: windows, or streams where its state is carried"""
    lengths: Literal["similar", "mixed", "neighbors"] = "similar"
    """similar: a batch has examples of about the same length, and hardly any padding (Sutskever et al. 2014); mixed: of
    any length, which costs padding, and lets no update see one length only; neighbors: that stand side by side in the
    file, such as the turns of a conversation, each of which a hierarchical encoder then reads once for all histories"""


@dataclass(frozen=True, order=True)
class Position:
    """The next batch to learn from: chunks are counted over all epochs, batches within a chunk."""

    chunk: int = 0
    batch: int = 0


def plan(
    source_lengths: Numbers,
    target_lengths: Numbers,
    batching: Batching,
    seed: int,
    epoch: int,
    chunk_number: int,
    weights: Weights | None = None,
    lines: Numbers | None = None,
) -> list[Numbers]:
    """The batches of one chunk, each the numbers of examples, by default of about the same length. `lines` are those of
    the files, by which neighbors are known."""
    purpose = (seed, "order", epoch, chunk_number)
    if weights is None:
        shuffled = permutation(len(source_lengths), *purpose)
    else:
        repeated = np.repeat(np.arange(len(weights)), times_of(weights, seed, epoch, chunk_number))
        shuffled = repeated[permutation(len(repeated), *purpose)]
    source, target = source_lengths[shuffled], target_lengths[shuffled]
    ordered = np.arange(len(source))
    if batching.lengths == "similar":
        ordered = np.lexsort((source, target))  # stable, so equals stay shuffled
    elif batching.lengths == "neighbors" and lines is not None:
        ordered = np.argsort(lines[shuffled], kind="stable")
    widths = (source, target) if batching.counts == "both" else (np.maximum(source, target),)
    ends = cuts(np.stack(widths, 1)[ordered] + 1, batching)
    batches = np.split(shuffled[ordered], ends)
    return [batches[number] for number in permutation(len(batches), *purpose, "batches")]


def batches_of(
    store: Store, chunk: Chunk, batching: Batching, seed: int, epoch: int, chunk_number: int
) -> list[Numbers]:
    """The batches of one chunk, as its store is to be learned."""
    if store.layout == "streams":
        return streams(chunk.size, int(chunk.target_lengths.max(initial=1)), batching)
    weights = store.weights_of(chunk.lines) if store.weights else None
    return plan(chunk.source_lengths, chunk.target_lengths, batching, seed, epoch, chunk_number, weights, chunk.lines)


def streams(size: int, longest: int, batching: Batching) -> list[Numbers]:
    """Windows in their order, cut into as many streams as a batch has rows: batch t has the t-th window of each. The
    first streams may be one window longer, so that rows keep their places to the end."""
    rows = min(size, batching.sentences or size, max(1, batching.tokens // longest))
    parts = np.array_split(np.arange(size), rows)
    return [np.array([part[step] for part in parts if step < len(part)]) for step in range(len(parts[0]))]


def times_of(weights: Weights, seed: int, epoch: int, chunk_number: int) -> Numbers:
    """How often an epoch has each example of a chunk: 2.5 is twice, and once more in a half that each epoch chooses."""
    raw = np.random.Philox(key=key(seed, "weights", epoch, chunk_number)).random_raw(len(weights))
    draws = (raw >> np.uint64(11)) / 2.0**53
    times = (np.floor(weights) + (draws < weights % 1)).astype(np.int64)
    if not times.any():
        times[np.argmin(draws)] = 1  # no chunk is without a batch
    return times


def cuts(widths: Numbers, batching: Batching) -> list[int]:
    """Where to cut so that each batch, once padded, stays within the budget; a longer example is alone. `widths` has a
    row for each example, with one number or one for each side."""
    found: list[int] = []
    most = batching.sentences or len(widths)
    start, longest = 0, (0,) * widths.shape[1]
    for number, width in enumerate(map(tuple, widths.tolist())):
        longest = tuple(map(max, longest, width))
        size = number - start + 1
        if size > 1 and (size > most or size * sum(longest) > batching.tokens):
            found.append(number)
            start, longest = number, width
    return found


def walk(store: Store, batching: Batching, seed: int, position: Position) -> Iterator[tuple[Position, Chunk, Numbers]]:
    """Batches from a position on, without end, each with the position of the one after it, which checkpoints store."""
    while True:
        epoch, turn = divmod(position.chunk, store.chunks)
        number = int(permutation(store.chunks, seed, "chunks", epoch)[turn])
        chunk = store.chunk(number)
        batches = batches_of(store, chunk, batching, seed, epoch, number)
        following = Position(position.chunk + 1)
        for batch in range(position.batch, len(batches)):
            last = batch + 1 == len(batches)
            yield (following if last else Position(position.chunk, batch + 1)), chunk, batches[batch]
        position = following


def epoch_of(position: Position, store: Store) -> int:
    """The epoch that a batch belongs to, from 0."""
    return position.chunk // store.chunks
