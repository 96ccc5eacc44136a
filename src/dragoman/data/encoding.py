"""Pairs of texts → examples of tokens, with a count of everything that was left out or cut."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain

import numpy as np

from dragoman.data.chunk import Chunk, Ids, Numbers, gather, offsets
from dragoman.data.readers.pairs import Pair, Pairs, Problems
from dragoman.data.tokenizers import UNKNOWN, Tokenizer


@dataclass(frozen=True)
class Counts:
    """What a store was made from, and what was left out."""

    pairs: int  # in the store
    dropped_long: int
    truncated: int
    source_tokens: int
    target_tokens: int
    unknown_source: int
    unknown_target: int
    longest_source: int  # tokens, END not counted
    longest_target: int
    lines: int  # of the corpus, good and bad
    bad: int
    filtered: dict[str, int] = field(default_factory=dict)  # good pairs, by the filter that left them out
    documents: int = 0  # of texts in windows
    characters: int = 0  # of the same, as they were read


@dataclass
class Encoding:
    """Encodes block after block and keeps count."""

    source: Tokenizer
    target: Tokenizer
    limits: Pairs
    seen: Callable[[Chunk], None] | None = None  # is shown the examples before any is dropped or cut
    read: int = 0
    pairs: int = 0
    dropped_long: int = 0
    truncated: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    unknown_source: int = 0
    unknown_target: int = 0
    longest_source: int = 0
    longest_target: int = 0

    def encode(self, block: Sequence[Pair]) -> Chunk:
        source, source_lengths = flattened(self.source.encode([pair.source for pair in block]))
        target, target_lengths = flattened(self.target.encode([pair.target for pair in block]))
        lines = np.array([pair.line for pair in block], np.int64)
        examples = Chunk(source, offsets(source_lengths), target, offsets(target_lengths), lines)
        self.read += len(block)
        if self.seen is not None:
            self.seen(examples)
        return self.counted(self.shortened(examples))

    def shortened(self, examples: Chunk) -> Chunk:
        """Without the examples that are too long, or with their ends cut off."""
        longest = self.limits.max_source_length, self.limits.max_target_length
        long = (examples.source_lengths > longest[0]) | (examples.target_lengths > longest[1])
        if not long.any():
            return examples
        if self.limits.longer == "drop":
            self.dropped_long += int(long.sum())
            return examples.select(np.flatnonzero(~long))
        self.truncated += int(long.sum())
        return truncated(examples, *longest)

    def counted(self, examples: Chunk) -> Chunk:
        self.pairs += examples.size
        self.source_tokens += len(examples.source)
        self.target_tokens += len(examples.target)
        self.unknown_source += int(np.count_nonzero(examples.source == UNKNOWN))
        self.unknown_target += int(np.count_nonzero(examples.target == UNKNOWN))
        self.longest_source = max(self.longest_source, int(examples.source_lengths.max(initial=0)))
        self.longest_target = max(self.longest_target, int(examples.target_lengths.max(initial=0)))
        return examples

    def counts(self, problems: Problems) -> Counts:
        own = {field.name for field in fields(self)}
        kept = {field.name: getattr(self, field.name) for field in fields(Counts) if field.name in own}
        return Counts(**kept, lines=problems.lines, bad=problems.count, filtered=dict(problems.filtered))


def flattened(rows: Sequence[Sequence[int]]) -> tuple[Ids, Numbers]:
    """All tokens in one array, and the length of each row."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum())), lengths


def truncated(examples: Chunk, longest_source: int, longest_target: int) -> Chunk:
    source_lengths = np.minimum(examples.source_lengths, longest_source)
    target_lengths = np.minimum(examples.target_lengths, longest_target)
    return Chunk(
        gather(examples.source, examples.source_offsets[:-1], source_lengths),
        offsets(source_lengths),
        gather(examples.target, examples.target_offsets[:-1], target_lengths),
        offsets(target_lengths),
        examples.lines,
    )
