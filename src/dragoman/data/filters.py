"""Good pairs that are left out all the same, because the settings ask for it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PositiveInt

from dragoman.config import Config
from dragoman.data.chunk import Numbers
from dragoman.data.hashes import Hashes, repeats
from dragoman.data.readers.pair import Pair
from dragoman.data.tokenizers.conversation import turns_of

SHORTEST_JUDGED = 20  # characters of the longer side, below which a ratio says nothing


class Filters(Config):
    """Which training pairs are left out; by default none is. Of a conversation, the sides are a turn and the one before
    it."""

    min_characters: PositiveInt = 1
    """Characters of the shortest side that is kept."""
    max_characters: PositiveInt | None = None
    """Characters of the longest side that is kept (none: any)."""
    max_ratio: Annotated[float, Field(ge=1)] | None = None
    """Largest ratio of the longer side to the shorter, in characters, where the longer has 20 or more (none: any)."""
    duplicates: Literal["keep", "drop"] = "keep"
    """What becomes of a pair that was there before, word for word."""
    identical: Literal["keep", "drop"] = "keep"
    """What becomes of a pair whose sides are the same text."""


def sieved(filters: Filters, block: Sequence[Pair], repeated: Numbers, left_out: Counter[str]) -> Sequence[Pair]:
    """The pairs of a block that no filter leaves out; `repeated` are the lines of pairs that were there before."""
    if filters == Filters():
        return block
    again = are_among(np.array([pair.line for pair in block], np.int64), repeated)
    reasons = ["duplicate" if seen else reason(filters, pair) for pair, seen in zip(block, again, strict=True)]
    left_out.update(filter(None, reasons))
    return [pair for pair, why in zip(block, reasons, strict=True) if not why]


def are_among(lines: Numbers, ordered: Numbers) -> NDArray[np.bool_]:
    """Which of some lines are among many in order; these are not touched one by one for every block."""
    places = np.searchsorted(ordered, lines)
    found = places < len(ordered)
    found[found] = ordered[places[found]] == lines[found]
    return found


def reason(filters: Filters, pair: Pair) -> str:
    """The filter that leaves a pair out, or nothing."""
    source = turns_of(pair.source)[-1]  # what is answered: a history is longer than any turn
    shorter, longer = sorted((len(source), len(pair.target)))
    if shorter < filters.min_characters:
        return "short"
    if filters.max_characters is not None and longer > filters.max_characters:
        return "long"
    if filters.max_ratio is not None and longer >= SHORTEST_JUDGED and longer > filters.max_ratio * shorter:
        return "ratio"
    return "identical" if filters.identical == "drop" and source == pair.target else ""


def repeated_lines(blocks: Iterable[Sequence[Pair]]) -> Numbers:
    """The lines of all pairs that stood on an earlier line, in order; beside them, memory is bounded."""
    with Hashes() as hashes:
        for block in blocks:
            hashes.add(block)
        return np.sort(np.concatenate([repeats(rows) for rows in hashes.buckets()]))
