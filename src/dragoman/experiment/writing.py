"""What a training writes into its run folder beside checkpoints."""

import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version

import torch

from dragoman.config import to_sealed_toml
from dragoman.devices import describe, is_out_of_memory
from dragoman.errors import DragomanError, StorageError
from dragoman.experiment.settings import Experiment
from dragoman.inspection.report import Facts, gather, verdict, write_page
from dragoman.models import Model
from dragoman.pipeline.loading import CAPTIONS, COLUMNS, CONVERSATIONS, LABELS, SCALE, TRACKS
from dragoman.preparation.corpora import Corpora, silent
from dragoman.runs import FORMAT_VERSION, Run, cut_back
from dragoman.served import Served
from dragoman.storage import append_line, make_folder, read_record, write_atomically, write_record
from dragoman.training.events import Event, Finished, Reported, Resumed, Saved, Skipped, Stepped, Validated, Warned
from dragoman.training.signals import Interrupted, Signals
from dragoman.watching import Watch
from dragoman.weights import weight_bytes, weights_of


def note_environment(run: Run, device: torch.device) -> Iterator[Event]:
    """Record what the bits depend on; another machine may go on, but is told that its bits may differ."""
    names = ("torch", "numpy", "tokenizers", "safetensors")
    now = {
        "dragoman": version("dragoman"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: version(name) for name in names},
        **describe(device),
        "command": sys.argv,
    }
    if run.environment.exists():
        try:
            before = read_record(run.environment)
        except StorageError as error:
            yield Warned(f"{error} It is written anew; whether the machine is the same cannot be known.")
            write_record(run.environment, now)
            return
        watched = ("torch", "device", "threads", "cpu_capability")
        changed = [f"{name} {before.get(name)} → {now[name]}" for name in watched if before.get(name) != now[name]]
        if changed:
            yield Warned(f"The machine changed ({'; '.join(changed)}): training goes on, but not bit for bit.")
            append_line(run.path / "environment.changes.jsonl", now)
        return
    write_record(run.environment, now)


def prepare_model_folder(run: Run, settings: Experiment, corpora: Corpora) -> None:
    """All of RUN/model but the weights, which are replaced in one stroke whenever a better model is found."""
    make_folder(run.model)
    served = Served(**{name: getattr(settings, name) for name in Served.model_fields})
    write_atomically(run.model / "config.toml", to_sealed_toml(served))
    for side, tokenizer in corpora.tokenizers.items():
        write_atomically(run.model / f"{side}.json", tokenizer.as_json())
    if corpora.labels is not None:
        corpora.labels.write(run.model / LABELS)
    if corpora.scale is not None:
        corpora.scale.write(run.model / SCALE)
    if corpora.tracking is not None:
        corpora.tracking.write(run.model / TRACKS)


def export(
    run: Run,
    model: Model,
    step: int,
    corpora: Corpora,
    monitor: str,
    value: float | None,
) -> None:
    """The weights, which know by their hashes the tokenizers, labels and scale that they were trained with."""
    measured = {} if value is None else {"monitor": monitor, "value": repr(value)}
    hashes = {f"{side}.json": tokenizer.hash for side, tokenizer in corpora.tokenizers.items()}
    hashes |= {} if corpora.labels is None else {LABELS: corpora.labels.hash}
    hashes |= {} if corpora.scale is None else {SCALE: corpora.scale.hash}
    hashes |= {} if corpora.captions is None else {CAPTIONS: corpora.captions.as_json()}
    wanted = corpora.wanted
    if wanted is not None and (wanted.columns or any(wanted.fields)):
        hashes |= {COLUMNS if wanted.columns else CONVERSATIONS: wanted.as_json()}
    hashes |= {} if corpora.tracking is None else {TRACKS: corpora.tracking.hash}
    metadata = {"format_version": str(FORMAT_VERSION), "step": str(step), **measured, **hashes}
    write_atomically(run.model / "model.safetensors", weight_bytes(weights_of(model), metadata))


def record(run: Run, corpora: Corpora, event: Event) -> None:
    """Write an event where it belongs in the run folder."""
    match event:
        case Resumed(step=step) | Saved(step=0 as step):
            cut_back(run.metrics, step)
            cut_back(run.bad_batches, step)
        case Stepped(mean_loss=float()):
            fields = ("step", "epoch", "rate", "gradient_norm", "seconds", "tokens_per_second")
            fed = {"truth": event.truth} if event.truth < 1 else {}
            values = {name: getattr(event, name) for name in fields}
            append_line(run.metrics, {"loss": event.mean_loss, **values, **fed, **event.others})
        case Validated():
            append_line(run.metrics, {"step": event.step, "valid": dict(event.values), "best": event.best})
        case Skipped():
            places = [corpora.train.place(line) for line in event.lines]
            facts = {"step": event.step, "reason": event.reason, "lines": event.lines, "places": places}
            append_line(run.bad_batches, facts)
        case Finished():
            finished = None if event.reason == "signal" else event.reason
            write_record(run.status, {"step": event.step, "finished": finished, "at": time.strftime("%Y-%m-%d %H:%M")})


OVER = 0.05  # share of its minutes by which a training with its report may take longer
SHORTEST, LONGEST = 10.0, 60.0  # seconds that baselines may take where no minutes are set, by the time of the training
BESIDE = 0.5  # share of what is left of the minutes that baselines may take
PROBE = 16  # examples of the first report of a training with limited minutes, which shows how long more would take


def reported(run: Run, settings: Experiment, signals: Signals, seconds: float) -> Iterator[Event]:
    """A report that cannot be made, or that nobody wants to wait for, takes nothing from a training that is done. Of
    the minutes of the training so many `seconds` are over; the report has as many examples as the rest allows."""

    def told(what: str, done: int, total: int) -> None:
        signals.interrupting(silent)(what, done)

    try:
        facts = gather_within(run, settings, told, seconds)
        yield Reported(str(write_page(run, facts)), tuple(verdict(facts)))
    except DragomanError as error:
        yield Warned(f"There is no report: {error}")
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        yield Warned(f"There is no report: memory ran out. dragoman report {run.path} --lines 100 may make it.")
    except Interrupted:
        yield Warned(f"The report was broken off; dragoman report {run.path} makes it.")


def gather_within(run: Run, settings: Experiment, told: Watch, seconds: float) -> Facts:
    """The report on all examples that are wanted, or on as many as the minutes of the training leave time for, beside
    baselines, if these are computed in time."""
    wanted, minutes, device = settings.evaluation.report, settings.training.minutes, settings.training.device
    if minutes is None:
        return gather(run, (), wanted, told, device, min(LONGEST, max(SHORTEST, OVER * seconds)))
    started_at = time.monotonic()
    facts = gather(run, (), min(PROBE, wanted), told, device, seconds=0.0)
    took = time.monotonic() - started_at
    left = 60 * minutes * (1 + OVER) - seconds - took
    beside = min(LONGEST, BESIDE * left)
    lines = min(wanted, int(PROBE * (left - beside) / max(took, 1e-9)))
    return facts if lines < min(PROBE, wanted) or beside <= 0 else gather(run, (), lines, told, device, beside)
