"""Standard input as a file, since data is read several times."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.data.readers.corpora import Corpus
from dragoman.errors import ConfigError, StorageError
from dragoman.storage import temporary_folder

NAME = "stdin.txt"  # whatever the format: it is found out from the content


def names_standard_input(corpora: Sequence[Corpus]) -> bool:
    """Whether '-' is among the files; it can be only one of them."""
    sides = [side for corpus in corpora for side in ((corpus,) if isinstance(corpus, str) else corpus)]
    if sides.count("-") > 1:
        raise ConfigError("Standard input (-) can be given once only. Give the other data as files.")
    return "-" in sides


def spool(path: Path) -> None:
    """Copy standard input to a file, which is whole or not there."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        draft.rename(path)
    except OSError as error:
        raise StorageError(f"Cannot copy standard input to {path}: {error.strerror}.") from error
    finally:
        draft.unlink(missing_ok=True)


def standing_in(corpora: Sequence[Corpus], path: Path) -> tuple[Corpus, ...]:
    """The same corpora with a file in the place of '-'."""

    def named(side: str) -> str:
        return str(path) if side == "-" else side

    return tuple(
        named(corpus) if isinstance(corpus, str) else (named(corpus[0]), named(corpus[1])) for corpus in corpora
    )


@contextmanager
def spooled(*splits: Sequence[Corpus]) -> Iterator[list[tuple[Corpus, ...]]]:
    """Corpora to read while standard input, if it is among them, is kept in a temporary file."""
    if not names_standard_input([corpus for corpora in splits for corpus in corpora]):
        yield [tuple(corpora) for corpora in splits]
        return
    with temporary_folder() as folder:
        path = folder / NAME
        spool(path)
        yield [standing_in(corpora, path) for corpora in splits]
