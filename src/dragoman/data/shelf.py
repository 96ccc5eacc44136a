"""Documents in sentences, in numbers on disk: any sentence is at hand, and next to nothing is in memory."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import numpy as np

from dragoman.data.chunk import Ids, Numbers
from dragoman.data.readers.texts import Piece
from dragoman.data.sentences import sentences_of
from dragoman.data.tokenizers import UNKNOWN, Tokenizer

BLOCK = 2_000  # lines encoded in one call
COLUMNS = {"ends": "int64", "lines": "int64", "documents": "int64"}  # beside the symbols


@dataclass(frozen=True)
class Shelf:
    """`ends` says where each sentence ends among all symbols, `lines` where it stands in the files, `documents` with
    which sentence each document begins, and with which there would be one more."""

    types: dict[str, str]
    files: dict[str, int]  # descriptors of open files
    documents: int
    sentences: int
    symbols: int
    unknown: int
    characters: int
    empty: list[int]  # the lines at which documents without a sentence begin

    def read(self, name: str, first: int, last: int) -> Ids:
        kind = np.dtype(self.types[name])
        found = os.pread(self.files[name], (last - first) * kind.itemsize, first * kind.itemsize)
        return np.frombuffer(found, kind)

    def starts(self, first: int, last: int) -> list[int]:
        """Where the sentences from the first to the one before the last begin, and where that one would."""
        ends = self.read("ends", max(0, first - 1), last).tolist()
        return ends if first else [0, *ends]

    def document(self, number: int) -> tuple[int, int]:
        """Its first sentence, and the one behind its last."""
        first, last = self.read("documents", number, number + 2).tolist()
        return first, last

    def end_of_document(self, sentence: int) -> int:
        """The sentence behind the last of the document that this one stands in, found by halving."""
        low, high = 0, self.documents - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.document(middle)[1] > sentence else (middle + 1, high)
        return self.document(low)[1]

    def text(self, start: int, end: int) -> list[int]:
        """Symbols from one place to another."""
        found: list[int] = self.read("symbols", start, end).tolist()
        return found


@contextmanager
def shelved(
    folder: Path, pieces: Iterator[Piece], tokenizer: Tokenizer, width: str, split: bool, most: int
) -> Iterator[Shelf]:
    """Write texts of any length as a shelf, and open it; where lines are not split, each is a sentence. A sentence has
    `most` symbols at most: what is longer is cut into several."""
    folder.mkdir(parents=True)
    types = {"symbols": width, **COLUMNS}
    counts = Counting(tokenizer, split, most)
    with ExitStack() as stack:
        writers = {name: stack.enter_context((folder / f"{name}.bin").open("wb")) for name in types}
        for columns in counts.blocks(pieces):
            for name, numbers in columns.items():
                writers[name].write(np.asarray(numbers).astype(types[name]).tobytes())
    with ExitStack() as stack:
        files = {name: stack.enter_context((folder / f"{name}.bin").open("rb")).fileno() for name in types}
        facts = counts.documents, counts.sentences, counts.symbols, counts.unknown, counts.characters, counts.empty
        yield Shelf(types, files, *facts)


@dataclass
class Counting:
    """Encodes block after block and keeps count."""

    tokenizer: Tokenizer
    split: bool
    most: int
    documents: int = 0
    sentences: int = 0
    symbols: int = 0
    unknown: int = 0
    characters: int = 0
    opened: int = 0  # the line at which a document begins whose first sentence is to come
    empty: list[int] = field(default_factory=list)  # the lines at which documents without a sentence begin

    def blocks(self, pieces: Iterator[Piece]) -> Iterator[dict[str, Sequence[int] | Numbers]]:
        while block := list(islice(pieces, BLOCK)):
            yield self.encoded(block)
        self.close()
        yield {"documents": [self.sentences]}

    def close(self) -> None:
        """A document ends."""
        self.empty += [self.opened] if self.opened else []
        self.opened = 0

    def encoded(self, block: Sequence[Piece]) -> dict[str, Sequence[int] | Numbers]:
        sentences = [sentences_of(piece.text) if self.split else [piece.text] for piece in block]
        rows = iter(self.tokenizer.encode(list(chain.from_iterable(sentences))))
        found: list[list[int]] = []
        lines: list[int] = []
        begun: list[int] = []
        for piece, texts in zip(block, sentences, strict=True):
            if piece.first:
                self.close()
                self.opened = piece.line
            own = [part for _ in texts for part in cut(next(rows), self.most)]
            if own and self.opened:
                begun.append(self.sentences + len(found))
                self.opened = 0
            found += own
            lines += [piece.line] * len(own)
            self.characters += len(piece.text)
        flat = np.fromiter(chain.from_iterable(found), np.int64)
        ends = self.symbols + np.cumsum([len(row) for row in found], dtype=np.int64)
        self.documents += len(begun)
        self.sentences += len(found)
        self.symbols += len(flat)
        self.unknown += int(np.count_nonzero(flat == UNKNOWN))
        return {"symbols": flat, "ends": ends, "lines": lines, "documents": begun}


def cut(row: list[int], most: int) -> Iterator[list[int]]:
    """A sentence, or parts of one that is longer than any example; none of one without symbols."""
    return (row[start : start + most] for start in range(0, len(row), most))
