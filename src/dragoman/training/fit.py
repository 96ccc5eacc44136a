"""The loop: a generator of events that can be killed at any instant and goes on with the same bits."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from dragoman.config import Config, practical
from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.order import Batching, Position, epoch_of, walk
from dragoman.data.sampling import Sampling
from dragoman.data.store import Store
from dragoman.errors import NumericalError, StorageError
from dragoman.training.checkpoints import Checkpoint, Checkpoints, refuse_misfit
from dragoman.training.events import Event, Finished, Resumed, Saved, Skipped, Stepped, Validated, Warned
from dragoman.training.learner import Learner
from dragoman.training.optimisers import (
    Adam,
    OptimiserConfig,
    build_optimiser,
    optimiser_tensors,
    restore_optimiser,
    set_rate,
)
from dragoman.training.progress import Progress
from dragoman.training.schedules import Constant, Plateau, ScheduleConfig, rate_factor
from dragoman.training.signals import Signals
from dragoman.training.update import Draw, Updated, first_bad_module, update

SKIPS_IN_A_ROW = 3  # updates that are not finite before the weights go back to the last checkpoint
SKIPS_OF_THE_LAST = (10, 1000)  # the same for scattered ones: over 1 % of the last thousand
ROLLBACKS = 3  # after so many the training is given up
FAILED_SAVES = 3


class Training(Config):
    """How the weights are learned."""

    seed: NonNegativeInt = 1
    """Decides initial weights, order and dropout."""
    steps: PositiveInt | None = practical(None)
    """Updates after which training ends."""
    epochs: PositiveInt | None = practical(None)
    """Passes over the data after which training ends (10 if no limit is set)."""
    minutes: PositiveFloat | None = practical(None)
    """Minutes of training after which it ends."""
    batching: Batching = Batching()
    accumulate: PositiveInt = 1
    """Batches an update."""
    clip: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0: any."""
    optimiser: OptimiserConfig = Adam()
    schedule: ScheduleConfig = Constant()
    validate_every: PositiveInt = 500
    """Updates between two validations."""
    validate_lines: PositiveInt = 500
    """Sources that are decoded at a validation, when a metric is monitored."""
    monitor: str = "loss"
    """What the best model is best in: "loss", "perplexity" or the name of a metric."""
    patience: PositiveInt | None = practical(None)
    """Validations without improvement after which training ends."""
    save_every: PositiveInt = practical(500)
    """Updates between two checkpoints."""
    keep: PositiveInt = practical(2)
    """Newest checkpoints that are kept, beside the best."""
    log_every: PositiveInt = practical(50)
    """Updates between two lines of metrics.jsonl."""
    device: str = practical("auto")
    """auto, cpu, cuda, cuda:N or mps."""
    threads: PositiveInt | None = practical(None)
    """CPU threads (default: torch's own choice)."""

    @property
    def no_limit(self) -> bool:
        return self.steps is None and self.epochs is None and self.minutes is None


@dataclass(frozen=True)
class Judge:
    """How a model is measured during training, and which of two values is better."""

    measure: Callable[[Callable[[], bool]], Mapping[str, float] | None]  # None: it was told to stop
    monitor: str
    higher_is_better: bool

    def improves(self, value: float, best: float | None) -> bool:
        if not math.isfinite(value):
            return False
        return best is None or (value > best if self.higher_is_better else value < best)


class Fit:
    """One training: its parts, its progress, and the generator that drives them."""

    def __init__(
        self,
        learner: Learner,
        store: Store,
        settings: Training,
        checkpoints: Checkpoints,
        judge: Judge | None,
        export: Callable[[int, float | None], None],
        device: torch.device,
        signals: Signals,
        sampling: Sampling | None = None,
    ) -> None:
        self.learner, self.store, self.settings, self.judge = learner, store, settings, judge
        self.checkpoints, self.export, self.device, self.signals = checkpoints, export, device, signals
        self.sampling = sampling
        self.optimiser = build_optimiser(settings.optimiser, learner.parameters())
        self.progress = Progress()
        self.epoch = 1
        self.seconds_before = 0.0
        self.started_at = time.monotonic()
        self.failed_saves = 0

    def run(self) -> Iterator[Event]:
        """Resume if there is something to resume, then train until a limit, patience or a signal."""
        yield from self.resume()
        self.started_at, self.seconds_before = time.monotonic(), self.progress.seconds
        first_done = self.done()
        if self.progress.step and self.progress.step % self.settings.validate_every == 0:
            yield from self.validate_once()
        source = walk(self.store, self.settings.batching, self.settings.seed, self.progress.position)
        while (reason := self.reason_to_stop()) is None:
            self.epoch = epoch_of(self.progress.position, self.store) + 1
            yield from self.step(self.draw(source), first_done)
            yield from self.after_step()
        yield from self.finish(reason)

    def draw(self, source: Iterator[tuple[Position, Chunk, Numbers]]) -> list[Draw]:
        """The batches of one update; the last update of an epoch may have fewer."""
        drawn: list[Draw] = []
        while len(drawn) < self.settings.accumulate and epoch_of(self.progress.position, self.store) == self.epoch - 1:
            self.progress.position, chunk, indices = next(source)
            sampling = self.sampling and self.sampling.in_epoch(self.epoch - 1)
            drawn.append(Draw(chunk, indices, self.store.place, sampling))
        return drawn

    def resume(self) -> Iterator[Event]:
        checkpoint = self.checkpoints.newest()
        if checkpoint is None:
            yield from self.save()  # a place to go back to, and a disk that is full is noticed now
            return
        self.restore(checkpoint)
        self.progress = Progress.from_state(checkpoint.state)
        if self.progress.best_step == self.progress.step:
            self.export(self.progress.step, self.progress.best_value)  # a kill may have come before it
        yield Resumed(checkpoint.step)

    def restore(self, checkpoint: Checkpoint) -> None:
        refuse_misfit(checkpoint, self.learner.model)
        self.learner.model.load_state_dict(checkpoint.model)
        restore_optimiser(self.optimiser, checkpoint.optimiser)

    def step(self, draws: list[Draw], first_done: float) -> Iterator[Event]:
        """One update and what it tells."""
        progress, settings = self.progress, self.settings
        progress.step += 1
        rate = settings.optimiser.rate * rate_factor(settings.schedule, progress.step, self.done(), progress.cuts)
        set_rate(self.optimiser, rate)
        started_at = time.monotonic()
        result = update(
            self.learner,
            self.optimiser,
            draws,
            seed=settings.seed,
            step=progress.step,
            clip=settings.clip,
            parts=progress.parts,
            device=self.device,
        )
        if result.parts != progress.parts:
            yield Warned(f"Memory ran out at step {progress.step}; every batch is now cut into {result.parts} parts.")
        progress.parts = result.parts
        progress.seconds = self.seconds_before + time.monotonic() - self.started_at
        progress.examples += len(result.examples)
        progress.target_tokens += result.target_tokens
        if not result.finite:
            yield from self.skip(result, draws)
            return
        progress.skipped = 0
        yield self.stepped(result, rate, time.monotonic() - started_at, first_done)

    def stepped(self, result: Updated, rate: float, seconds: float, first_done: float) -> Stepped:
        progress = self.progress
        progress.window_loss += result.loss * result.target_tokens
        progress.window_tokens += result.target_tokens
        mean_loss = None
        if progress.step % self.settings.log_every == 0:
            mean_loss = progress.window_loss / progress.window_tokens
            progress.window_loss, progress.window_tokens = 0.0, 0
        done = self.done()
        return Stepped(
            step=progress.step,
            epoch=self.epoch,
            loss=result.loss,
            mean_loss=mean_loss,
            rate=rate,
            gradient_norm=result.gradient_norm,
            target_tokens=result.target_tokens,
            tokens_per_second=result.target_tokens / max(seconds, 1e-9),
            seconds=progress.seconds,
            done=done,
            seconds_left=seconds_left(done, first_done, progress.seconds - self.seconds_before),
        )

    def skip(self, result: Updated, draws: list[Draw]) -> Iterator[Event]:
        """The update was not finite: count it, and go back when it is no accident."""
        progress = self.progress
        progress.skipped += 1
        window = progress.step - SKIPS_OF_THE_LAST[1]
        progress.skipped_steps = [step for step in progress.skipped_steps if step > window] + [progress.step]
        reason = f"loss {result.loss:g}, gradient norm {result.gradient_norm:g}"
        yield Skipped(progress.step, reason, result.examples)
        if progress.skipped >= SKIPS_IN_A_ROW or len(progress.skipped_steps) > SKIPS_OF_THE_LAST[0]:
            yield from self.roll_back(draws)

    def roll_back(self, draws: list[Draw]) -> Iterator[Event]:
        """Weights of the last good checkpoint; the data that was read since is passed over (as in PaLM)."""
        progress = self.progress
        if progress.rollbacks >= ROLLBACKS:
            culprit = first_bad_module(self.learner, draws, self.settings.seed, progress.step, self.device)
            raise NumericalError(
                f"Training gives no finite numbers, even after going back {ROLLBACKS} times (step {progress.step}; "
                f"first seen in {culprit}). Lower training.optimiser.rate or training.clip, and look at "
                "bad_batches.jsonl in the run folder."
            )
        checkpoint = self.checkpoints.newest()
        if checkpoint is None:
            raise NumericalError("Training gives no finite numbers, and there is no checkpoint to go back to.")
        self.restore(checkpoint)
        progress.rollbacks += 1
        progress.skipped, progress.skipped_steps = 0, []
        yield Warned(f"Step {progress.step}: back to the weights of step {checkpoint.step}; the data goes on.")

    def after_step(self) -> Iterator[Event]:
        progress, settings = self.progress, self.settings
        if progress.step % settings.validate_every == 0:
            yield from self.validate()
        elif progress.step % settings.save_every == 0 or self.signals.take_save():
            yield from self.save()

    def validate_once(self) -> Iterator[Event]:
        """Validate unless this step has been; a signal may have cut its validation short."""
        if self.progress.validated_step != self.progress.step:
            yield from self.validate()

    def validate(self) -> Iterator[Event]:
        """Measure, remember the best, save, and hand the best out; without a judge the newest is the best."""
        progress = self.progress
        if self.judge is None:
            progress.validated_step = progress.best_step = progress.step
            progress.best_value = None
            yield from self.save(export=True)
            return
        self.learner.eval()
        values = self.judge.measure(lambda: self.signals.stop is not None)
        self.learner.train()
        if values is None:
            return  # the signal cannot wait; the run that goes on from here validates first
        value = values[self.judge.monitor]
        best = self.judge.improves(value, progress.best_value)
        progress.validated_step = progress.step
        if best:
            progress.best_step, progress.best_value, progress.poor, progress.plateau = progress.step, value, 0, 0
        elif progress.step % self.settings.validate_every == 0:  # the last validation may come out of turn
            progress.poor, progress.plateau = progress.poor + 1, progress.plateau + 1
        schedule = self.settings.schedule
        if isinstance(schedule, Plateau) and progress.plateau > schedule.patience:
            progress.cuts, progress.plateau = progress.cuts + 1, 0
        yield Validated(progress.step, values, best)
        yield from self.save(export=best)

    def save(self, export: bool = False) -> Iterator[Event]:
        """A disk that is full stops the training only when it stays full."""
        model, optimiser = dict(self.learner.model.state_dict()), optimiser_tensors(self.optimiser)
        progress = self.progress
        try:
            if export:
                self.export(progress.step, progress.best_value)
        except StorageError as error:
            progress.best_step = progress.best_value = None  # what was not handed out cannot be beaten
            yield from self.bear(error)
        try:
            self.checkpoints.save(Checkpoint(progress.step, model, optimiser, progress.as_state()), progress.best_step)
        except StorageError as error:
            yield from self.bear(error)
            return
        self.failed_saves = 0
        yield Saved(progress.step)

    def bear(self, error: StorageError) -> Iterator[Event]:
        self.failed_saves += 1
        if self.failed_saves >= FAILED_SAVES:
            raise error
        yield Warned(f"{error} Training goes on; the next save tries again.")

    def finish(self, reason: str) -> Iterator[Event]:
        progress = self.progress
        if reason == "signal":
            yield from self.save()
            yield Finished(progress.step, reason, self.signals.stop)
            return
        yield from self.validate_once()
        if self.signals.stop is not None and progress.validated_step != progress.step:
            yield from self.finish("signal")
            return
        if self.failed_saves:
            yield from self.save()
        yield Finished(progress.step, reason)

    def done(self) -> float:
        """The share of the training that is behind us, by the limit that comes first."""
        progress, settings = self.progress, self.settings
        shares = [0.0]
        if settings.steps is not None:
            shares.append(progress.step / settings.steps)
        if settings.minutes is not None:
            shares.append(progress.seconds / (60 * settings.minutes))
        if settings.epochs is not None:
            shares.append(progress.examples / (settings.epochs * self.store.epoch_size))
        return min(1.0, max(shares))

    def reason_to_stop(self) -> str | None:
        progress, settings = self.progress, self.settings
        if self.signals.stop is not None:
            return "signal"
        if settings.steps is not None and progress.step >= settings.steps:
            return "steps"
        if settings.minutes is not None and progress.seconds >= 60 * settings.minutes:
            return "minutes"
        if settings.epochs is not None and epoch_of(progress.position, self.store) >= settings.epochs:
            return "epochs"
        if settings.patience is not None and progress.poor >= settings.patience:
            return "patience"
        return None


def seconds_left(done: float, first_done: float, seconds: float) -> float:
    """From the speed of this process alone; a clock that jumps cannot make it negative."""
    gained = done - first_done
    return max(0.0, seconds * (1 - done) / gained) if gained > 0 else math.inf
