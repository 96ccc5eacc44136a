"""Which examples a report is about: drawn by a key from the files given, else from the validation data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from dragoman.data.permutation import permutation
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.standard_input import spooled
from dragoman.errors import DataError

Kind = TypeVar("Kind")
Read = Callable[[Sequence[str], Problems, Problems], Iterator[Kind]]  # files (none: validation data), bad, unseen


@dataclass(frozen=True)
class Drawn:
    """Where a sample comes from."""

    files: tuple[str, ...]
    count: int
    total: int
    bad_lines: int
    split: Literal["given", "test", "valid"]
    changed: bool = False  # since the run began


def draw(
    read: Read[Kind],
    own: tuple[str, ...],
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    unseen: Problems,
    noun: str = "example",
) -> tuple[Drawn, list[Kind]]:
    """So many examples of `on`, else of the `own` validation files. They are read twice, so that no more than the
    sample is ever in memory."""
    problems = Problems()
    with spooled(on) as (corpora,):
        plain = files_of(corpora)
        total = sum(1 for _ in read(plain, problems, unseen))
        files = tuple("standard input" if file == "-" else file for file in on) or own
        if not total:
            raise DataError(f"There is no {noun} in {' and '.join(files)}, so there is nothing to measure on.")
        wanted = set(permutation(total, "report")[:lines].tolist())
        chosen = [one for place, one in enumerate(read(plain, Problems(), Problems())) if place in wanted]
    known = {} if on else record.get("valid") or {}
    changed = "sha256" in known and fingerprint(files) != known["sha256"]
    return Drawn(files, len(chosen), total, problems.count, "given" if on else "valid", changed), chosen
