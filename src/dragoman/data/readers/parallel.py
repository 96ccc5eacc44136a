"""Parallel text: two files whose lines belong together."""

from collections.abc import Iterator
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.lines import Line, Problems, checked_lines
from dragoman.data.readers.pair import Pair
from dragoman.errors import DataError

CLEAR = 1.0  # how much better lines must match, summed over the lines, before a place is named


def read_parallel(source_file: str, target_file: str, problems: Problems, corpus: int) -> Iterator[Pair]:
    before = problems.begin(source_file, corpus)
    for source, target in zip_longest(checked_lines(source_file), checked_lines(target_file)):
        if source is None or target is None:
            raise misaligned(source_file, target_file)
        problems.lines += 1
        if reason := reason_against_side(source):
            problems.add(source_file, source.number, reason)
        elif reason := reason_against_side(target):
            problems.add(target_file, target.number, reason)
        else:
            yield Pair(source.text, target.text, before + source.number)


def reason_against_side(line: Line) -> str:
    return line.reason or ("" if line.text.strip() else "empty line")


def misaligned(source_file: str, target_file: str) -> DataError:
    files = source_file, target_file
    lengths = [np.fromiter((len(line.text) for line in checked_lines(file)), np.int32) for file in files]
    line = lost_at(*lengths)
    place = f" They probably part at line {line:,}, where the lengths cease to match." if line is not None else ""
    return DataError(
        f"{source_file} has {len(lengths[0]):,} lines and {target_file} has {len(lengths[1]):,}, so their lines do "
        f"not belong together; nothing was done.{place} Find the line that is missing or doubled."
    )


def lost_at(source: NDArray[np.int32], target: NDArray[np.int32]) -> int | None:
    """The line (from 1) before which lines match as they stand, and from which they match best when shifted.

    It is where the sum of |log length ratio| is smallest; None where no place is clearly better than the end.
    """
    shift = len(source) - len(target)
    if shift < 0:
        return lost_at(target, source)
    longer, shorter = np.log1p(source), np.log1p(target)
    usual = float(np.median(longer) - np.median(shorter)) if len(shorter) else 0.0
    straight = np.abs(longer[: len(shorter)] - shorter - usual)
    shifted = np.abs(longer[shift:] - shorter - usual)
    costs = np.concatenate([[0.0], np.cumsum(straight)]) + np.concatenate([np.cumsum(shifted[::-1])[::-1], [0.0]])
    best = int(costs.argmin())
    return best + 1 if costs[best] + CLEAR < costs[-1] else None
