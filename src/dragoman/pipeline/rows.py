"""What is asked of a model, line by line, and how lines become batches."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.data.pictures import Pixels
from dragoman.errors import DataError
from dragoman.pipeline.constraints import NO_CONSTRAINTS, Constraints
from dragoman.search import AnySearch, Beam, Sampling, Tracer

BATCH_LINES = 256
BATCH_TOKENS = 4096  # source tokens of a batch, times the width of the beam
WINDOW = 4096  # lines that are read ahead and sorted by length
Longer = Literal["cut", "split", "refuse"]
LONGER: dict[str, Longer] = {"cut": "cut", "split": "split", "refuse": "refuse"}


@dataclass(frozen=True)
class Source:
    """A text as the model reads it: nothing, one row of tokens, or the rows of its pieces."""

    rows: list[list[int]]
    texts: list[str]  # of each row
    longer: Literal["", "cut", "split"] = ""
    whole: tuple[str, ...] = ()  # symbols of a text that was split
    pictures: tuple[Pixels, ...] = ()  # of each row, where pictures are read; its tokens are the cells of the grid


@dataclass(frozen=True)
class Row:
    """One row of a batch: what is read, and what is asked of its answer."""

    tokens: list[int]
    text: str
    line: int  # in the whole input, from 0
    constraints: Constraints = NO_CONSTRAINTS
    prefix: tuple[int, ...] = ()  # of the constraints, in symbols
    picture: Pixels | None = None


@dataclass(frozen=True)
class Asked:
    """How answers are to be found and given."""

    search: AnySearch
    n_best: int
    alignments: bool
    tracer: Callable[[Sequence[Row]], Tracer] | None = None  # of a batch
    scores: bool = True  # whether anybody reads them: without, an engine may be faster and give none


def live_rows(asked: Asked) -> int:
    """Hypotheses of a sentence that go on side by side."""
    if isinstance(asked.search, Beam):
        return asked.search.width
    return asked.n_best if isinstance(asked.search, Sampling) else 1


def refuse_split(sources: Sequence[Source], constraints: Sequence[Constraints], before: int) -> None:
    """The answer to a line that was split is that of its pieces, which cannot begin or contain the same."""
    for number, (source, wanted) in enumerate(zip(sources, constraints, strict=True), start=before + 1):
        if source.longer == "split" and (wanted.prefix or wanted.must):
            raise DataError(
                f"Line {number:,} is longer than the model reads and would be split, and its answer has a prefix or "
                "phrases that must occur. Shorten it, or have it cut (`dragoman predict --longer cut`)."
            )


def batched(numbers: Sequence[int], lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Cut numbers sorted by length into batches within a budget of tokens, padding counted."""
    batch: list[int] = []
    for number in numbers:
        full = (len(batch) + 1) * (lengths[number] + 1) > tokens or len(batch) == BATCH_LINES
        if batch and full:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
