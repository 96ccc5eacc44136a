"""Pairs of texts: one file of source<TAB>target, or two files whose lines belong together."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, field_validator

from dragoman.config import Config, practical
from dragoman.data.readers.lines import Line, Problems, checked_lines, opened, read_lines
from dragoman.errors import DataError

__all__ = ["Pair", "Pairs", "Problems", "fingerprint", "quick_signature", "read_lines", "read_pairs", "read_references"]

Share = Annotated[float, Field(ge=0, le=1)]


class Pairs(Config):
    """Texts in pairs, from a TSV file or from two parallel files."""

    kind: Literal["pairs"] = "pairs"
    train: tuple[str, ...] = practical(())
    """files to learn from: one TSV (source, tab, target), or a source file and a target file"""
    valid: tuple[str, ...] = practical(())
    """files to validate on, in the same form"""
    max_source_length: PositiveInt = 200
    """tokens of the longest source"""
    max_target_length: PositiveInt = 200
    """tokens of the longest target"""
    longer: Literal["drop", "truncate"] = "drop"
    """what becomes of a longer pair"""
    max_bad: Share = practical(0.01)
    """share of bad lines above which training refuses to start"""

    @field_validator("train", "valid", mode="before")
    @classmethod
    def _one_name_is_one_file(cls, given: Any) -> Any:
        return (given,) if isinstance(given, str) else given

    @field_validator("train", "valid")
    @classmethod
    def _one_or_two_files(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        if len(files) > 2 or not all(files):
            raise ValueError(f"must be one TSV file, or a source file and a target file, not {list(files)}.")
        return files


@dataclass(frozen=True)
class Pair:
    """A source, its target, and the line of the corpus they stand on."""

    source: str
    target: str
    line: int  # 1-based


def read_pairs(files: tuple[str, ...], problems: Problems) -> Iterator[Pair]:
    """Stream the good pairs of a corpus; bad lines go to `problems`."""
    if len(files) == 1:
        return read_table(files[0], problems)
    if len(files) == 2:
        return read_parallel(files[0], files[1], problems)
    raise DataError(
        f"Pairs are read from one TSV file or from two parallel files, not from {len(files)}. "
        "Set data.train (and data.valid), e.g. data.train=pairs.tsv."
    )


def read_table(file: str, problems: Problems) -> Iterator[Pair]:
    for line in checked_lines(file):
        problems.lines += 1
        source, _, target = line.text.partition("\t")
        reason = line.reason or reason_against(line.text.count("\t"), source, target)
        if reason:
            problems.add(file, line.number, reason)
        else:
            yield Pair(source, target, line.number)


def reason_against(tabs: int, source: str, target: str) -> str:
    """Why a line is no pair, or nothing."""
    if tabs > 1:
        return "more than two columns"
    if tabs == 0:
        return "no tab" if source.strip() else "empty line"
    return "" if source.strip() and target.strip() else f"empty {'target' if source.strip() else 'source'}"


def read_parallel(source_file: str, target_file: str, problems: Problems) -> Iterator[Pair]:
    for source, target in zip_longest(checked_lines(source_file), checked_lines(target_file)):
        if source is None or target is None:
            raise misaligned(source_file, target_file)
        problems.lines += 1
        if reason := reason_against_side(source):
            problems.add(source_file, source.number, reason)
        elif reason := reason_against_side(target):
            problems.add(target_file, target.number, reason)
        else:
            yield Pair(source.text, target.text, source.number)


def reason_against_side(line: Line) -> str:
    return line.reason or ("" if line.text.strip() else "empty line")


def misaligned(source_file: str, target_file: str) -> DataError:
    counts = [sum(1 for _ in checked_lines(file)) for file in (source_file, target_file)]
    return DataError(
        f"{source_file} has {counts[0]:,} lines and {target_file} has {counts[1]:,}, so their lines do not belong "
        "together; nothing was trained. Find the line that is missing or doubled."
    )


def read_references(files: tuple[str, ...], problems: Problems) -> list[tuple[str, tuple[str, ...]]]:
    """Each source once, in order of first appearance, with all its references."""
    references: dict[str, list[str]] = {}
    for pair in read_pairs(files, problems):
        references.setdefault(pair.source, []).append(pair.target)
    return [(source, tuple(targets)) for source, targets in references.items()]


def fingerprint(files: tuple[str, ...]) -> str:
    """A hash of what the files hold, whatever they are called."""
    contents = hashlib.sha256()
    for file in files:
        with opened(file) as stream:
            contents.update(hashlib.file_digest(stream, "sha256").digest())
    return contents.hexdigest()


def quick_signature(files: tuple[str, ...]) -> list[list[int]]:
    """Size and time of change (nanoseconds) of each file: while they stay, it need not be hashed again."""
    signature = []
    for file in files:
        with opened(file) as stream:
            facts = os.fstat(stream.fileno())
        signature.append([facts.st_size, facts.st_mtime_ns])
    return signature
