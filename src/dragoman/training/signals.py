"""Signals set a flag and nothing else; the loop looks at it between two steps."""

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType

STOPPING = (signal.SIGTERM, signal.SIGINT)


class Interrupted(Exception):
    """A signal came while data was being prepared, or a report was being written."""


class Signals:
    """SIGTERM and SIGINT: save and stop. SIGUSR1: save and go on. A second stop: leave at once, the disk is whole."""

    def __init__(self) -> None:
        self.stop: int | None = None
        self.save = False
        self.before: dict[int, object] = {}

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            for number in (*STOPPING, signal.SIGUSR1):
                if signal.getsignal(number) is not signal.SIG_IGN:  # nohup, or the background of a script
                    self.before[number] = signal.signal(number, self.handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def handle(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR1:
            self.save = True
        elif self.stop is not None:
            os._exit(128 + number)
        else:
            self.stop = number

    def interrupting(self, watch: Callable[[str, int], None]) -> Callable[[str, int], None]:
        """The same watcher of a preparation, which ends it when a signal has come."""

        def watched(what: str, done: int) -> None:
            if self.stop is not None:
                raise Interrupted
            watch(what, done)

        return watched

    def take_save(self) -> bool:
        """Whether a save was asked for since the last look."""
        asked, self.save = self.save, False
        return asked
