"""How probable given targets are."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from dragoman.data.tokenizers import END
from dragoman.pipeline.constraints import NO_CONSTRAINTS
from dragoman.pipeline.pictures import HELD, read_pictures, tagged
from dragoman.pipeline.rows import BATCH_TOKENS, WINDOW, Row, batched
from dragoman.pipeline.teaching import Scored

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline


def scores_of(pipeline: "Pipeline", pairs: Iterable[tuple[Any, str]]) -> Iterator[Scored]:
    """The log-probability of each target, token by token, in the order of the pairs."""
    stream = iter(pairs)
    size = WINDOW if pipeline.grid is None else max(1, HELD // pipeline.grid.bytes)
    while window := list(islice(stream, min(WINDOW, size))):
        rows, targets, tags = rows_of(pipeline, window)
        lengths = [max(len(row.tokens), len(target)) for row, target in zip(rows, targets, strict=True)]
        found: dict[int, Scored] = {}
        for numbers in batched(sorted(range(len(window)), key=lengths.__getitem__), lengths, BATCH_TOKENS):
            logs = log_probabilities(pipeline, [rows[n] for n in numbers], [targets[n] for n in numbers])
            found |= {n: as_scored(pipeline, targets[n], row, tags[n]) for n, row in zip(numbers, logs, strict=True)}
        yield from (found[number] for number in range(len(window)))


def rows_of(pipeline: "Pipeline", pairs: Sequence[tuple[Any, str]]) -> tuple[list[Row], list[list[int]], list[int]]:
    """What is read, the symbols of what is scored, and how many of them are given: a caption stands behind its tag."""
    if pipeline.grid is None:
        sources = pipeline.source.encode([source for source, _ in pairs])
        rows = [Row(row, source, n) for n, (row, (source, _)) in enumerate(zip(sources, pairs, strict=True))]
        return rows, pipeline.target.encode([target for _, target in pairs]), [0] * len(pairs)
    read = read_pictures([source for source, _ in pairs], pipeline.grid)
    rows = [Row(one.rows[0], one.texts[0], n, picture=one.pictures[0]) for n, one in enumerate(read)]
    begun = tagged(pipeline, [source for source, _ in pairs], [NO_CONSTRAINTS] * len(pairs), "")
    texts = [f"{one.prefix} {target}".strip() for one, (_, target) in zip(begun, pairs, strict=True)]
    tags = [len(pipeline.written.prefix(one)) if one.prefix else 0 for one in begun]
    return rows, pipeline.target.encode(texts), tags


def log_probabilities(pipeline: "Pipeline", rows: Sequence[Row], targets: Sequence[list[int]]) -> list[list[float]]:
    """Log-probabilities of every symbol of each target, END counted, by whoever answers."""
    if pipeline.engine is not None and pipeline.engine.always:
        return pipeline.engine.engine.score([row.tokens for row in rows], targets)
    found: list[list[float]] = pipeline.log_probabilities(pipeline.batch_of(rows, targets)).tolist()
    return found


def as_scored(pipeline: "Pipeline", target: list[int], values: list[float], given: int) -> Scored:
    """Without the symbols of a tag, which is given and not said."""
    symbols = pipeline.target.symbols([*target, END])
    real = tuple(values[given : len(symbols)])
    return Scored(sum(real), symbols[given:], real)
