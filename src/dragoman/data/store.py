"""Examples encoded once, on disk, in chunks each of which is a random sample of the corpus."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.columns import Columns, Place, deal
from dragoman.data.draft import draft_of
from dragoman.data.encoding import Counts, Encoding
from dragoman.data.gallery import Gallery
from dragoman.data.readers.lines import FileStart, place_of
from dragoman.data.readers.pairs import Pair, Pairs, Problems
from dragoman.data.tokenizers import Tokenizer
from dragoman.errors import DamagedStoreError, DataError, StorageError
from dragoman.storage import read_record, write_record

FORMAT_VERSION = 2
BLOCK = 2_000  # pairs encoded in one call
FACTS = "store.json"
GALLERY = "pictures"

Weights = NDArray[np.float64]
# tracks: pasts and futures of numbers
# streams: windows in the order of their texts; labels, tags, numbers, spans: what is said of texts; passages: texts to
# learn to read from; captions: numbers of pictures of a gallery, and what is said of them
Layout = Literal["pairs", "windows", "streams", "labels", "tags", "numbers", "spans", "passages", "captions", "tracks"]


@dataclass(frozen=True)
class Store:
    """A folder of encoded examples, of which one chunk at a time is in memory."""

    folder: Path
    counts: Counts
    columns: Columns
    starts: tuple[Place, ...]  # of each chunk, and the end
    sums: tuple[Mapping[str, int], ...]  # of each chunk: the checksums of its columns
    files: tuple[FileStart, ...] = ()  # that the lines are counted over
    weights: tuple[float, ...] = ()  # how often an epoch has the pairs of each corpus; empty: once
    layout: Layout = "pairs"

    def __len__(self) -> int:
        return self.counts.pairs

    @property
    def chunks(self) -> int:
        return len(self.starts) - 1

    def chunk(self, number: int) -> Chunk:
        """Read one chunk; plain reads, since the pages of a memory map would add to the resident memory."""
        start, end = self.starts[number], self.starts[number + 1]
        return self.columns.read(self.folder, start, end[0] - start[0], self.sums[number])

    def place(self, line: int) -> str:
        """The file and line of an example."""
        return place_of(self.files, line)

    def weights_of(self, lines: Numbers) -> Weights:
        """How often an epoch has each of these examples."""
        starts = np.array([start.before for start in self.files], np.int64)
        corpora = np.array([start.corpus for start in self.files], np.int64)
        return np.asarray(self.weights, np.float64)[corpora[np.searchsorted(starts, lines) - 1]]

    @cached_property
    def gallery(self) -> Gallery | None:
        """The pictures that examples are about, if they are about pictures."""
        if not (self.folder / GALLERY).exists():
            return None
        gallery = Gallery.open(self.folder / GALLERY, self.folder)
        if gallery is None:
            raise DamagedStoreError(self.folder, f"{self.folder / GALLERY} is damaged: it is not what was written")
        return gallery

    @cached_property
    def epoch_size(self) -> float:
        """Examples of an epoch, on average."""
        if not self.weights:
            return float(len(self))
        return float(sum(self.weights_of(self.chunk(number).lines).sum() for number in range(self.chunks)))

    @staticmethod
    def open(folder: Path, signature: str) -> "Store | None":
        """The store in this folder if it is whole and was made from this data; None means: build it."""
        try:
            facts = read_record(folder / FACTS)
            if facts["format_version"] != FORMAT_VERSION or facts["signature"] != signature:
                return None
            starts = tuple((int(example), int(source), int(target)) for example, source, target in facts["starts"])
            columns, sums = Columns(**facts["columns"]), tuple(facts["sums"])
            files = tuple(FileStart(**start) for start in facts["files"])
            layout: Layout = facts.get("layout", "pairs")
            store = Store(folder, Counts(**facts["counts"]), columns, starts, sums, files, layout=layout)
            whole = columns.sizes(folder) == columns.expected(starts[-1]) == facts["sizes"]
        except (StorageError, OSError, ValueError, KeyError, TypeError, IndexError, OverflowError):
            return None
        return store if whole and len(store) == starts[-1][0] and len(store.sums) == store.chunks else None


def discard(folder: Path) -> None:
    """Have the next preparation make a store anew."""
    (folder / FACTS).unlink(missing_ok=True)


def build_store(
    folder: Path,
    pairs: Iterator[Pair],
    source: Tokenizer,
    target: Tokenizer,
    limits: Pairs,
    signature: str,
    chunk: int = 100_000,
    progress: Callable[[int], None] | None = None,
    problems: Problems | None = None,
    seen: Callable[[Chunk], None] | None = None,
) -> Store:
    """Encode a corpus of any length in bounded memory; `problems` are judged before the store takes its place."""
    columns = Columns(width_of(source), width_of(target))
    encoding = Encoding(source, target, limits, seen)
    with draft_of(folder) as draft:
        spool(columns, draft / "spool", pairs, encoding, progress)
        problems = problems or Problems(lines=encoding.read)
        counts = judged(encoding, problems, limits)
        deal_out(draft, columns, counts, signature, problems, "pairs", chunk)
    return reopened(folder, signature)


def deal_out(
    draft: Path,
    columns: Columns,
    counts: Counts,
    signature: str,
    problems: Problems,
    layout: Layout,
    chunk: int,
    hand: int = 0,
) -> None:
    """From the spool, where examples stand in their own order, to chunks; and the facts by which a store is known."""
    starts = deal(columns, draft / "spool", draft, counts.pairs, chunk, hand)
    shutil.rmtree(draft / "spool")
    write_facts(draft, columns, counts, signature, problems, layout, starts)


def write_facts(
    draft: Path,
    columns: Columns,
    counts: Counts,
    signature: str,
    problems: Problems,
    layout: Layout,
    starts: list[Place],
) -> None:
    facts = facts_of(draft, signature, counts, columns, starts)
    write_record(draft / FACTS, facts | {"layout": layout, "files": [asdict(file) for file in problems.files]})


def reopened(folder: Path, signature: str) -> Store:
    """What was just written."""
    store = Store.open(folder, signature)
    if store is None:
        raise StorageError(f"{folder} was written but cannot be read back. Check the disk, then run again.")
    return store


def spool(
    columns: Columns,
    folder: Path,
    pairs: Iterator[Pair],
    encoding: Encoding,
    progress: Callable[[int], None] | None,
) -> None:
    """Encode the corpus in its own order, since the number of chunks is known only at its end."""
    with columns.writing(folder) as writer:
        while block := list(islice(pairs, BLOCK)):
            writer.append(encoding.encode(block))
            if progress is not None:
                progress(encoding.read)


def judged(encoding: Encoding, problems: Problems, limits: Pairs) -> Counts:
    """The counts, if there is something left to train on and not too much was bad."""
    problems.refuse_above(limits.max_bad, problems.lines, limits.good_line)
    if encoding.read == 0 and limits.holds_out and problems.count < problems.lines:
        raise DataError(
            f"data.hold_out = {limits.hold_out:g} of {problems.lines:,} lines leaves no pair on one side. Change "
            "it, or give validation data of its own with --valid."
        )
    if encoding.read == 0 and limits.holds_out_test and problems.count < problems.lines:
        raise DataError(
            f"data.hold_out_test = {limits.hold_out_test:g} of {problems.lines:,} lines leaves no pair to train on. "
            "Change it, or give test data of its own with --test."
        )
    if encoding.pairs == 0:
        raise nothing_left(encoding, problems, limits)
    return encoding.counts(problems)


def nothing_left(encoding: Encoding, problems: Problems, limits: Pairs) -> DataError:
    """Why no pair is left, with advice on what has left pairs out."""
    longest = f"data.max_source_length = {limits.max_source_length} or data.max_target_length = "
    found = [
        (problems.count, "bad", "Mend them, or set data.format and the fields to what the file holds."),
        (
            problems.filtered.total(),
            f"left out by data.filters ({', '.join(problems.filtered)})",
            "Loosen the filters.",
        ),
        (
            encoding.dropped_long,
            f"longer than {longest}{limits.max_target_length} tokens",
            "Raise these limits, or set data.longer=truncate.",
        ),
    ]
    causes = [(f"{count:,} are {what}", advice) for count, what, advice in found if count]
    if not causes:
        return DataError(f"No pair is left to learn from: {problems.lines:,} lines hold a header and no pair below it.")
    bad = f"\n{problems.summary()}" if problems.count else ""
    return DataError(
        f"No pair is left to learn from: of {problems.lines:,} lines {' and '.join(cause for cause, _ in causes)}. "
        f"{' '.join(advice for _, advice in causes)}{bad}"
    )


def width_of(tokenizer: Tokenizer) -> str:
    return "uint16" if tokenizer.size < 65_536 else "uint32"


def facts_of(folder: Path, signature: str, counts: Counts, columns: Columns, starts: list[Place]) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "signature": signature,
        "counts": asdict(counts),
        "columns": asdict(columns),
        "sizes": columns.expected(starts[-1]),
        "starts": starts,
        "sums": columns.sums(folder, starts),
    }
