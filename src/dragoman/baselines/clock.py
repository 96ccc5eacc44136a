"""How long baselines may take."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")
END_AT: ContextVar[float] = ContextVar("END_AT", default=math.inf)


class OutOfTimeError(Exception):
    """The time for baselines is over."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """What is computed inside fails with OutOfTimeError at the first check after so many seconds."""
    token = END_AT.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        END_AT.reset(token)


def check_time() -> None:
    if time.monotonic() > END_AT.get():
        raise OutOfTimeError


def timed(items: Iterable[Item]) -> Iterator[Item]:
    """The items themselves, with a check before each."""
    for item in items:
        check_time()
        yield item
