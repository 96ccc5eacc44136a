"""How a comparison looks in a terminal: whose turn it is, and how long it will take for all."""

import math
import time
from pathlib import Path
from types import TracebackType

from rich.progress import Progress

from dragoman.cli.progress import (
    REFRESH_SECONDS,
    choices_text,
    drawn,
    duration,
    learned_of,
    line_of,
    plain_console,
    preparing,
    rounded,
    step_line,
)
from dragoman.comparison import Began, Climbed, Compared, Failed
from dragoman.comparison.climbing import Climb, Told
from dragoman.comparison.kind import several
from dragoman.comparison.kinds import KINDS
from dragoman.training.events import Chosen, Finished, Prepared, Stepped, Surveyed, Validated


class Display:
    """One live line for the whole, and a line for what should stay readable."""

    def __init__(self, out: Path) -> None:
        self.out, self.console = out, plain_console(stderr=True)
        self.turn: Began | None = None
        self.bar: Progress = drawn(self.console, self.console.is_terminal)
        self.task = self.bar.add_task("", total=1.0, left="", right="")
        self.shown_at = -math.inf
        self.surveyed = self.judging = False
        self.unit = "tokens"  # of what is learned

    def __enter__(self) -> "Display":
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    def show(self, event: Told | Compared) -> None:
        """A line, the live line, or nothing."""
        if isinstance(event, Climbed | Failed) and self.turn is not None:
            self.judging = self.turn.number == self.turn.total
        match event:
            case Began():
                self.turn = event
                done = ": trained already" if event.is_trained else ""
                title = f" · {event.contender.title}" if event.contender.title else ""
                self.say(f"\n{self.place} · {event.contender.name}{title}{done}")
            case Stepped():
                self.step(event)
            case Prepared():
                self.unit = learned_of(event)
                self.say(line_of(event, self.out) or "")
            case Chosen():
                self.say(choices_text(event, ", the same for all models" if self.turn is None else ""))
            case Failed():
                self.say(f"{event.contender.name} failed; the others go on. {event.sentence}")
            case Climbed():
                rate = len(event.answered.answers) / max(event.answered.seconds, 1e-9)
                earlier = "" if event.is_new else " by an earlier start"
                what = several(KINDS[event.settings.data.kind].words.item)
                self.say(f"{len(event.answered.answers):,} test {what} answered{earlier} · {rate:,.0f} a second")
            case Validated(best=False) | Compared() | Climb():
                pass
            case Surveyed():
                if not self.surveyed and event.lines:
                    self.say("\n".join(event.lines))
                self.surveyed = True
            case Finished(signal=None):
                self.say(f"trained: {event.step:,} steps ({event.reason})")
            case _:
                if (line := line_of(event, self.out)) is not None:
                    self.say(line)

    @property
    def place(self) -> str:
        return "" if self.turn is None else f"model {self.turn.number} of {self.turn.total}"

    def step(self, event: Stepped) -> None:
        now = time.monotonic()
        if now - self.shown_at >= REFRESH_SECONDS and self.turn is not None:
            self.shown_at = now
            left = f"{self.place} · {self.turn.contender.name} · step {event.step:,} · loss {event.loss:.3f}"
            share = (self.turn.number - 1 + event.done) / self.turn.total
            right = f"{event.tokens_per_second:,.0f} {self.unit}/s · {duration(self.left(event))} left for all"
            self.bar.update(self.task, completed=share, left=left, right=right)
        if not self.console.is_terminal and event.mean_loss is not None:
            left = rounded_or_open(self.left(event))
            self.say(f"{self.place} · {step_line(event, self.unit)} of this model, about {left} of all")

    def left(self, event: Stepped) -> float:
        """Seconds until all are trained, if those to come take as long as this one."""
        if self.turn is None or not math.isfinite(event.seconds_left):
            return math.inf
        whole = event.seconds / event.done if event.done > 0 else math.inf
        to_come = self.turn.to_train
        return event.seconds_left + to_come * whole if to_come else event.seconds_left

    def preparing(self, what: str, done: int) -> None:
        preparing(what, done)

    def watch(self, what: str, done: int, total: int) -> None:
        """The live line while test sources are answered, and while all are judged."""
        now = time.monotonic()
        if now - self.shown_at >= REFRESH_SECONDS and self.turn is not None:
            self.shown_at = now
            whose = "judging" if self.judging else f"{self.place} · {self.turn.contender.name}"
            left = f"{whose} · {done:,} of {total:,} {what}"
            self.bar.update(self.task, completed=self.turn.number / self.turn.total, left=left, right="")


def rounded_or_open(seconds: float) -> str:
    return rounded(seconds) if math.isfinite(seconds) else "?"
