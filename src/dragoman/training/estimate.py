"""What a training is going to take, before it begins: its longest batch is tried, and a few typical ones are timed."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.masking import Masking
from dragoman.data.order import batches_of
from dragoman.data.permutation import permutation
from dragoman.data.sampling import Sampling
from dragoman.data.store import Store
from dragoman.data.track_store import Turning
from dragoman.devices import PeakMemory
from dragoman.training.events import Estimated
from dragoman.training.learner import Learner
from dragoman.training.optimisers import moments_of
from dragoman.training.settings import Training
from dragoman.training.update import Draw, gradients

TYPICAL = 6  # batches that are timed
LEAST_SECONDS = 0.01  # of an update, where nothing has been timed yet
SECONDS = 3.0  # after which no further batch is tried


class Estimate:
    """A trial that leaves no trace: gradients are dropped, random numbers put back."""

    def __init__(
        self,
        learner: Learner,
        store: Store,
        settings: Training,
        folder: Path,
        device: torch.device,
        sampling: Sampling | Masking | Turning | None = None,
    ) -> None:
        self.learner, self.store, self.settings, self.folder, self.device = learner, store, settings, folder, device
        self.sampling = sampling

    def made(self, stopped: Callable[[], bool]) -> Estimated | None:
        """The estimate, or nothing if it was told to stop."""
        started_at, settings = time.monotonic(), self.settings
        chunk, batches = self.first_batches()
        weights = np.array([weight_of(chunk, batch) for batch in batches])
        order = np.argsort(weights)
        updates_per_epoch = self.updates_per_epoch(chunk, batches)
        last = self.last(updates_per_epoch)
        with torch.random.fork_rng(devices=[]):
            if settings.compile:  # neither its minutes nor its memory are those of an update
                self.trial(chunk, batches[order[-1]], 1, last)
                started_at = time.monotonic()
            with PeakMemory(self.device) as memory:
                parts, first_seconds = self.trial(chunk, batches[order[-1]], 1, last)
            seconds = []
            for batch, step in self.typical(order, last):
                if stopped() or time.monotonic() - started_at > SECONDS:
                    break
                seconds.append(self.trial(chunk, batches[batch], parts, step)[1])
        if stopped():
            return None
        mean = sum(seconds) / len(seconds) if seconds else first_seconds * weights.mean() / weights.max()
        a_update = max(1e-9, mean * len(batches) * len(self.store) / chunk.size / updates_per_epoch)
        updates = self.updates(updates_per_epoch, a_update)
        longer = max(1.0, self.heaviest() / (weights.max() / batches[order[-1]].size)) if self.store.chunks > 1 else 1.0
        size = sum(weight.numel() * weight.element_size() for weight in self.learner.parameters())
        moments = size * moments_of(settings.optimiser)
        return Estimated(
            updates_per_epoch=updates_per_epoch,
            seconds_per_epoch=a_update * updates_per_epoch,
            updates=updates,
            seconds=a_update * updates,
            memory_bytes=int(memory.before + (memory.peak - memory.before) * longer) + moments,
            checkpoint_bytes=size + moments + (size if settings.average else 0),
            checkpoints=settings.keep + 1,
            free_bytes=shutil.disk_usage(self.folder).free,
            parts=parts,
            threads=torch.get_num_threads(),
        )

    def warnings(self, found: Estimated) -> Iterator[str]:
        """What will not fit."""
        if found.parts > 1:
            yield f"Memory is too small for the longest batch; every batch is now cut into {found.parts} parts."
        if found.checkpoint_bytes * found.checkpoints > found.free_bytes:
            yield (
                f"The disk of {self.folder} has {found.free_bytes:,} bytes left, and {found.checkpoints} checkpoints "
                f"of {found.checkpoint_bytes:,} need more. Make room, or lower training.keep."
            )

    def first_batches(self) -> tuple[Chunk, list[Numbers]]:
        """The chunk that training begins with, as it is going to be cut; a chunk is a random sample of the corpus."""
        settings = self.settings
        number = int(permutation(self.store.chunks, settings.seed, "chunks", 0)[0])
        chunk = self.store.chunk(number)
        return chunk, batches_of(self.store, chunk, settings.batching, settings.seed, 0, number)

    def updates_per_epoch(self, chunk: Chunk, batches: list[Numbers]) -> int:
        return math.ceil(len(batches) * len(self.store) / chunk.size / self.settings.accumulate)

    def typical(self, order: Numbers, last: int) -> list[tuple[int, int]]:
        """Batches from light to heavy and updates up to the last one, both at equal distances: what is fed may change
        while a model learns. A short training is not held up by many."""
        count = min(TYPICAL, max(1, (self.settings.steps or 1000) // 10), len(order))
        shares = [(number + 0.5) / count for number in range(count)]
        return [(int(order[int(share * len(order))]), int(share * last)) for share in shares]

    def trial(self, chunk: Chunk, batch: Numbers, parts: int, step: int) -> tuple[int, float]:
        """Gradients of one batch, fed as in this update: the parts it had to be cut into, and the seconds it took."""
        started_at = time.monotonic()
        store = self.store
        draws = [Draw(chunk, batch, store.place, self.sampling, store.layout, gallery=store.gallery)]
        parts = gradients(self.learner, draws, self.settings.seed, step, self.settings.clip, parts, self.device)[3]
        self.learner.zero_grad(set_to_none=True)
        self.learner.carry = {}
        return parts, max(0.0, time.monotonic() - started_at)

    def updates(self, updates_per_epoch: int, seconds: float) -> int:
        """Until the limit that comes first."""
        settings = self.settings
        limits = [
            settings.steps,
            settings.epochs and settings.epochs * updates_per_epoch,
            settings.minutes and max(1, round(60 * settings.minutes / seconds)),
        ]
        return min(limit for limit in limits if limit)

    def last(self, updates_per_epoch: int) -> int:
        """The last update before anything was timed."""
        return self.updates(updates_per_epoch, LEAST_SECONDS)

    def heaviest(self) -> float:
        """What an example of the longest source and the longest target of all chunks would weigh."""
        counts = self.store.counts
        return float((counts.longest_source + 1) * (counts.longest_target + 1))


def weight_of(chunk: Chunk, batch: Numbers) -> float:
    """What a batch takes in memory goes with its rows, times source steps, times target steps: each looks at each."""
    source = int((chunk.source_offsets[batch + 1] - chunk.source_offsets[batch]).max())
    target = int((chunk.target_offsets[batch + 1] - chunk.target_offsets[batch]).max())
    return float(len(batch) * (source + 1) * (target + 1))
