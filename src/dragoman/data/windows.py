"""Texts in windows of one length: one long row of symbols, END behind each document, cut without gaps."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np

from dragoman.data.chunk import Chunk, Numbers, offsets
from dragoman.data.columns import Columns, Place
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, flattened
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Piece
from dragoman.data.store import Store, deal_out, reopened, width_of, write_facts
from dragoman.data.tokenizers import END, START, UNKNOWN, Tokenizer
from dragoman.errors import DataError

BLOCK = 2_000  # lines encoded in one call
CHUNK = 10_000_000  # symbols of a chunk, about
NONE = np.empty(0, np.int64)


def symbols_of(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    """Whole texts in symbols, as windows have them: line by line, with a line feed between two."""
    documents = [text.split("\n") for text in texts]
    [feed], rows = tokenizer.encode(["\n"]), iter(tokenizer.encode([line for lines in documents for line in lines]))
    return [
        [symbol for number in range(len(lines)) for symbol in (*(feed if number else ()), *next(rows))]
        for lines in documents
    ]


@dataclass
class Packing:
    """Cuts pieces into windows, block by block, and keeps count.

    A window is an example whose target is its symbols, and whose source is the one symbol that stands before them.
    """

    tokenizer: Tokenizer
    context: int
    symbols: Numbers = field(default_factory=NONE.copy)  # that fill no window yet
    lines: Numbers = field(default_factory=NONE.copy)  # where each of them stands
    before: int = START  # the symbol before them
    windows: int = 0
    packed: int = 0
    unknown: int = 0
    documents: int = 0
    characters: int = 0

    def blocks(self, pieces: Iterator[Piece]) -> Iterator[Chunk]:
        while block := list(islice(pieces, BLOCK)):
            self.add(block)
            yield self.cut(len(self.symbols) // self.context * self.context)
        if self.documents:
            self.symbols = np.append(self.symbols, END)
            self.lines = np.append(self.lines, self.lines[-1:] if len(self.lines) else [1])
            yield self.cut(len(self.symbols))

    def add(self, block: Sequence[Piece]) -> None:
        [feed, *rows] = self.tokenizer.encode(["\n", *(piece.text for piece in block)])
        parts = []
        for piece, row in zip(block, rows, strict=True):
            between = ([END] if self.documents else []) if piece.first else feed
            parts.append([*between, *row])
            self.documents += piece.first
            self.characters += len(piece.text) + (not piece.first)
        found, lengths = flattened(parts)
        self.unknown += int(np.count_nonzero(found == UNKNOWN))
        self.symbols = np.concatenate([self.symbols, found])
        self.lines = np.concatenate([self.lines, np.repeat([piece.line for piece in block], lengths)])

    def cut(self, size: int) -> Chunk:
        """So many symbols in windows; the last one may be shorter."""
        taken, lines = self.symbols[:size], self.lines[:size]
        starts = np.arange(0, size, self.context)
        befores = np.concatenate([[self.before], taken])[starts]
        lengths = np.diff(np.append(starts, size))
        self.symbols, self.lines = self.symbols[size:], self.lines[size:]
        self.before = int(taken[-1]) if size else self.before
        self.windows, self.packed = self.windows + len(starts), self.packed + size
        return Chunk(befores, offsets(np.ones_like(starts)), taken, offsets(lengths), lines[starts])

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.windows,
            dropped_long=0,
            truncated=0,
            source_tokens=self.windows,
            target_tokens=self.packed,
            unknown_source=0,
            unknown_target=self.unknown,
            longest_source=1,
            longest_target=min(self.context, self.packed),
            lines=problems.lines,
            bad=problems.count,
            documents=self.documents,
            characters=self.characters,
        )


def build_windows(
    folder: Path,
    pieces: Iterator[Piece],
    tokenizer: Tokenizer,
    context: int,
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None] = lambda counts: None,
    streams: bool = False,
    chunk: int = CHUNK,
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Encode texts of any length in bounded memory. Windows are dealt out to chunks, so that each chunk is a sample of
    all texts; those of streams stay in their order. `judge` may refuse before the store takes its place."""
    columns, packing = Columns("uint32", width_of(tokenizer)), Packing(tokenizer, context)
    size = max(1, chunk // context)
    with draft_of(folder) as draft:
        spool = draft if streams else draft / "spool"
        with columns.writing(spool) as writer:
            for block in packing.blocks(pieces):
                writer.append(block)
                progress(packing.packed)
        counts = packing.counts(problems)
        refuse_nothing(counts, problems)
        judge(counts)
        if streams:
            write_facts(draft, columns, counts, signature, problems, "streams", in_order(counts, context, size))
        else:
            deal_out(draft, columns, counts, signature, problems, "windows", size)
    return reopened(folder, signature)


def in_order(counts: Counts, context: int, size: int) -> list[Place]:
    """Where each chunk of so many windows begins, and where the last one ends."""
    starts = range(0, counts.pairs, size)
    return [*((start, start, start * context) for start in starts), (counts.pairs, counts.pairs, counts.target_tokens)]


def refuse_nothing(counts: Counts, problems: Problems) -> None:
    if counts.documents:
        return
    files = ", ".join(file.file for file in problems.files[:3])
    if problems.count:
        raise DataError(f"There is no text in {files}: no line can be read.\n{problems.summary()}")
    raise DataError(f"There is no text in {files}: all lines are blank. Give a file with at least a line of text.")


def refuse_short(counts: Counts, context: int) -> None:
    """Less than one window teaches nothing of a window's length."""
    if counts.target_tokens < context:
        raise DataError(
            f"The text has {counts.target_tokens:,} symbols, END of each document counted, which is less than one "
            f"window of model.context = {context}. Give more text, or lower model.context."
        )
