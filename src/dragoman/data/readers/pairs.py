"""Pairs of texts from any plain file: tables, JSON lines or parallel text, compressed or not, one file or many."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, PositiveInt, field_validator, model_validator

from dragoman.config import Config, practical
from dragoman.data.chunk import Numbers
from dragoman.data.filters import Filters, repeated_lines, sieved
from dragoman.data.readers.conversations import EXAMPLE, ConversationLayout, read_conversations
from dragoman.data.readers.corpora import Corpus, Part, files_in, fingerprint, parts_of, quick_signature
from dragoman.data.readers.formats import AUTO, FormatName, Wanted
from dragoman.data.readers.jsonl import read_jsonl
from dragoman.data.readers.lines import PAIR, Problems, read_lines
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.parallel import read_parallel
from dragoman.data.readers.tables import read_csv, read_tsv
from dragoman.errors import DataError

__all__ = [
    "SPLITS",
    "Conversations",
    "Corpus",
    "Pair",
    "Pairs",
    "Problems",
    "SplitName",
    "Wanted",
    "files_in",
    "fingerprint",
    "grouped",
    "parts_of",
    "quick_signature",
    "read_lines",
    "read_pairs",
    "read_references",
    "read_split",
]

BLOCK = 2_000  # pairs that are filtered and surveyed in one go
UNLIMITED = 1_000_000
NO_LINES = np.empty(0, np.int64)

Share = Annotated[float, Field(ge=0, le=1)]
SplitName = Literal["train", "valid", "test"]
SPLITS: tuple[SplitName, ...] = ("train", "valid", "test")


class Pairs(Config):
    """Texts in pairs, from tables (TSV, CSV), JSON lines or parallel text; plain, gzip or zstd."""

    kind: Literal["pairs"] = "pairs"
    train: tuple[Corpus, ...] = practical(())
    """corpora to learn from: each a file or a pattern (*.tsv), or [source files, target files] of parallel text"""
    valid: tuple[Corpus, ...] = practical(())
    """corpora to validate on, in the same form"""
    test: tuple[Corpus, ...] = practical(())
    """corpora that must not be learned from, in the same form: training says what it shares with them"""
    format: FormatName = "auto"
    """how the files hold their pairs; auto looks at their names and first lines"""
    source_field: str | tuple[str, ...] = ""
    """name, or number from 1, of the column or field of the sources (empty: found out); several are written ["lemma",
    "features"]"""
    target_field: str = ""
    """the same for the targets"""
    weights: tuple[Annotated[float, Field(gt=0, le=1_000)], ...] = ()
    """how often an epoch has each pair of each training corpus, e.g. [1, 2.5], at most 1000 (empty: once)"""
    hold_out: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """share of the training pairs to validate on instead, where valid is empty; equal sources stay together"""
    hold_out_test: Annotated[float, Field(ge=0, le=0.4)] = 0.0
    """share of the training pairs to test on instead, where test is empty; none of them is validated on"""
    filters: Filters = Filters()
    """Which training pairs are left out."""
    max_source_length: PositiveInt = 200
    """tokens of the longest source"""
    max_target_length: PositiveInt = 200
    """tokens of the longest target"""
    longer: Literal["drop", "truncate"] = "drop"
    """what becomes of a longer pair"""
    hallucination: Annotated[float, Field(ge=0, le=1)] = 0.0
    """share of the training pairs of an epoch in which letters that source and target have in common become random
    ones: made-up stems for inflection with few examples (Anastasopoulos and Neubig 2019)"""
    max_bad: Share = practical(0.01)
    """share of bad lines above which training refuses to start"""

    @field_validator("train", "valid", "test", mode="before")
    @classmethod
    def _files_or_pairs_of_files(cls, given: Any) -> Any:
        corpora = (given,) if isinstance(given, str) else given
        for corpus in corpora if isinstance(corpora, list | tuple) else (None,):
            names = (corpus,) if isinstance(corpus, str) else corpus
            well = isinstance(names, list | tuple) and len(names) in (1, 2) and all(isinstance(n, str) for n in names)
            if not well or not all(names) or (len(names) == 1 and corpus is names):
                raise ValueError(
                    f'must be files, e.g. ["a.tsv", "b.csv.gz"], or pairs of a source and a target file, '
                    f'e.g. [["a.de", "a.en"]], not {given!r}.'
                )
        return corpora

    @field_validator("source_field", "target_field", mode="before")
    @classmethod
    def _a_number_is_a_column(cls, given: Any) -> Any:
        if isinstance(given, list | tuple):
            return tuple(map(cls._a_number_is_a_column, given))
        return str(given) if isinstance(given, int) and not isinstance(given, bool) else given

    @field_validator("source_field")
    @classmethod
    def _different_columns(cls, given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(given, tuple) and (not all(given) or not given or len(set(given)) < len(given)):
            raise ValueError(f'must be one column, or different ones, e.g. ["lemma", "features"], not {list(given)}')
        return given

    @property
    def wanted(self) -> Wanted:
        names = self.source_field
        return Wanted(self.format, ((names,) if names else ()) if isinstance(names, str) else names, self.target_field)

    @property
    def good_line(self) -> tuple[str, str]:
        """What a line should be, and how that is written."""
        return PAIR

    @property
    def holds_out(self) -> bool:
        return self.hold_out > 0 and not self.valid

    @property
    def holds_out_test(self) -> bool:
        return self.hold_out_test > 0 and not self.test

    def is_held_out(self, name: SplitName) -> bool:
        """Whether a split is a part of the training files."""
        return (name == "valid" and self.holds_out) or (name == "test" and self.holds_out_test)

    def has(self, name: SplitName) -> bool:
        return bool(getattr(self, name)) or self.is_held_out(name)

    def files(self, name: SplitName) -> tuple[str, ...]:
        """All files that a split is read from; what is held out comes from the training files."""
        return files_in(self.train if self.is_held_out(name) else getattr(self, name))


GOOD_CONVERSATION = f"A conversation is a line such as {EXAMPLE}, or rows of a table with one id."


class Conversations(Pairs):
    """Turns of conversations, each learned with what was said before it, from JSON lines with a list of turns or tables
    with a turn a row; plain, gzip or zstd."""

    kind: Literal["conversations"] = "conversations"  # type: ignore[assignment]
    train: tuple[Corpus, ...] = practical(())
    """files, or patterns (*.jsonl), to learn from"""
    valid: tuple[Corpus, ...] = practical(())
    """files to validate on"""
    test: tuple[Corpus, ...] = practical(())
    """files that must not be learned from"""
    format: FormatName = "auto"
    """jsonl, tsv or csv; auto looks at names and first lines"""
    turns_field: str = ""
    """of JSON lines: the field that holds the list of turns (empty: turns, messages, utterances, dialogue …)"""
    id_field: str = ""
    """of tables: name, or number from 1, of the column that says which conversation a row belongs to (empty: found
    out)"""
    text_field: str = ""
    """the same for what was said"""
    speaker_field: str = ""
    """the same for who said it, if that is known: what one says without a break is then one turn"""
    hold_out: Annotated[float, Field(ge=0, le=0.5)] = 0.0
    """share of the conversations to validate on instead, where valid is empty"""
    hold_out_test: Annotated[float, Field(ge=0, le=0.4)] = 0.0
    """share of the conversations to test on instead, where test is empty"""
    max_source_length: PositiveInt = UNLIMITED
    """nothing: how much is read of a conversation is set by conversation.length"""
    max_target_length: PositiveInt = 200
    """tokens of the longest turn that is learned to be said"""

    @model_validator(mode="after")
    def _of_conversations(self) -> "Conversations":
        if any(not isinstance(corpus, str) for name in SPLITS for corpus in getattr(self, name)):
            raise ValueError("conversations stand in one file each, not in a source and a target file; name one")
        if self.source_field or self.target_field:
            raise ValueError(
                "source_field and target_field are for pairs: set turns_field (JSON lines), or id_field and text_field "
                "(tables)"
            )
        if self.max_source_length != UNLIMITED:
            raise ValueError(
                "max_source_length is for pairs: how much is read of a conversation is set by conversation.length, "
                "conversation.turns and conversation.turn_length"
            )
        if self.filters.duplicates == "drop":
            raise ValueError("filters.duplicates = 'drop' would drop whole conversations for one turn; leave it out")
        return self

    @property
    def wanted(self) -> Wanted:
        fields = (self.turns_field, self.id_field, self.text_field, self.speaker_field)
        return Wanted(self.format, (), "", True, *fields)

    @property
    def good_line(self) -> tuple[str, str]:
        return "a conversation", GOOD_CONVERSATION


def read_pairs(corpora: Sequence[Corpus], problems: Problems, wanted: Wanted = AUTO) -> Iterator[Pair]:
    """Stream the good pairs of corpora, one after the other; bad lines go to `problems`."""
    if not corpora:
        raise DataError("There are no files of pairs. Set data.train (and data.valid), e.g. data.train=pairs.tsv.")
    for part in parts_of(corpora, wanted):
        yield from read_part(part, problems)


def read_part(part: Part, problems: Problems) -> Iterator[Pair]:
    if isinstance(part.layout, ConversationLayout):
        return read_conversations(part.files[0], part.layout, problems, part.corpus)
    if part.layout.kind == "text":
        source, target = part.files
        return read_parallel(source, target, problems, part.corpus)
    reader = {"tsv": read_tsv, "csv": read_csv, "jsonl": read_jsonl}[part.layout.kind]
    return reader(part.files[0], part.layout, problems, part.corpus)


def read_split(
    data: Pairs, name: SplitName, problems: Problems, seen: Callable[[Sequence[Pair]], None] | None = None
) -> Iterator[Pair]:
    """Stream the pairs of a split that the settings keep; `seen` is shown all of them, block by block."""
    filters = data.filters if name == "train" else Filters()
    repeated = NO_LINES
    if filters.duplicates == "drop":
        repeated = duplicates(data, str(quick_signature(files_in(data.train))))
    for block in blocks(all_pairs(data, name, problems)):
        if seen is not None:
            seen(block)
        yield from sieved(filters, block, repeated, problems.filtered)


@lru_cache(maxsize=1)
def duplicates(data: Pairs, signature: str) -> Numbers:
    """The lines of training pairs that were there before; remembered while the files stay, since it takes a pass."""
    return repeated_lines(blocks(all_pairs(data, "train", Problems())))


def all_pairs(data: Pairs, name: SplitName, problems: Problems) -> Iterator[Pair]:
    """The good pairs of a split, filters aside."""
    if name != "train" and not data.is_held_out(name):
        return read_pairs(getattr(data, name), problems, data.wanted)
    pairs = read_pairs(data.train, problems, data.wanted)
    if not data.holds_out and not data.holds_out_test:
        return pairs
    valid = data.hold_out if data.holds_out else 0.0
    test = data.hold_out_test if data.holds_out_test else 0.0
    return (pair for pair in pairs if split_of(pair.together or pair.source, valid, test) == name)


def split_of(source: str, valid: float, test: float) -> SplitName:
    """Equal sources stay together, on every machine; validation takes the low hashes and the test the high ones, so
    that neither share moves the other."""
    place = place_of(source)
    if place < valid * 2**64:
        return "valid"
    return "test" if place >= (1 - test) * 2**64 and test else "train"


def place_of(source: str) -> int:
    """Where a source falls among 2⁶⁴ places."""
    return int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "big")


def blocks(pairs: Iterator[Pair]) -> Iterator[list[Pair]]:
    while block := list(islice(pairs, BLOCK)):
        yield block


def read_references(
    corpora: Sequence[Corpus], problems: Problems, wanted: Wanted = AUTO, conversations: dict[str, str] | None = None
) -> list[tuple[str, tuple[str, ...]]]:
    """Each source once, in order of first appearance, with all its references; `conversations` is told the first
    conversation that has it, if it is a history."""
    return grouped(read_pairs(corpora, problems, wanted), conversations)


def grouped(pairs: Iterable[Pair], conversations: dict[str, str] | None = None) -> list[tuple[str, tuple[str, ...]]]:
    references: dict[str, list[str]] = {}
    for pair in pairs:
        references.setdefault(pair.source, []).append(pair.target)
        if conversations is not None and pair.together:
            conversations.setdefault(pair.source, pair.together)
    return [(source, tuple(targets)) for source, targets in references.items()]
