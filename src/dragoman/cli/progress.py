"""How work looks in a terminal: one live line, and a line for what should stay readable."""

import json
import math
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dragoman.training.events import (
    Chosen,
    Estimated,
    Event,
    Finished,
    Prepared,
    Reported,
    Resumed,
    Skipped,
    Spiked,
    Started,
    Stepped,
    Surveyed,
    Validated,
    Warned,
)

REFRESH_SECONDS = 0.2
LINE_SECONDS = 60.0  # between two plain lines of a command that is no training
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def plain_console(stderr: bool = False, soft_wrap: bool = False) -> Console:
    """Texts as they are: [v2] in the name of a file is no markup, and :cat: no picture."""
    return Console(stderr=stderr, soft_wrap=soft_wrap, highlight=False, markup=False, emoji=False)


def show(events: Iterator[Event], out: Path, as_json: bool = False) -> Finished | None:
    """Draw the events of a training on stderr (JSON lines: on stdout) and return the last one."""
    console = plain_console(stderr=True)
    finished = None
    with drawn(console, console.is_terminal) as bar:
        task = bar.add_task("", total=1.0, left="", right="")
        shown_at, unit = -math.inf, "tokens"
        for event in events:
            unit = learned_of(event) if isinstance(event, Prepared) else unit
            if as_json:
                print(json.dumps({"event": type(event).__name__.lower(), **asdict(event)}), flush=True)
            if isinstance(event, Stepped):
                if event.seconds - shown_at >= REFRESH_SECONDS:
                    shown_at = event.seconds
                    draw(bar, task, event, unit)
                if not console.is_terminal and event.mean_loss is not None:
                    console.print(step_line(event, unit), soft_wrap=True)
            elif (line := line_of(event, out)) is not None:
                console.print(line, soft_wrap=True)
            finished = event if isinstance(event, Finished) else finished
    return finished


def drawn(console: Console, shown: bool) -> Progress:
    """A bar between two texts that vanishes at the end; rich would send what is printed to stdout to stderr as well."""
    left, right = (TextColumn(f"{{task.fields[{side}]}}", markup=False) for side in ("left", "right"))
    columns = (left, BarColumn(bar_width=24), right)
    return Progress(*columns, console=console, transient=True, redirect_stdout=False, disable=not shown)


def learned_of(event: Prepared) -> str:
    """What is counted as a target token."""
    if event.steps:
        return "steps"
    if event.spans or not event.labels:
        return "tokens"
    return "labels" if event.labels > 1 else "numbers"


def draw(bar: Progress, task: TaskID, event: Stepped, unit: str = "tokens") -> None:
    left = f"step {event.step:,} · epoch {event.epoch} · loss {event.loss:.3f}"
    right = f"{event.done:4.0%} · {event.tokens_per_second:,.0f} {unit}/s · {duration(event.seconds_left)} left"
    bar.update(task, completed=event.done, left=left, right=right)


def step_line(event: Stepped, unit: str = "tokens") -> str:
    return (
        f"step {event.step:,} · epoch {event.epoch} · loss {event.mean_loss:.3f} · "
        f"{event.tokens_per_second:,.0f} {unit}/s · {duration(event.seconds_left)} left"
    )


def line_of(event: Event, out: Path) -> str | None:
    """What is worth a line that stays."""
    match event:
        case Chosen():
            return choices_text(event)
        case Prepared(symbols=int(symbols)) if symbols:
            bad = f", {event.bad_lines:,} bad lines left out" if event.bad_lines else ""
            what = "examples" if event.passages else "windows"
            return (
                f"{symbols:,} symbols in {event.pairs:,} {what}{bad} · {event.target_vocabulary:,} different symbols "
                f"· {event.parameters:,} parameters on {event.device}"
            )
        case Prepared(steps=(past, future)):
            bad = f", {event.bad_lines:,} bad lines left out" if event.bad_lines else ""
            return (
                f"{event.pairs:,} pasts of {past} steps with futures of {future}{bad} · predicted: "
                f"{', '.join(event.features)} · {event.parameters:,} parameters on {event.device}"
            )
        case Prepared(spans=True):
            bad = f", {event.bad_lines:,} bad questions left out" if event.bad_lines else ""
            return (
                f"{event.pairs:,} windows of questions and documents{bad} · {event.source_vocabulary:,} symbols · "
                f"{event.parameters:,} parameters on {event.device}"
            )
        case Prepared(labels=int(labels)) if labels:
            left_out = f", {event.bad_lines:,} bad lines and {event.dropped_long:,} long ones left out"
            read = f"{event.numbers:,} numbers a frame" if event.numbers else f"{event.source_vocabulary:,} symbols"
            return (
                f"{event.pairs:,} examples{left_out if event.bad_lines + event.dropped_long else ''} · "
                f"{read} · {f'{labels:,} labels' if labels > 1 else 'a number'} · "
                f"{event.parameters:,} parameters on {event.device}"
            )
        case Prepared():
            left_out = f", {event.bad_lines:,} bad lines and {event.dropped_long:,} long pairs left out"
            return (
                f"{event.pairs:,} pairs{left_out if event.bad_lines + event.dropped_long else ''} · "
                f"{event.source_vocabulary:,} source and {event.target_vocabulary:,} target symbols · "
                f"{event.parameters:,} parameters on {event.device}"
            )
        case Surveyed():
            return "\n".join(event.lines)
        case Started():
            at = "" if event.step is None else f", its weights of step {event.step:,}"
            if not event.new:
                return f"Starting from {event.path}{at}."
            taken = (
                f"taken: {', '.join(event.taken)}" if event.taken else "nothing is taken but vocabulary and settings"
            )
            return f"Starting from {event.path}{at} · {taken} · new: {', '.join(event.new)}"
        case Estimated():
            return estimate_line(event)
        case Resumed():
            return f"Going on from step {event.step:,}."
        case Validated():
            values = " · ".join(f"{name} {value:.4g}" for name, value in event.values.items())
            return f"step {event.step:,} · validation: {values}{' · best so far' if event.best else ''}"
        case Skipped():
            return f"step {event.step:,} · not finite ({event.reason}): left out; see bad_batches.jsonl"
        case Spiked():
            back = "" if event.action == "rollback" else " Set training.on_spike=rollback to go back when this happens."
            return f"Warning: Step {event.step:,}: the loss leapt up, to {event.loss:.3f}.{back}"
        case Warned():
            return f"Warning: {event.message}"
        case Reported():
            return "\n".join([*event.verdict, f"Report: {event.path}"])
        case Finished(signal=None):
            return f"Finished at step {event.step:,} ({event.reason}). Best model: {out / 'model'}"
        case _:
            return None


def choices_text(event: Chosen, why: str = "") -> str:
    """One line per choice: the setting, its value, and why."""
    lines = [f"Chosen from the data{why} ({event.path}):"]
    names = [f"{key} = {value}" for key, value, _ in event.choices]
    width = max(map(len, names))
    lines += [f"  {name:<{width}}  {reason}" for name, (_, _, reason) in zip(names, event.choices, strict=True)]
    return "\n".join(lines)


def estimate_line(event: Estimated) -> str:
    epochs = f"{event.epochs:,.0f}" if event.epochs >= 10 or event.epochs.is_integer() else f"{event.epochs:.1f}"
    return (
        f"about {rounded(event.seconds)} for {epochs} epochs of {event.updates_per_epoch:,} updates on {event.threads} "
        f"thread{'' if event.threads == 1 else 's'}, "
        f"{size(event.memory_bytes)} of memory at the longest batch; "
        f"checkpoints {event.checkpoints} × {size(event.checkpoint_bytes)}"
    )


def rounded(seconds: float) -> str:
    """About how long: 40 s, 12 min, 3.4 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def size(count: int) -> str:
    """Bytes as people read them: 44 MB, 1.2 GB."""
    return f"{count / 1e9:.1f} GB" if count >= 5e8 else f"{max(count, 1e5) / 1e6:.{0 if count >= 1e7 else 1}f} MB"


def preparing(what: str, done: int) -> None:
    """Overwrite one line of a terminal with what is being made ready."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{what} {f'{done:,}' if done else '…'}", end="\r", file=sys.stderr, flush=True)


@contextmanager
def metered(wanted: bool = True) -> Iterator[Callable[[str, float | None], None]]:
    """Tell what was done and its share, if that is known: a bar with the time left at a terminal, elsewhere a plain
    line a minute."""
    console = plain_console(stderr=True)
    started_at = told_at = time.monotonic()
    with drawn(console, wanted and console.is_terminal) as bar:
        task = bar.add_task("", total=1.0, left="", right="")

        def tell(what: str, share: float | None) -> None:
            nonlocal told_at
            now = time.monotonic()
            if not wanted or now - told_at < (REFRESH_SECONDS if console.is_terminal else LINE_SECONDS):
                return
            told_at = now
            if share is None:
                left = f"{duration(now - started_at)} so far"
            else:
                left = f"{share:4.0%} · {duration((now - started_at) * (1 - share) / share)} left"
            bar.update(task, completed=share, left=what, right=left)
            if not console.is_terminal:
                console.print(f"{what} · {left}", soft_wrap=True)

        yield tell


def size_of(file: str) -> int:
    """Bytes of a file, or of a file that standard input is read from; 0 where nobody knows how many lines will come."""
    try:
        facts = os.fstat(sys.stdin.fileno()) if file == "-" else os.stat(file)
    except (OSError, ValueError):
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) and not file.endswith(COMPRESSED) else 0


def duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def warn(message: str) -> None:
    print(f"Warning: {message}", file=sys.stderr)
