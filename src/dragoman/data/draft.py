"""A folder that is whole or does not exist."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import StorageError
from dragoman.storage import synchronise


@contextmanager
def draft_of(folder: Path) -> Iterator[Path]:
    """A temporary folder beside, which takes the place of `folder` if nothing goes wrong, and goes away if it does.

    Whoever calls holds the lock of the run: what a process that died left here is swept away.
    """
    draft, old = (folder.with_name(f".{folder.name}.{state}") for state in ("draft", "old"))
    try:
        for stale in (draft, old):
            shutil.rmtree(stale, ignore_errors=True)
        draft.mkdir(parents=True)
        yield draft
        replace(folder, draft, old)
    except OSError as error:
        raise StorageError(
            f"Cannot write {folder}: {error.strerror or error}. Free some space or choose another place."
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def replace(folder: Path, draft: Path, old: Path) -> None:
    for path in (*draft.iterdir(), draft):
        synchronise(path)
    if folder.exists():
        folder.rename(old)
    draft.rename(folder)
    synchronise(folder.parent)
    shutil.rmtree(old, ignore_errors=True)
