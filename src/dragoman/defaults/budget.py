"""How long a training may be, and how often it sees each example within that."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman.training.speed import Speed

ARITHMETIC = 45e9  # operations per second of a training on one core, by which minutes are turned into epochs, roughly
ROUNDS = 20  # validations of a training: enough to stop near the best, and to see the curve
MOST_UPDATES = 1_000  # between two validations, so that a long training can stop early
FEW_EPOCHS, FEW_ROUNDS, MANY_UPDATES = 3, 6, 10_000  # the same where hardly anything can be learned by heart


@dataclass(frozen=True)
class Budget:
    """The limits that are given and, once some updates have been timed, the speed."""

    steps: int | None = None
    epochs: int | float | None = None
    minutes: int | float | None = None
    threads: int | None = None
    speed: Speed | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Budget":
        """From the settings that are given, by their dotted names."""
        names = ("steps", "epochs", "minutes", "threads")
        return cls(**{name: given.get(f"training.{name}") for name in names})

    def timed(self, speed: Speed) -> "Budget":
        return replace(self, speed=speed)

    def epochs_of(self, examples: int, updates: int, operations: float) -> float:
        """Epochs until the first of the given limits, infinite without one. `updates` make an epoch, and an example
        takes about so many `operations`, which counts as long as nothing has been timed."""
        limits = [math.inf if self.epochs is None else float(self.epochs)]
        if self.steps is not None:
            limits.append(self.steps / max(1, updates))
        if self.minutes is not None:
            limits.append(60 * self.minutes / self.seconds_of(examples, operations))
        return min(limits)

    def seconds_of(self, examples: int, operations: float) -> float:
        """Of an epoch."""
        if self.speed is not None:
            return self.speed.seconds_per_epoch
        own = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        cores = self.threads or own
        return max(1e-9, examples * operations / (ARITHMETIC * (cores or 1)))


def validation_interval(updates: int, epochs: float, least: int = 20) -> int:
    """Updates between two validations: about twenty in a training of so many epochs, one per 1,000 updates at least."""
    return int(min(MOST_UPDATES, max(least, updates * epochs / ROUNDS)))


def sparse_interval(updates: int, epochs: float, least: int = 20) -> int:
    """The same for validation data as large as hundreds of updates: about six in a training of three epochs or fewer.
    In three minutes of books, eleven validations took about 50 of 155 seconds."""
    if epochs > FEW_EPOCHS:
        return validation_interval(updates, epochs, least)
    return int(min(MANY_UPDATES, max(least, updates * epochs / FEW_ROUNDS)))
