"""The loop: a generator of events that can be killed at any instant and goes on with the same bits."""

import math
import time
from collections.abc import Callable, Iterator

import torch

from dragoman.data.chunk import Chunk, Numbers
from dragoman.data.masking import Masking
from dragoman.data.order import Position, epoch_of, walk
from dragoman.data.sampling import Sampling
from dragoman.data.store import Store
from dragoman.data.track_store import Turning
from dragoman.errors import NumericalError
from dragoman.training.averaging import MovingAverage
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.depths import groups_of
from dragoman.training.diagnosis import diagnose
from dragoman.training.estimate import Estimate
from dragoman.training.events import Event, Finished, Resumed, Skipped, Spiked, Stepped, Validated, Warned
from dragoman.training.judging import Judge
from dragoman.training.keeping import Keeper
from dragoman.training.learner import Learner
from dragoman.training.optimisers import build_optimiser, set_rate
from dragoman.training.progress import Progress
from dragoman.training.schedules import Plateau, rate_factor
from dragoman.training.settings import Training
from dragoman.training.signals import Signals
from dragoman.training.spikes import FAST, Spikes
from dragoman.training.stall import FLAT, JUDGED, LATEST, LOWER, TIMES, WINDOW, Restart
from dragoman.training.update import Draw, Updated, update

SKIPS_IN_A_ROW = 3  # updates that are not finite before the weights go back to the last checkpoint
SKIPS_OF_THE_LAST = (10, 1000)  # the same for scattered ones: over 1 % of the last thousand
TIMED = 100  # updates after which the speed of the trial is looked at again
ROLLBACKS = 3  # after so many the training is given up …
FORGIVEN = 1000  # … unless so many finite updates lie between two


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
        sampling: Sampling | Masking | Turning | None = None,
        *,
        began_at: float | None = None,
        reserve: float = 0.0,
        restart: Restart | None = None,
        replan: Callable[[float], Training | None] | None = None,
    ) -> None:
        """`began_at` is the time from which `settings.minutes` count, and `reserve` seconds of them are for what comes
        after the training. `restart` is for a loss that does not fall. `replan` is told the seconds per update that
        the first ones took, and may give other settings."""
        self.learner, self.store, self.settings, self.judge = learner, store, settings, judge
        self.checkpoints, self.device, self.signals, self.sampling = checkpoints, device, signals, sampling
        self.optimiser = build_optimiser(settings.optimiser, groups_of(learner, settings))
        self.average = MovingAverage(learner.model, settings.average) if settings.average else None
        self.keeper = Keeper(learner, self.optimiser, self.average, checkpoints, export)
        self.began_at, self.reserve, self.restart, self.replan = began_at, reserve, restart, replan
        self.progress = Progress()
        self.epoch = 1
        self.seconds_before = 0.0
        self.seen_at = time.monotonic()
        self.timed_seconds, self.timed_steps = 0.0, 0

    def run(self) -> Iterator[Event]:
        """Resume if there is something to resume, then train until a limit, patience or a signal."""
        yield from self.resume()
        self.seen_at, self.seconds_before = time.monotonic(), self.progress.seconds
        first_step = self.progress.step
        if self.began_at is not None:
            self.progress.spent += max(0.0, self.seen_at - self.began_at)
        first_done = self.done()
        if self.progress.step and self.progress.step % self.settings.validate_every == 0:
            yield from self.validate_once()
        source = walk(self.store, self.settings.batching, self.settings.seed, self.progress.position)
        while (reason := self.reason_to_stop()) is None:
            self.epoch = epoch_of(self.progress.position, self.store) + 1
            draws = self.draw(source)
            yield from self.step(draws, first_done)
            yield from self.after_step(draws)
            if self.progress.step == first_step + TIMED:
                yield from self.plan_again()
        yield from self.finish(reason)

    def draw(self, source: Iterator[tuple[Position, Chunk, Numbers]]) -> list[Draw]:
        """The batches of one update; the last update of an epoch may have fewer."""
        drawn: list[Draw] = []
        while len(drawn) < self.settings.accumulate and epoch_of(self.progress.position, self.store) == self.epoch - 1:
            begins = self.progress.position.batch == 0
            self.progress.position, chunk, indices = next(source)
            sampling = self.sampling and self.sampling.in_epoch(self.epoch - 1)
            store = self.store
            drawn.append(Draw(chunk, indices, store.place, sampling, store.layout, begins, store.gallery))
        return drawn

    def resume(self) -> Iterator[Event]:
        checkpoint = self.checkpoints.newest()
        if checkpoint is None:
            if self.settings.estimate:
                yield from self.estimate()
            yield from self.save()  # a place to go back to, and a disk that is full is noticed now
            return
        self.keeper.restore(checkpoint)
        self.progress = Progress.from_state(checkpoint.state)
        if self.progress.best_step == self.progress.step:
            self.keeper.hand_out(self.progress)  # a kill may have come before it
        yield Resumed(checkpoint.step)

    def estimate(self) -> Iterator[Event]:
        """Try the longest batch before the training; what had to be cut to fit stays cut."""
        estimate = Estimate(
            self.learner, self.store, self.settings, self.checkpoints.folder, self.device, self.sampling
        )
        found = estimate.made(lambda: self.signals.stop is not None)
        if found is None:
            return
        self.progress.parts = found.parts
        yield from (Warned(message) for message in estimate.warnings(found))
        yield found

    def step(self, draws: list[Draw], first_done: float) -> Iterator[Event]:
        """One update and what it tells."""
        progress, settings = self.progress, self.settings
        progress.step += 1
        epochs = progress.examples / self.store.epoch_size
        factor = rate_factor(settings.schedule, progress.step, self.done(), progress.cuts, epochs)
        rate = settings.optimiser.rate * factor * LOWER**progress.lowered
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
        self.timed_seconds, self.timed_steps = self.timed_seconds + time.monotonic() - started_at, self.timed_steps + 1
        self.tick()
        progress.examples += len(result.examples)
        progress.target_tokens += result.target_tokens
        if not result.finite:
            yield from self.skip(result, draws)
            return
        progress.skipped = 0
        progress.finite += 1
        if progress.finite >= FORGIVEN:
            progress.rollbacks = 0
        if self.average is not None:
            self.average.update(progress.averaged)
            progress.averaged += 1
        yield self.stepped(result, rate, time.monotonic() - started_at, first_done)
        if self.stalls(result.loss):
            yield from self.lower_rate()
        elif progress.spikes.see(result.loss):
            yield from self.spike(result, draws)

    def stalls(self, loss: float) -> bool:
        """Whether the loss of a twentieth of the training, after some updates, was no better than that of unigrams."""
        progress, done = self.progress, self.done()
        if self.restart is None or progress.judged_from > 1 or done < progress.judged_from or done > LATEST:
            return False
        if progress.step - progress.lowered_at <= self.restart.fewest - JUDGED:
            return False
        progress.judged_loss, progress.judged_updates = progress.judged_loss + loss, progress.judged_updates + 1
        if done < progress.judged_from + WINDOW or progress.judged_updates < JUDGED:
            return False
        flat = progress.judged_loss / progress.judged_updates > FLAT * self.restart.unigram
        progress.judged_loss, progress.judged_updates = 0.0, 0
        progress.judged_from = done + WINDOW if flat and progress.lowered < TIMES else 2.0
        return flat and progress.lowered < TIMES

    def lower_rate(self) -> Iterator[Event]:
        """Begin anew from the first weights at a lower rate; the data goes on."""
        progress, restart = self.progress, self.restart
        assert restart is not None  # noqa: S101
        self.keeper.begin_with(restart.weights())
        progress.averaged, progress.spikes, progress.lowered = 0, Spikes(), progress.lowered + 1
        progress.anchors = []  # no rollback goes to weights of the higher rate
        progress.lowered_at = progress.step
        rate = self.settings.optimiser.rate * LOWER**progress.lowered
        yield Warned(
            f"Step {progress.step}: the loss stays at that of a model which ignores its input ({restart.unigram:.2f}). "
            f"The learning rate is lowered to {rate:.2g}, and training begins again from the first weights."
        )
        yield from self.save(in_turn=True)

    def plan_again(self) -> Iterator[Event]:
        """The first updates have shown the speed: what was planned for another one is planned anew."""
        if self.replan is None or self.settings.minutes is None or self.timed_steps == 0:
            return
        seconds = self.timed_seconds / self.timed_steps
        if (settings := self.replan(seconds)) is not None:
            self.settings = settings
            yield Warned(f"An update takes {seconds:.3g} s, unlike in the trial: the rest is planned for that.")

    def tick(self) -> None:
        """Add the time since the last look; a clock that goes backwards adds none."""
        now = time.monotonic()
        self.progress.seconds += max(0.0, now - self.seen_at)
        self.seen_at = now

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
            truth=self.learner.regime.truth(progress.step),
            others=result.others,
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

    def spike(self, result: Updated, draws: list[Draw]) -> Iterator[Event]:
        """The loss leapt up: say so, and go back to before it if that is wanted."""
        progress = self.progress
        yield Spiked(progress.step, result.loss, self.settings.on_spike)
        if self.settings.on_spike == "rollback":
            before = [step for step in progress.anchors if step <= progress.step - FAST]
            yield from self.roll_back(draws, max(before, default=min(progress.anchors, default=None)), "loss")

    def roll_back(self, draws: list[Draw], at_most: int | None = None, what: str = "") -> Iterator[Event]:
        """Weights of the last checkpoint in turn; the data that was read since is passed over (as in PaLM).

        A save that a signal asked for is no such checkpoint, so that a signal does not decide where this goes. What
        comes of it is saved at once: a kill right after it finds the same weights.
        """
        progress = self.progress
        if progress.rollbacks >= ROLLBACKS:
            raise self.given_up(draws, what)
        checkpoint = self.checkpoints.newest(max(progress.anchors, default=None) if at_most is None else at_most)
        if checkpoint is None:
            raise NumericalError("Training gives no finite numbers, and there is no checkpoint to go back to.")
        self.keeper.restore(checkpoint)
        self.learner.carry = {}  # that of the checkpoint belongs to other data
        progress.averaged = checkpoint.state["averaged"]
        progress.rollbacks += 1
        progress.skipped, progress.skipped_steps, progress.finite = 0, [], 0
        yield Warned(f"Step {progress.step}: back to the weights of step {checkpoint.step}; the data goes on.")
        yield from self.save(in_turn=True)

    def given_up(self, draws: list[Draw], what: str) -> NumericalError:
        """Why the training ends: the part and the data where numbers stop being finite, or a loss that runs away."""
        step, parts = self.progress.step, self.progress.parts
        found = None if what else diagnose(self.learner, draws, self.settings.seed, step, parts, self.device)
        fault = f"The {what} ran away" if found is None else "Training gives no finite numbers"
        place = "" if found is None else f"; first seen in {found.sentence(self.store.place)}"
        look = "" if found is None else ", and look at bad_batches.jsonl in the run folder"
        return NumericalError(
            f"{fault}, even after going back {ROLLBACKS} times (step {step}{place}). "
            f"Lower training.optimiser.rate or training.clip{look}."
        )

    def after_step(self, draws: list[Draw]) -> Iterator[Event]:
        progress, settings = self.progress, self.settings
        validating = progress.step % settings.validate_every == 0
        if not (validating or progress.step % settings.save_every == 0 or self.signals.take_save()):
            return
        if (name := self.keeper.not_finite()) is not None:
            yield Warned(f"Step {progress.step}: '{name}' is not finite any more.")
            yield from self.roll_back(draws)
        yield from self.validate() if validating else self.save()

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
        started_at = time.monotonic()
        self.learner.eval()
        with self.keeper.as_measured():
            values = self.judge.measure(lambda: self.signals.stop is not None)
        self.learner.train()
        progress.validation_seconds = max(progress.validation_seconds, time.monotonic() - started_at)
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

    def save(self, export: bool = False, in_turn: bool = False) -> Iterator[Event]:
        """Save, and remember what a rollback may go to: checkpoints that come in turn."""
        progress, settings = self.progress, self.settings
        in_turn = in_turn or progress.step % settings.save_every == 0 or progress.step % settings.validate_every == 0
        anchors = progress.anchors
        if in_turn and progress.step not in anchors:
            anchors = [*anchors, progress.step][-2 if settings.on_spike == "rollback" else -1 :]
        yield from self.keeper.save(progress, export, anchors)

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
        if progress.best_step is None:  # without a model, nothing is finished
            self.refuse_infinite()
            progress.best_step, progress.best_value = progress.step, self.keeper.unwritten
            self.keeper.hand_out(progress)
            yield from self.save()
        elif self.keeper.failed_saves:
            yield from self.save()
        yield Finished(progress.step, reason)

    def refuse_infinite(self) -> None:
        """A model that no validation could measure is no model; one that only could not be written is."""
        if self.judge is None or self.keeper.unwritten is not None:
            return
        with self.keeper.as_measured():
            values = self.judge.measure(lambda: False)
        value = math.nan if values is None else values[self.judge.monitor]
        if not math.isfinite(value):
            raise NumericalError(
                f"Training ended at step {self.progress.step}, and no validation gave a finite {self.judge.monitor}: "
                "there is no model to keep. Lower training.optimiser.rate or training.clip, and look at "
                "bad_batches.jsonl in the run folder."
            )

    def done(self) -> float:
        """The share of the training that is behind us, by the limit that comes first."""
        progress, settings = self.progress, self.settings
        shares = [0.0]
        if settings.steps is not None:
            shares.append(progress.step / settings.steps)
        if settings.minutes is not None:
            shares.append(progress.seconds / self.seconds_to_train(settings.minutes))
        if settings.epochs is not None:
            shares.append(progress.examples / (settings.epochs * self.store.epoch_size))
        return min(1.0, max(shares))

    def seconds_to_train(self, minutes: float) -> float:
        """Of the minutes for everything: what is left when the data was made ready, and of which the last validation
        and the report need a part; a fifth at least."""
        seconds = 60 * minutes
        return max(seconds / 5, seconds - self.progress.spent - self.progress.validation_seconds - self.reserve)

    def seconds_over(self) -> float:
        """How long this training has taken with all that belongs to it."""
        return self.progress.spent + self.progress.seconds + max(0.0, time.monotonic() - self.seen_at)

    def reason_to_stop(self) -> str | None:
        progress, settings = self.progress, self.settings
        if self.signals.stop is not None:
            return "signal"
        if settings.steps is not None and progress.step >= settings.steps:
            return "steps"
        if settings.minutes is not None and progress.seconds >= self.seconds_to_train(settings.minutes):
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
