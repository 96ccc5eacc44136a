"""The test data of a comparison: the same items for all contenders, all of them or as many as one likes."""

import hashlib
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Any

from dragoman.comparison.kind import Items, Keyed, Kind
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.pairs import Pairs, Problems
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import Experiment


def tested_files(settings: Experiment, files: Sequence[str]) -> tuple[str, ...]:
    """What is tested on: files, or those of training, of which a part is held out."""
    data = settings.data
    if isinstance(data, Pairs):
        return data.files("test")
    return tuple(files) or (data.files("train") if is_held_out(settings, files) else ())


def is_held_out(settings: Experiment, files: Sequence[str]) -> bool:
    """Whether the test is a part of the training files."""
    return not files and bool(getattr(settings.data, "holds_out_test", False))


def read_test(kind: Kind, settings: Experiment, files: Sequence[str], lines: int) -> tuple[Items, int]:
    """The test sources with their references: all, or as many of them, drawn by a key."""
    named = tested_files(settings, files)
    if not named:
        raise ConfigError("There is no test data any more: give --test as when the comparison was begun, or --fresh.")
    problems = Problems()
    items, sources = chosen(kind.read(settings, files, problems), lines)
    if not items:
        summary = f"\n{problems.summary()}" if problems.count else ""
        what = "pair" if kind.name == "pairs" else kind.words.item
        raise DataError(f"There is no good {what} to test on in {' and '.join(named)}.{summary}")
    return items, sources


def drawn(pairs: Iterable[Pair], most: int) -> tuple[Items, int]:
    """Of pairs: equal sources are one."""
    return chosen(((pair.source, pair.source, pair.target) for pair in pairs), most)


def chosen(keyed: Iterable[Keyed], most: int) -> tuple[Items, int]:
    """The sources of the smallest hashes with all their references, in the order of the file, and how many different
    ones there are. Only those drawn so far are held: one that is put out by smaller hashes never comes back."""
    known: set[int] = set()  # hashes: of sources only those that are drawn are kept
    kept: dict[int, tuple[Any, list[Any]]] = {}
    largest: list[int] = []  # a heap of the negated hashes of those that are kept
    for key, source, truth in keyed:
        number = int.from_bytes(hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        if number in kept:
            kept[number][1].append(truth)
        elif number not in known and (len(kept) < most or number < -largest[0]):
            kept[number] = source, [truth]
            heappush(largest, -number)
            if len(kept) > most:
                del kept[-heappop(largest)]
        known.add(number)
    return [(source, tuple(truths)) for source, truths in kept.values()], len(known)
