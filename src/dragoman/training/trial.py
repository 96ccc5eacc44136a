"""How fast a training is going to be: a few updates of weights that are thrown away, on one thread and on all."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
import torch

from dragoman.data.chunk import Chunk, Numbers
from dragoman.training.depths import groups_of
from dragoman.training.estimate import Estimate, weight_of
from dragoman.training.optimisers import build_optimiser, set_rate
from dragoman.training.speed import Speed
from dragoman.training.update import Draw, update

LONG = 20.0  # seconds of training from which on a trial pays
SECONDS = 2.0  # of a trial, for each number of threads
ROUNDS = 5  # in which the numbers of threads take turns, since others may use the machine as well
FASTER = 0.97  # share of the time on one thread that more threads must reach to be worth it


class Trial:
    """Real updates on typical batches; the learner is spoiled by them, and random numbers are put back."""

    def __init__(self, estimate: Estimate) -> None:
        self.estimate, self.settings = estimate, estimate.settings
        self.optimiser = build_optimiser(self.settings.optimiser, groups_of(estimate.learner, self.settings))
        set_rate(self.optimiser, 0.0)

    def speed(self, stopped: Callable[[], bool]) -> Speed | None:
        """Nothing where the training is short, or was told to stop."""
        threads = torch.get_num_threads()
        candidates = [threads] if self.settings.threads is not None or threads == 1 else [1, threads]
        chunk, batches = self.estimate.first_batches()
        updates = self.estimate.updates_per_epoch(chunk, batches)
        order = np.argsort([weight_of(chunk, batch) for batch in batches])
        typical = [
            (batches[number], step) for number, step in self.estimate.typical(order, self.estimate.last(updates))
        ]
        try:
            with torch.random.fork_rng(devices=[]):
                self.seconds(chunk, typical[len(typical) // 2 :][:1])  # what is made at the first update is no measure
                first = self.seconds(chunk, typical)
                if first * self.estimate.updates(updates, first) < LONG:
                    return None
                found = self.rounds(chunk, typical, candidates, stopped)
        finally:
            torch.set_num_threads(threads)
        return None if stopped() else fastest(found, updates)

    def rounds(
        self,
        chunk: Chunk,
        typical: Sequence[tuple[Numbers, int]],
        candidates: Sequence[int],
        stopped: Callable[[], bool],
    ) -> dict[int, float]:
        """Seconds per update for each number of threads, the median of the rounds."""
        started_at = time.monotonic()
        found: dict[int, list[float]] = {threads: [] for threads in candidates}
        for _ in range(ROUNDS):
            for threads, seconds in found.items():
                torch.set_num_threads(threads)
                seconds.append(self.seconds(chunk, typical))
            if stopped() or time.monotonic() - started_at > SECONDS * len(candidates):
                break
        return {threads: median(seconds) for threads, seconds in found.items()}

    def seconds(self, chunk: Chunk, batches: Sequence[tuple[Numbers, int]]) -> float:
        """The mean time of an update; each batch is fed as in this update of the training."""
        started_at, estimate, settings = time.monotonic(), self.estimate, self.settings
        store = estimate.store
        for batch, step in batches:
            draw = Draw(chunk, batch, store.place, estimate.sampling, store.layout, gallery=store.gallery)
            update(
                estimate.learner,
                self.optimiser,
                [draw] * settings.accumulate,
                seed=settings.seed,
                step=step,
                clip=settings.clip,
                parts=1,
                device=estimate.device,
            )
            estimate.learner.carry = {}
        return max(1e-9, time.monotonic() - started_at) / len(batches)


def fastest(found: dict[int, float], updates_per_epoch: int) -> Speed:
    """More threads only where they are clearly faster: they are the first to suffer from what else is running."""
    fewest = min(found)
    best = min(found, key=lambda threads: found[threads])
    chosen = best if found[best] < FASTER * found[fewest] else fewest
    return Speed(chosen, found[chosen], updates_per_epoch, tuple(found.items()))
