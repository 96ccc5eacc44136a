"""Vectors of texts as points in the plane: the two directions in which they differ most."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dragoman.inspection.report.page import Html, document, element, number, percent, section, whole
from dragoman.inspection.report.planes import Dot, dot_legend, scatter
from dragoman.inspection.report.series import palette_style
from dragoman.pipeline import Pipeline
from dragoman.seeds import key

STYLE = Path(__file__).with_name("style.css")

GROUPS = 12  # that are told apart; the others are one
OTHERS = "others"
STEPS = 5  # of numbers, in groups of equal count
MAPPED = 600  # points: more cover one another


@dataclass(frozen=True)
class VectorMap:
    """Points, their groups and how much of the vectors' variance the two directions hold."""

    dots: tuple[Dot, ...]
    groups: tuple[str, ...]  # what they are called; none: all are alike
    kind: str  # c: colours and shapes; q: steps between two colours
    shares: tuple[float, float]
    width: int  # numbers of a vector
    pool: str


def principal_plane(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """X − mean = U S Vᵀ; points are the first two columns of U S, the principal components (Pearson 1901), and each has
    a share S_i² / Σ S² of the variance. Signs are chosen so that the largest element of a direction is positive."""
    centred = vectors.astype(np.float64) - vectors.mean(0, dtype=np.float64)
    left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).argmax(1)])
    points = np.zeros((len(vectors), 2))
    kept = min(2, len(sizes))
    points[:, :kept] = (left * (sizes * signs))[:, :kept]
    shares = [*(sizes**2 / max(float((sizes**2).sum()), 1e-30)).tolist(), 0.0, 0.0]
    return points, (shares[0], shares[1])


def map_labels(
    vectors: NDArray[np.float32], texts: Sequence[str], labels: Sequence[str], wrong: Sequence[bool], pool: str
) -> VectorMap:
    """Coloured by label, the most frequent ones; what was said wrongly has a ring."""
    frequent = [label for label, _ in Counter(labels).most_common()]
    kept = frequent if len(frequent) <= GROUPS else [*frequent[: GROUPS - 1], OTHERS]
    groups = sorted(kept, key=lambda name: (name == OTHERS, name))
    numbers = {name: place for place, name in enumerate(groups)}
    points, shares = principal_plane(vectors)
    dots = [
        Dot(x, y, numbers.get(label, len(groups) - 1), f"{label}: {text}" if label else text, ringed)
        for (x, y), text, label, ringed in zip(points.tolist(), texts, labels, wrong, strict=True)
    ]
    return VectorMap(tuple(dots), tuple(groups), "c", shares, vectors.shape[1], pool)


def map_numbers(vectors: NDArray[np.float32], texts: Sequence[str], values: Sequence[float], pool: str) -> VectorMap:
    """Coloured by the number, from low to high."""
    cuts = np.quantile(values, np.linspace(0, 1, STEPS + 1))
    steps = np.clip(np.searchsorted(cuts[1:-1], values, side="right"), 0, STEPS - 1)
    names = tuple(f"{number(low, 3)} to {number(high, 3)}" for low, high in pairwise(cuts.tolist()))
    points, shares = principal_plane(vectors)
    dots = [
        Dot(x, y, step, f"{number(value)}: {text}")
        for (x, y), text, value, step in zip(points.tolist(), texts, values, steps.tolist(), strict=True)
    ]
    return VectorMap(tuple(dots), names, "q", shares, vectors.shape[1], pool)


def vector_figure(found: VectorMap) -> Html:
    title = f"{whole(len(found.dots))} texts as points in the plane"
    first, second = (f"component {n}, {percent(share, 1)}" for n, share in zip((1, 2), found.shares, strict=True))
    groups = f" Groups: {', '.join(found.groups)}." if len(found.groups) > 1 else ""
    drawn = scatter(title, f"{title}.{groups}", found.dots, (first, second), kind=found.kind)
    parts = [dot_legend(found.groups, found.kind)] if len(found.groups) > 1 else []
    return element("figure", *parts, drawn)


def vector_how(found: VectorMap, coloured: str) -> str:
    """How to read the map."""
    kept = percent(sum(found.shares), 1)
    return (
        f"Each point is a text: its vector of {whole(found.width)} numbers (pool {found.pool}), drawn along the two "
        f"directions in which the vectors differ most (principal components, by singular value decomposition), which "
        f"hold {kept} of their variance. What lies together here may lie apart in the other directions.{coloured} A "
        "point says its text where the mouse rests on it."
    )


def vectors_section(found: VectorMap, coloured: str) -> Html:
    return section("vectors", "The texts as the model sees them", vector_how(found, coloured), vector_figure(found))


def sampled(lines: Iterator[str], most: int) -> tuple[list[str], int]:
    """So many lines of a stream, drawn by their numbers alone and kept in their order, and how many there were: those
    whose keys are least, so that no more than them is in memory."""
    kept: list[tuple[int, int, str]] = []
    total = 0
    for total, line in enumerate(lines, start=1):
        place = (-key("map", total), total, line)
        if len(kept) < most:
            heappush(kept, place)
        elif place > kept[0]:
            heapreplace(kept, place)
    return [line for _, _, line in sorted(kept, key=lambda one: one[1])], total


def map_texts(pipeline: Pipeline, texts: list[str], pool: str | None = None, normalise: bool = False) -> VectorMap:
    """Texts of which nothing is known but what the model says of them."""
    embedder, vectors = pipeline.embedder(pool, normalise), pipeline.embed(texts, pool, normalise)
    what = "" if pipeline.labels is None else pipeline.labels.what
    if what == "numbers":
        said = [answer.score for answer in pipeline.predict(texts, longer="cut")]
        return map_numbers(vectors, texts, said, embedder.pool)
    labels = (
        [answer.text for answer in pipeline.predict(texts, longer="cut")] if what == "labels" else [""] * len(texts)
    )
    return map_labels(vectors, texts, labels, [False] * len(texts), embedder.pool)


def standalone(found: VectorMap, title: str) -> str:
    """A document of its own."""
    coloured = " Colour is what the model says of a text." if len(found.groups) > 1 else ""
    body = element("main", element("h1", element("bdi", title)), vectors_section(found, coloured))
    return document(f"{title} · dragoman embed", STYLE.read_text("utf-8") + palette_style(), body)
