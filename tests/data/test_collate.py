"""Collating, against the same thing written with loops."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from dragoman.contracts import Batch
from dragoman.data.chunk import Chunk, offsets
from dragoman.data.collate import collate, collate_pairs, collate_sources
from dragoman.data.tokenizers import END, PADDING, START

Rows = list[list[int]]
rows = st.lists(st.integers(4, 9), max_size=5)
pairs = st.lists(st.tuples(rows, rows), min_size=1, max_size=6)


def chunk_of(sources: Rows, targets: Rows) -> Chunk:
    flat = [np.array([token for row in side for token in row], np.uint16) for side in (sources, targets)]
    ends = [offsets(np.array([len(row) for row in side], np.int64)) for side in (sources, targets)]
    return Chunk(flat[0], ends[0], flat[1], ends[1], np.arange(len(sources), dtype=np.int64) + 100)


def filled(side: Rows) -> Rows:
    width = max(len(row) for row in side)
    return [row + [PADDING] * (width - len(row)) for row in side]


def real(side: Rows) -> list[list[bool]]:
    width = max(len(row) for row in side)
    return [[step < len(row) for step in range(width)] for row in side]


def same(batch: Batch, sources: Rows, targets: Rows) -> None:
    source, target = batch.sources["source"], batch.target
    ended = [[*row, END] for row in sources]
    assert source.values.tolist() == filled(ended)
    assert source.mask.tolist() == real(ended)
    assert target is not None
    inputs, outputs = [[START, *row] for row in targets], [[*row, END] for row in targets]
    assert target.inputs.values.tolist() == filled(inputs)
    assert target.outputs.values.tolist() == filled(outputs)
    assert target.inputs.mask.tolist() == target.outputs.mask.tolist() == real(outputs)
    flat = [token for row in outputs for token in row]
    assert target.outputs.values.flatten()[target.real].tolist() == flat
    assert batch.padding == sum(row.count(False) for side in (real(ended), real(outputs)) for row in side)


def test_a_batch_by_hand() -> None:
    batch = collate_pairs([[5, 6], [7]], [[8], []])
    assert batch.sources["source"].values.tolist() == [[5, 6, END], [7, END, PADDING]]
    assert batch.target is not None
    assert batch.target.inputs.values.tolist() == [[START, 8], [START, PADDING]]
    assert batch.target.outputs.values.tolist() == [[8, END], [END, PADDING]]
    assert batch.target.real.tolist() == [0, 1, 2]
    assert (batch.padding, batch.target_tokens, batch.examples) == (2, 3, (0, 1))


@given(pairs, st.data())
def test_examples_of_a_chunk(examples: list[tuple[list[int], list[int]]], data: st.DataObject) -> None:
    sources, targets = [source for source, _ in examples], [target for _, target in examples]
    chosen = data.draw(st.lists(st.integers(0, len(examples) - 1), min_size=1, max_size=8))
    batch = collate(chunk_of(sources, targets), np.array(chosen, np.int64))
    same(batch, [sources[i] for i in chosen], [targets[i] for i in chosen])
    assert batch.examples == tuple(100 + i for i in chosen)


@given(pairs)
def test_pairs_to_score(examples: list[tuple[list[int], list[int]]]) -> None:
    sources, targets = [source for source, _ in examples], [target for _, target in examples]
    same(collate_pairs(sources, targets), sources, targets)


def test_sources_to_predict_from() -> None:
    batch = collate_sources([[4], [], [5, 6, 7]])
    assert batch.target is None
    assert batch.examples == (0, 1, 2)
    assert batch.sources["source"].values.tolist() == filled([[4, END], [END], [5, 6, 7, END]])
    assert batch.sources["source"].values.dtype == torch.int64
    assert batch.padding == 5
