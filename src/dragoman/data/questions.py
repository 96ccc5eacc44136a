"""Questions with their documents → windows of tokens, in which an answer begins and ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from dragoman.data.chunk import Chunk, offsets
from dragoman.data.encoding import Counts, flattened
from dragoman.data.labelling import Labelling
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question, place_in
from dragoman.data.tokenizers import END, UNKNOWN, Placed, Tokenizer

BLOCK = 500  # questions encoded in one call, each with its document
NOWHERE = (0, 0)  # the place of START: the answer does not stand in this window


@dataclass(frozen=True)
class Windowing:
    """How a long document is cut (Devlin et al. 2019 give neither number; these are those of their program)."""

    longest: int  # symbols of a window: question, END and a part of the document
    stride: int  # symbols of the document from the beginning of one window to that of the next
    question: int  # symbols of a question at most


@dataclass(frozen=True)
class Window:
    """A part of a document behind its question, as the model reads it."""

    row: list[int]  # question, END, part of the document
    first: int  # symbol of the document that the part begins with
    before: int  # symbols before the part, START counted
    symbols: int  # of the part

    def place(self, symbol: int) -> int:
        """Where a symbol of the document stands in the framed row."""
        return self.before + symbol - self.first

    def holds(self, start: int, end: int) -> bool:
        return self.first <= start and end < self.first + self.symbols


def windows_of(question: list[int], document: list[int], how: Windowing) -> list[Window]:
    """One window, or several that overlap; every symbol of the document stands in one at least."""
    asked = question[: how.question]
    room = how.longest - len(asked) - 1
    stride, last = min(how.stride, room), max(0, len(document) - room)
    starts = [*range(0, last, stride), last] if last else [0]
    return [
        Window([*asked, END, *document[first : first + room]], first, len(asked) + 2, min(room, len(document) - first))
        for first in starts
    ]


def in_symbols(start: int, end: int, placed: Placed) -> tuple[int, int] | None:
    """The first and the last symbol of characters start … end − 1; None where no symbol stands for any of them."""
    touched = [n for n, (first, behind) in enumerate(placed[1]) if first < end and start < behind]
    return (touched[0], touched[-1]) if touched else None


def span_of(one: Question, placed: Placed) -> tuple[str, tuple[int, int] | None]:
    """(why it cannot be learned, the first and the last symbol of its answer); nothing where there is no answer."""
    reason, place = place_in(one)
    if reason or place is None:
        return reason, None
    span = in_symbols(*place, placed)
    return ("the tokenizer leaves nothing of the answer", None) if span is None else ("", span)


def placed_documents(tokenizer: Tokenizer, questions: Sequence[Question]) -> dict[str, Placed]:
    """The symbols of each document, once for all its questions."""
    documents = list(dict.fromkeys(one.document for one in questions))
    return dict(zip(documents, tokenizer.encode_placed(documents), strict=True))


@dataclass
class SpanEncoding:
    """Encodes block after block and keeps count. The source of an example is a window; its target are the places where
    the answer begins and ends in it, counted from START, or twice that of START."""

    tokenizer: Tokenizer
    labelling: Labelling
    how: Windowing
    problems: Problems  # told of questions whose answer does not stand where it should
    read: int = 0
    windows: int = 0
    cut: int = 0
    source_tokens: int = 0
    unknown: int = 0
    longest_seen: int = 0

    def blocks(self, questions: Iterator[Question]) -> Iterator[Chunk]:
        while block := list(islice(questions, BLOCK)):
            self.read += len(block)
            yield self.encode(block)

    def encode(self, block: Sequence[Question]) -> Chunk:
        placed = placed_documents(self.tokenizer, block)
        sources, targets, lines = list[list[int]](), list[list[int]](), list[int]()
        for one, question in zip(block, self.tokenizer.encode([one.question for one in block]), strict=True):
            self.cut += len(question) > self.how.question
            reason, span = span_of(one, placed[one.document])
            if reason:
                leave_out(self.problems, one.line, reason)
                continue
            for window in windows_of(question, placed[one.document][0], self.how):
                inside = span is not None and window.holds(*span)
                sources.append(window.row)
                targets.append([window.place(symbol) for symbol in span] if span and inside else [*NOWHERE])
                lines.append(one.line)
        return self.counted(sources, targets, lines)

    def counted(self, sources: list[list[int]], targets: list[list[int]], lines: list[int]) -> Chunk:
        source, lengths = flattened(sources)
        target, twos = flattened(targets)
        self.windows += len(lines)
        self.source_tokens += len(source)
        self.unknown += int(np.count_nonzero(source == UNKNOWN))
        self.longest_seen = max(self.longest_seen, int(lengths.max(initial=0)))
        return Chunk(source, offsets(lengths), target, offsets(twos), np.array(lines, np.int64))

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.windows,
            dropped_long=0,
            truncated=self.cut,
            source_tokens=self.source_tokens,
            target_tokens=2 * self.windows,
            unknown_source=self.unknown,
            unknown_target=0,
            longest_source=self.longest_seen,
            longest_target=2,
            lines=problems.lines,
            bad=problems.count,
        )
