"""The nearest lines: the same as comparing with all at once, whatever the blocks."""

from pathlib import Path

import numpy as np
import pytest

from dragoman import similarity
from dragoman.pipeline.vectors import Vector
from dragoman.similarity import Lines, greatest


def test_the_greatest_of_a_row_and_of_equals_the_first() -> None:
    values = np.array([[1, 3, 2, 3, 3], [5, 4, 3, 2, 1], [0, 0, 0, 0, 0]], np.float32)
    assert greatest(values, 2).tolist() == [[1, 3], [0, 1], [0, 1]]
    assert greatest(values, 9).tolist() == [[1, 3, 4, 2, 0], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]


@pytest.mark.parametrize("block", [1, 3, 7, 100])
def test_blocks_find_what_a_whole_comparison_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(similarity, "BLOCK", block)
    draw = np.random.default_rng(2)
    vectors = draw.integers(-2, 3, (20, 3)).astype(np.float32)  # many are equal
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = (vectors / np.where(lengths, lengths, 1)).astype(np.float32)
    texts = [f"line {'é' * (number % 4)}" for number in range(20)]
    lines = Lines.spool(tmp_path, (Vector(*one) for one in zip(texts, vectors, strict=True)), 3)
    assert [lines.text(number) for number in range(20)] == texts
    queries = vectors[[1, 4]]
    for query, found in zip(queries, lines.nearest(queries, 6), strict=True):
        cosines = np.where(vectors.any(1), vectors @ query, -np.inf)
        order = sorted(range(20), key=lambda place: (-cosines[place], place))[:6]
        assert [(one.line - 1, one.text) for one in found] == [(place, texts[place]) for place in order]
        assert [one.cosine for one in found] == pytest.approx(cosines[order].tolist(), abs=1e-6)
