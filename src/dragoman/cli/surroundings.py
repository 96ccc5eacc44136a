"""What a command stands in: three streams that may be closed, and signals that may come at any moment."""

import os
import shutil
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from dragoman.storage import TEMPORARY

SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"  # a progress bar hides it


def mind_streams() -> None:
    """UTF-8 whatever the locale; a closed stream is an empty one, so that no file that is opened gets its number.

    The name of a file that is not UTF-8 comes out on stdout as it is; on stderr, which must never fail, it is escaped.
    """
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 (open as long as the process lives)
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    sys.stderr.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def mind_signals() -> None:
    """Ctrl-C and SIGTERM end a command at once; training has handlers of its own, which save first."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or the background of a script
            signal.signal(number, leave)


def leave(number: int, frame: FrameType | None) -> NoReturn:
    """Without an exception: inside an import or foreign code it may get lost, be reported, or crash the process."""
    with suppress(OSError, RuntimeError, ValueError):  # a broken pipe, or the signal came in the middle of a write
        sys.stdout.flush()
    for folder in list(TEMPORARY):
        shutil.rmtree(folder, ignore_errors=True)
    if sys.stderr.isatty():
        os.write(2, SHOW_CURSOR)
    os._exit(128 + number)
