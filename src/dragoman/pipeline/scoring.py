"""How probable given targets are."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from dragoman.data.tokenizers import END
from dragoman.pipeline.rows import BATCH_TOKENS, WINDOW, Row, batched
from dragoman.pipeline.teaching import Scored

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline


def scores_of(pipeline: "Pipeline", pairs: Iterable[tuple[str, str]]) -> Iterator[Scored]:
    """The log-probability of each target, token by token, in the order of the pairs."""
    stream = iter(pairs)
    while window := list(islice(stream, WINDOW)):
        sources = pipeline.source.encode([source for source, _ in window])
        targets = pipeline.target.encode([target for _, target in window])
        lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
        found: dict[int, Scored] = {}
        for numbers in batched(sorted(range(len(window)), key=lengths.__getitem__), lengths, BATCH_TOKENS):
            rows = log_probabilities(
                pipeline, [Row(sources[n], window[n][0], n) for n in numbers], [targets[n] for n in numbers]
            )
            found |= {n: as_scored(pipeline, targets[n], row) for n, row in zip(numbers, rows, strict=True)}
        yield from (found[number] for number in range(len(window)))


def log_probabilities(pipeline: "Pipeline", rows: Sequence[Row], targets: Sequence[list[int]]) -> list[list[float]]:
    """Log-probabilities of every symbol of each target, END counted, by whoever answers."""
    if pipeline.engine is not None and pipeline.engine.always:
        return pipeline.engine.engine.score([row.tokens for row in rows], targets)
    found: list[list[float]] = pipeline.log_probabilities(pipeline.batch_of(rows, targets)).tolist()
    return found


def as_scored(pipeline: "Pipeline", target: list[int], values: list[float]) -> Scored:
    symbols = pipeline.target.symbols([*target, END])
    real = tuple(values[: len(symbols)])
    return Scored(sum(real), symbols, real)
