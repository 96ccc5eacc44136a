"""Files that a verb writes never replace those that it reads."""

from collections.abc import Iterable
from pathlib import Path

from dragoman.errors import ConfigError


def refuse_overwriting(out: Path | None, inputs: Iterable[str | Path | None]) -> None:
    """A sentence before anything is opened, where an output is the same file as an input, by whatever name."""
    for given in inputs:
        if out is not None and given is not None and out.exists() and Path(given).exists() and out.samefile(given):
            raise ConfigError(f"{out} is read and would be written over. Write into another file.")
