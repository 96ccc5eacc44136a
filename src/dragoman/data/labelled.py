"""Texts with labels → examples of tokens on disk, and batches of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import torch

from dragoman.contracts import Batch, Padded, Target
from dragoman.data.chunk import Chunk, Ids, Numbers, offsets
from dragoman.data.collate import Mask, rows_of, tensors
from dragoman.data.columns import Columns
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, flattened
from dragoman.data.gallery import Gallery
from dragoman.data.labelling import Labelling
from dragoman.data.readers.example import Example, Examples
from dragoman.data.readers.lines import Problems
from dragoman.data.store import Layout, Store, deal_out, reopened, width_of
from dragoman.data.tokenizers import END, PADDING, START, UNKNOWN, Tokenizer
from dragoman.data.tokenizers.letters import Letters, SpelledId, letters_of, spelled

BLOCK = 2_000  # examples encoded in one call
LABELLED: tuple[Layout, ...] = ("labels", "tags", "numbers", "spans")
Item = TypeVar("Item", contravariant=True)  # what is encoded


def tokens_of(tokenizer: Tokenizer, texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """A text, or two with END between them."""
    rows = iter(tokenizer.encode([text for one in texts for text in one]))
    return [joined([next(rows) for _ in one]) for one in texts]


def joined(parts: Sequence[list[int]]) -> list[int]:
    first, *others = parts
    return [*first, *(symbol for other in others for symbol in (END, *other))]


def shortened(row: list[int], longest: int) -> list[int]:
    """So many symbols at most; of two texts the longer one is cut first, as in BERT (Devlin et al. 2019)."""
    if len(row) <= longest:
        return row
    if END not in row:
        return row[:longest]
    middle = row.index(END)
    first, second, room = row[:middle], row[middle + 1 :], longest - 1
    kept = max(room - len(second), min(len(first), room - room // 2))
    return [*first[:kept], END, *second[: room - min(kept, len(first))]]


def words_of(tokenizer: Tokenizer, sentences: Sequence[Sequence[str]]) -> tuple[list[list[int]], list[list[int]]]:
    """The pieces of each sentence, and at which piece each of its words begins; no word is without a piece."""
    rows = iter(tokenizer.encode([word for words in sentences for word in words]))
    pieces, starts = [], []
    for words in sentences:
        own = [next(rows) or [unknown_word(word, tokenizer.letters)] for word in words]
        ends = np.cumsum([len(row) for row in own]).tolist()
        pieces.append(list(chain.from_iterable(own)))
        starts.append([0, *ends[:-1]])
    return pieces, starts


def unknown_word(word: str, letters: int) -> int:
    """For a word of which a tokenizer leaves nothing."""
    return SpelledId(UNKNOWN, letters_of(word, letters)) if letters else UNKNOWN


@dataclass
class LabelEncoding:
    """Encodes block after block and keeps count. The target of an example is its label, the bits of its number, or for
    each piece of its source the tag of the word that begins there, from 1, and 0 where none does."""

    tokenizer: Tokenizer
    labelling: Labelling
    longest: int
    drop: bool
    read: int = 0
    kept: int = 0
    dropped: int = 0
    truncated: int = 0
    source_tokens: int = 0
    target_tokens: int = 0
    unknown: int = 0
    longest_seen: int = 0

    def blocks(self, examples: Examples) -> Iterator[Chunk]:
        while block := list(islice(examples, BLOCK)):
            self.read += len(block)
            yield self.encode(block)

    def encode(self, block: Sequence[Example]) -> Chunk:
        texts = [example.texts for example in block]
        if self.labelling.what == "tags":
            sources, starts = words_of(self.tokenizer, texts)
            targets = [self.tags(*one) for one in zip(block, sources, starts, strict=True)]
        else:
            sources, targets = tokens_of(self.tokenizer, texts), [self.label(example) for example in block]
        long = [len(row) > self.longest for row in sources]
        if self.drop:
            self.dropped += sum(long)
            kept = [number for number, over in enumerate(long) if not over]
            return self.counted([block[n] for n in kept], [sources[n] for n in kept], [targets[n] for n in kept])
        self.truncated += sum(long)
        return self.counted(block, [shortened(row, self.longest) for row in sources], targets)

    def label(self, example: Example) -> list[int]:
        [label] = example.labels
        if self.labelling.what == "numbers":
            return [int(np.float32(self.labelling.scaled(float(label))).view(np.uint32))]
        return [self.labelling.numbers[label]]

    def tags(self, example: Example, source: list[int], starts: list[int]) -> list[int]:
        row = [0] * len(source)
        for start, label in zip(starts, example.labels, strict=True):
            row[start] = self.labelling.numbers[label] + 1
        return row

    def counted(self, block: Sequence[Example], sources: list[list[int]], targets: list[list[int]]) -> Chunk:
        source, source_lengths = flattened(sources)
        target, target_lengths = flattened(targets)
        self.kept += len(block)
        self.source_tokens += len(source)
        self.target_tokens += int(np.count_nonzero(target)) if self.labelling.what == "tags" else len(block)
        self.unknown += int(np.count_nonzero(source == UNKNOWN))
        self.longest_seen = max(self.longest_seen, int(source_lengths.max(initial=0)))
        lines = np.array([example.line for example in block], np.int64)
        if self.tokenizer.letters:
            source = np.column_stack([source, spelled(sources, self.tokenizer.letters)])
        return Chunk(source, offsets(source_lengths), target, offsets(target_lengths), lines)

    def counts(self, problems: Problems) -> Counts:
        return Counts(
            pairs=self.kept,
            dropped_long=self.dropped,
            truncated=self.truncated,
            source_tokens=self.source_tokens,
            target_tokens=self.target_tokens,
            unknown_source=self.unknown,
            unknown_target=0,
            longest_source=self.longest_seen,
            longest_target=self.longest_seen if self.labelling.what == "tags" else 1,
            lines=problems.lines,
            bad=problems.count,
        )


@runtime_checkable
class ExampleEncoding(Protocol[Item]):
    """Encodes block after block and keeps count."""

    tokenizer: Tokenizer
    labelling: Labelling
    read: int

    def blocks(self, examples: Iterator[Item], /) -> Iterator[Chunk]: ...

    def counts(self, problems: Problems) -> Counts: ...


def build_labelled(
    folder: Path,
    examples: Iterator[Item],
    encoding: ExampleEncoding[Item],
    signature: str,
    problems: Problems,
    judge: Callable[[Counts], None],
    chunk: int = 100_000,
    progress: Callable[[int], None] = lambda done: None,
) -> Store:
    """Encode examples of any number in bounded memory; `judge` may refuse before the store takes its place."""
    letters = encoding.tokenizer.letters
    columns = Columns(width_of(encoding.tokenizer), "uint32", source_width=1 + letters if letters else 0)
    with draft_of(folder) as draft:
        with columns.writing(draft / "spool") as writer:
            for block in encoding.blocks(examples):
                writer.append(block)
                progress(encoding.read)
        counts = encoding.counts(problems)
        judge(counts)
        deal_out(draft, columns, counts, signature, problems, encoding.labelling.what, chunk)
    return reopened(folder, signature)


def collate_labelled(chunk: Chunk, indices: Numbers, layout: Layout, gallery: Gallery | None = None) -> Batch:
    """The batch of these examples: START before each text and END behind it, frames as they are; what is expected of
    each."""
    lines = tuple(chunk.lines[indices].tolist())
    source, lengths = rows_of(chunk.source, chunk.source_offsets, indices)
    target, _ = rows_of(chunk.target, chunk.target_offsets, indices)
    source = source if gallery is None else gallery.read(source)
    sources, inside = arranged(source, lengths)
    missing = int(np.count_nonzero(~sources["source"].mask.numpy()))
    if layout == "tags":
        outputs = np.zeros(inside.shape, np.int64)
        outputs[inside] = target
        return Batch(lines, sources, expected(np.maximum(outputs - 1, 0), outputs > 0), missing)
    if layout == "spans":  # where the answer begins and ends
        places = target.astype(np.int64).reshape(-1, 2)
        return Batch(lines, sources, expected(places, np.ones(places.shape, np.bool_)), missing)
    values = target.astype(np.uint32).view(np.float32) if layout == "numbers" else target.astype(np.int64)
    return Batch(lines, sources, expected(values[:, None], np.ones((len(lines), 1), np.bool_)), missing)


def collate_texts(rows: Sequence[Sequence[int]], most: int = 0) -> Batch:
    """A batch to be labelled: the examples are numbered as they come, and so many letters of each word are read."""
    letters = spelled(rows, most) if most else None
    return Batch(tuple(range(len(rows))), framed(*flattened(rows), letters)[0])


def arranged(source: Ids, lengths: Numbers) -> tuple[dict[str, Padded], Mask]:
    """Symbols, or symbols each with the letters of its word, between START and END; frames as they are."""
    if source.ndim == 1:
        return framed(source, lengths)
    if source.ndim == 2 and source.dtype.kind == "u":
        return framed(source[:, 0], lengths, source[:, 1:])
    return side_by_side(source, lengths)


def framed(flat: Ids, lengths: Numbers, letters: Letters | None = None) -> tuple[dict[str, Padded], Mask]:
    """Rows between START and END with padding behind them, which of two texts each symbol belongs to, the letters of
    the words if there are any, and where the symbols of the rows stand."""
    steps = np.arange(int(lengths.max(initial=0)) + 2)
    values = np.full((len(lengths), len(steps)), PADDING, np.int64)
    inside = (steps > 0) & (steps <= lengths[:, None])
    values[:, 0] = START
    values[inside] = flat
    values[np.arange(len(lengths)), lengths + 1] = END
    mask = steps <= lengths[:, None] + 1
    ends = values == END
    segments = np.where(mask, np.cumsum(ends, 1) - ends, 0)
    sources = {"source": tensors(values, mask), "segments": tensors(segments, mask)}
    if letters is not None:
        spread = np.zeros((*values.shape, letters.shape[1]), np.int64)
        spread[inside] = letters
        sources["letters"] = tensors(spread, mask)
    return sources, inside


def side_by_side(flat: Ids, lengths: Numbers) -> tuple[dict[str, Padded], Mask]:
    """Rows of vectors, or of pictures, with zeros behind their last one, and where they stand: nothing is before or
    behind them."""
    inside = np.arange(int(lengths.max(initial=1))) < lengths[:, None]
    values = np.zeros((*inside.shape, *flat.shape[1:]), flat.dtype)
    values[inside] = flat
    return {"source": tensors(values, inside)}, inside


def expected(values: Ids, mask: Mask) -> Target:
    """Nothing is fed to a model that only reads."""
    outputs = Padded(torch.from_numpy(values), torch.from_numpy(mask))
    return Target(outputs, outputs, torch.from_numpy(np.flatnonzero(mask)))
