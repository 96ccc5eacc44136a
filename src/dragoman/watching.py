"""How far an evaluation is, told to whoever waits for it."""

from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")
Watch = Callable[[str, int, int], None]  # what is being done, how many are done, and how many there are


def unwatched(what: str, done: int, total: int) -> None:
    """Nobody waits."""


def watched(items: Iterator[Item], what: str, total: int, watch: Watch) -> Iterator[Item]:
    """The same items, and how many there were so far is told."""
    for done, item in enumerate(items, start=1):
        yield item
        watch(what, done, total)
