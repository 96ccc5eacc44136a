"""Documents → examples to learn to read from: one text, or two of which the second may or may not follow the first."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np

from dragoman.data.chunk import Chunk, offsets
from dragoman.data.columns import Columns
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, flattened
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.texts import Piece
from dragoman.data.shelf import Shelf, shelved
from dragoman.data.store import Store, deal_out, reopened, width_of
from dragoman.data.tokenizers import END, Tokenizer
from dragoman.errors import DataError
from dragoman.seeds import key

BLOCK = 2_000  # examples written in one go
AHEAD = 2_000  # sentences of a document whose places are in memory


@dataclass(frozen=True)
class Passage:
    """A text, or two; and whether the second is what follows the first in its document."""

    texts: tuple[list[int], ...]
    follows: bool
    line: int  # where the first begins


@dataclass(frozen=True)
class Cutting:
    """How documents are cut into passages (Devlin et al. 2019, A.2)."""

    room: int  # symbols of a passage, START and END not counted
    two: bool  # texts
    shorter: float  # share of passages that are to have a random length
    split: bool  # lines into sentences
    passes: int = 1  # over all documents, each of which cuts them elsewhere
    seed: int = 1


@dataclass
class Walk:
    """Where the sentences of a document stand, some thousand of them at a time."""

    shelf: Shelf
    first: int = 0
    places: tuple[int, ...] = ()

    def place(self, sentence: int) -> int:
        """Where a sentence begins among all symbols."""
        if not self.first <= sentence < self.first + len(self.places):
            self.first, last = sentence, min(sentence + AHEAD, self.shelf.sentences)
            self.places = tuple(self.shelf.starts(self.first, last))
        return self.places[sentence - self.first]


def passages_of(shelf: Shelf, cutting: Cutting) -> Iterator[Passage]:
    """All passages of all documents, as often as there are passes."""
    for number in range(cutting.passes):
        for document in range(shelf.documents):
            cut = pairs_of if cutting.two else texts_of
            yield from cut(shelf, cutting, document, number)


def wanted(cutting: Cutting, draw: Random) -> int:
    """Symbols that a passage is to be filled with: all that there is room for, or now and then fewer."""
    least = 2 if cutting.two else 1
    return least + int(draw.random() * (cutting.room - least + 1)) if draw.random() < cutting.shorter else cutting.room


def texts_of(shelf: Shelf, cutting: Cutting, document: int, number: int) -> Iterator[Passage]:
    """As many whole sentences as there is room for, one behind the other."""
    walk = Walk(shelf)
    at, last = shelf.document(document)
    while at < last:
        size, end = wanted(cutting, drawn(cutting, number, at)), at + 1
        start = walk.place(at)
        while end < last and walk.place(end + 1) - start <= size:
            end += 1
        yield Passage((shelf.text(start, walk.place(end)),), True, line_of(shelf, at))
        at = end


def pairs_of(shelf: Shelf, cutting: Cutting, document: int, number: int) -> Iterator[Passage]:
    """Sentences until the passage is full, two at least. The first text is the first few of them. The second is the
    rest; or, half of the time, what stands somewhere in another document, and the rest is left for the next passage. Of
    the last sentence of a document, behind which nothing follows, it is always another document's."""
    walk, others = Walk(shelf), Walk(shelf)
    at, last = shelf.document(document)
    while at < last:
        draw = drawn(cutting, number, at)
        size, start, end = wanted(cutting, draw), walk.place(at), at + 1
        while end < last and (end - at < 2 or walk.place(end) - start < size):
            end += 1
        middle = at + 1 + int(draw.random() * (end - at - 1))
        first = shelf.text(start, walk.place(middle))
        follows = end - at > 1 and draw.random() < 0.5
        if follows:
            second = shelf.text(walk.place(middle), walk.place(end))
        else:
            second = elsewhere(others, document, size - len(first), draw)
        yield Passage(fitted(first, second, cutting.room, draw), follows, line_of(shelf, at))
        at = end if follows else middle


def drawn(cutting: Cutting, number: int, sentence: int) -> Random:
    """Chance as a function of the seed, the pass and the sentence that a passage begins with."""
    return Random(key(cutting.seed, "passages", number, sentence))


def line_of(shelf: Shelf, sentence: int) -> int:
    return int(shelf.read("lines", sentence, sentence + 1)[0])


def elsewhere(walk: Walk, document: int, size: int, draw: Random) -> list[int]:
    """Sentences from a random one of another document on, until there are as many symbols, one sentence at least. All
    sentences of other documents are alike: were documents, then short ones would give themselves away."""
    shelf = walk.shelf
    first, last = shelf.document(document)
    begin = int(draw.random() * (shelf.sentences - (last - first)))
    begin += (last - first) * (begin >= first)
    last = shelf.end_of_document(begin)
    start, end = walk.place(begin), begin + 1
    while end < last and walk.place(end) - start < size:
        end += 1
    return shelf.text(start, walk.place(end))


def fitted(first: list[int], second: list[int], room: int, draw: Random) -> tuple[list[int], list[int]]:
    """While both have more symbols than there is room for, the longer one loses one, at its front or at its back."""
    texts, fronts = (first, second), [0, 0]
    sizes = [len(first), len(second)]
    while sum(sizes) > room:
        longer = int(sizes[1] >= sizes[0])
        fronts[longer] += draw.random() < 0.5
        sizes[longer] -= 1
    one, two = (text[front : front + size] for text, front, size in zip(texts, fronts, sizes, strict=True))
    return one, two


def build_passages(
    folder: Path,
    pieces: Iterator[Piece],
    tokenizer: Tokenizer,
    cutting: Cutting,
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None] = lambda counts: None,
    chunk: int = 100_000,
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Encode texts of any length in bounded memory, cut them into passages, and deal these out to chunks. The target of
    an example is whether its second text follows the first, and its number, by which chance is keyed. `judge` may
    refuse before the store takes its place."""
    width = width_of(tokenizer)
    columns, spooled = Columns(width, "uint32"), Spooled()
    with draft_of(folder) as draft:
        with shelved(draft / "shelf", pieces, tokenizer, width, cutting.split, cutting.room) as shelf:
            refuse_few(shelf, cutting, problems)
            for line in shelf.empty:
                leave_out(problems, line, "a document without a word")
            with columns.writing(draft / "spool") as writer:
                for block in spooled.blocks(passages_of(shelf, cutting)):
                    writer.append(block)
                    progress(spooled.passages)
            counts = spooled.counts(shelf, problems)
        judge(counts)
        deal_out(draft, columns, counts, signature, problems, "passages", chunk)
        shutil.rmtree(draft / "shelf")
    return reopened(folder, signature)


@dataclass
class Spooled:
    """Puts passages side by side and keeps count."""

    passages: int = 0
    symbols: int = 0
    longest: int = 0

    def blocks(self, passages: Iterator[Passage]) -> Iterator[Chunk]:
        while block := list(islice(passages, BLOCK)):
            sources = [one.texts[0] if len(one.texts) == 1 else [*one.texts[0], END, *one.texts[1]] for one in block]
            source, lengths = flattened(sources)
            numbers = range(self.passages, self.passages + len(block))
            targets = [[int(one.follows), number] for one, number in zip(block, numbers, strict=True)]
            target, target_lengths = flattened(targets)
            self.passages += len(block)
            self.symbols += len(source)
            self.longest = max(self.longest, int(lengths.max(initial=0)))
            lines = np.array([one.line for one in block], np.int64)
            yield Chunk(source, offsets(lengths), target, offsets(target_lengths), lines)

    def counts(self, shelf: Shelf, problems: Problems) -> Counts:
        return Counts(
            pairs=self.passages,
            dropped_long=0,
            truncated=0,
            source_tokens=self.symbols,
            target_tokens=shelf.symbols,
            unknown_source=shelf.unknown,
            unknown_target=0,
            longest_source=self.longest,
            longest_target=2,
            lines=problems.lines,
            bad=problems.count,
            documents=shelf.documents,
            characters=shelf.characters,
        )


def refuse_few(shelf: Shelf, cutting: Cutting, problems: Problems) -> None:
    """Nothing to read; or no other document to take a text from."""
    files = ", ".join(file.file for file in problems.files[:3])
    if not shelf.documents:
        if problems.count:
            raise DataError(f"There is no text in {files}: no line can be read.\n{problems.summary()}")
        raise DataError(f"There is no text in {files}: all lines are blank. Give a file with at least a line of text.")
    if cutting.two and shelf.documents < 2:
        raise DataError(
            f"{files} holds one document, and half of the pairs that next sentences are learned from take their second "
            "text from another. Put a blank line between documents, give several files and set "
            "model.head.documents=files, or learn masked words alone: model.sentences=one "
            "model.head.learns=masked_words."
        )
