"""Inputs of `dragoman predict` that cannot be read: an error, or left out where that is asked for."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

from dragoman.errors import DataError

if TYPE_CHECKING:
    from dragoman.data.readers.lines import Problems

Item = TypeVar("Item")


def good(items: "Iterator[Item]", problems: "Problems", skip_bad: bool, what: str) -> "Iterator[Item]":
    """Those that can be read; the first that cannot is an error, unless such are to be left out."""
    from dragoman.data.readers.picture_places import advice

    def refuse() -> None:
        if problems.count and not skip_bad:
            mend = f"Mend it, or give --skip-bad to have such {what} left out.{advice(problems)}"
            raise DataError(f"{problems.first[0]}. {mend}")

    for one in items:
        refuse()
        yield one
    refuse()
