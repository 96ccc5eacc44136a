"""Spans that tags mark: B-person I-person O."""

from collections.abc import Sequence

import numpy

from dragoman.metrics.classes import Labels, check, signature
from dragoman.metrics.measured import Counts

Span = tuple[str, int, int]  # kind, first word, word behind the last


def span_f1(found: Labels, true: Labels) -> Counts:
    """F1 of whole spans, 2 right / (said + true): kind, begin and end must be right (Tjong Kim Sang and De Meulder
    2003); intervals are over sentences."""
    check(found, true)
    items = []
    for one, other in zip(found, true, strict=True):
        said, wanted = spans_in(one), spans_in(other)
        items.append((len(said & wanted), len(said), len(wanted)))
    return Counts(
        numpy.array(items, numpy.float64),
        lambda sums: 200 * sums[:, 0] / numpy.maximum(sums[:, 1] + sums[:, 2], 1),
        signature,
    )


def spans_in(tags: Sequence[str]) -> set[Span]:
    """B and S begin a span, E and S end it; an I begins one too where none of its kind goes on (as conlleval does)."""
    spans: set[Span] = set()
    kind, start, mark = "", 0, "O"
    for place, tag in enumerate([*tags, "O"]):
        now, _, now_kind = tag.partition("-")
        goes_on = now in ("I", "E") and mark in ("B", "I") and now_kind == kind
        if not goes_on:
            if mark != "O":
                spans.add((kind, start, place))
            kind, start = now_kind, place
        mark = now if now in ("B", "I", "E", "S") else "O"
    return spans
