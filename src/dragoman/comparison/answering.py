"""What a trained contender answers to the test data, measured once and kept; and what its training took."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from signal import SIGINT
from statistics import median
from typing import Any

import numpy

from dragoman.comparison.kind import Items, Kind, Truth, in_tuples
from dragoman.comparison.texts import PAIRS
from dragoman.data.readers.futures import Futures
from dragoman.errors import StorageError
from dragoman.experiment import Experiment
from dragoman.inspection.report.curves import Point, is_number, read_records, thin
from dragoman.pipeline import ANSWERING, Pipeline
from dragoman.runs import Run, status_of
from dragoman.storage import hash_file, make_folder, read_json, read_record, write_record
from dragoman.training.signals import Signals
from dragoman.watching import Watch

LARGEST = 512_000_000  # bytes of the answers of a model
BLOCK = 256  # test sources that are answered, and kept, together
VERSION = 2  # of what is kept


@dataclass(frozen=True)
class Answered:
    """A model on the test data: an answer a source, a log-probability a reference, where it has one."""

    answers: tuple[Truth, ...]
    unfinished: int
    log_probabilities: tuple[float, ...]
    symbols: tuple[int, ...]  # of each reference, END counted
    lengths: tuple[int, ...]  # source tokens, or what else tells how much there is
    seconds: float  # that the answers took
    parameters: int


@dataclass(frozen=True)
class Trained:
    """What a training took."""

    steps: int
    finished: str  # the limit that ended it
    minutes: float
    epochs: float
    tokens_per_second: float  # target tokens; the median of the updates that were logged
    size: int  # bytes of the model folder
    best_step: int | None
    curve: tuple[Point, ...]  # minutes and validation loss (of tracks: ADE)


def answered(
    run: Run, settings: Experiment, items: Items, digest: str, kept: Path, watch: Watch, kind: Kind = PAIRS
) -> Answered | int:
    """The answers of an earlier time, if model, search and test data are the same; else new ones, which are kept block
    by block. The number of a signal, if one came: the same call goes on behind the last whole block."""
    key = key_of(run, settings, digest)
    if (found := read_answers(kept, key)) is not None:
        return found
    folder = kept.with_suffix(".blocks")
    make_folder(folder)
    pipeline, blocks = load(run, settings), []
    with Signals() as signals:
        for start in range(0, len(items), BLOCK):
            place = folder / f"{start}.json"
            block = read_answers(place, key)
            if block is None:
                block = questioned(pipeline, items, start, watch, lambda: signals.stop is not None, kind)
                if block is None:
                    break
                write_record(place, {"key": key, **asdict(block)})
            blocks.append(block)
            if signals.stop is not None and start + BLOCK < len(items):
                break
    if sum(len(block.answers) for block in blocks) < len(items):
        return signals.stop or SIGINT
    result = joined(blocks)
    write_record(kept, {"key": key, **asdict(result)})
    shutil.rmtree(folder, ignore_errors=True)
    return result


def questioned(
    pipeline: Pipeline, items: Items, start: int, watch: Watch, stopped: Callable[[], bool], kind: Kind = PAIRS
) -> Answered | None:
    """The answers to a block of items; None if it was told to stop."""
    own, answers, unfinished, started_at = items[start : start + BLOCK], [], 0, time.monotonic()
    replies = kind.replies(pipeline, [source for source, _ in own], start)
    for done, (answer, finished) in enumerate(replies, start=start + 1):
        answers.append(answer)
        unfinished += not finished
        watch("answered", done, len(items))
        if stopped():
            return None
    seconds = time.monotonic() - started_at
    scores = [] if kind.scores is None else list(kind.scores(pipeline, own))
    return Answered(
        answers=tuple(answers),
        unfinished=unfinished,
        log_probabilities=tuple(score.log_probability for score in scores),
        symbols=tuple(len(score.tokens) for score in scores),
        lengths=tuple(kind.lengths(pipeline, own)),
        seconds=seconds,
        parameters=sum(parameter.numel() for parameter in pipeline.read_weights().parameters()),
    )


def joined(blocks: Sequence[Answered]) -> Answered:
    """All blocks as one."""
    rows: dict[str, Any] = {
        name: tuple(value for block in blocks for value in getattr(block, name))
        for name in ("answers", "log_probabilities", "symbols", "lengths")
    }
    sums: dict[str, Any] = {name: sum(getattr(block, name) for block in blocks) for name in ("unfinished", "seconds")}
    return replace(blocks[0], **rows, **sums)


def load(run: Run, settings: Experiment) -> Pipeline:
    """The best model of a run; how it searches is practical, and may have changed since it was trained."""
    pipeline = Pipeline.load(run.path, settings.training.device)
    pipeline.settings = pipeline.settings.changed(**{name: getattr(settings, name) for name in ANSWERING})
    return pipeline


def digest_of(items: Items, kind: Kind = PAIRS) -> str:
    """Of the test data, taken once for all models."""
    facts = [(kind.identify(source), truths) for source, truths in items]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def key_of(run: Run, settings: Experiment, digest: str) -> str:
    """All that the answers depend on."""
    weights = run.model / "model.safetensors"
    facts = [
        VERSION,
        hash_file(weights) if weights.is_file() else "",
        *(part.model_dump_json() for part in (settings.search, settings.rules, settings.risk, settings.limits)),
        digest,
    ]
    if isinstance(settings.data, Futures):
        facts.append(settings.rollout.model_dump_json())
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def read_answers(kept: Path, key: str) -> Answered | None:
    """What is damaged, or of another time, is measured anew."""
    if not kept.is_file():
        return None
    try:
        record = read_record(kept, LARGEST)
    except StorageError:
        return None
    if record.pop("key", None) != key:
        return None
    fields: dict[str, Any] = {name: in_tuples(one) for name, one in record.items()}
    return Answered(**fields)


def trained(run: Run, curve: str = "loss") -> Trained:
    """From the files of a finished run; `curve` is what was validated by."""
    status, state = status_of(run), last_state(run)
    logged = [record for record in read_records(run.metrics) if is_number(record.get("tokens_per_second"))]
    speeds = [float(record["tokens_per_second"]) for record in logged]
    seconds, tokens = float(state.get("seconds", 0)), float(state.get("target_tokens", 0))
    steps = int(status.get("step", state.get("step", 0)))
    return Trained(
        steps=steps,
        finished=str(status.get("finished", "")),
        minutes=seconds / 60,
        epochs=float(state.get("examples", 0)) / max(1, pairs_of(run)),
        tokens_per_second=median(speeds) if speeds else tokens / max(seconds, 1e-9),
        size=sum(path.stat().st_size for path in run.model.iterdir() if path.is_file()),
        best_step=state.get("best_step"),
        curve=thin(curve_of(run, logged, steps, seconds, curve)),
    )


def last_state(run: Run) -> dict[str, Any]:
    """What the newest checkpoint remembers."""
    numbers = [int(path.name.removeprefix("step-")) for path in run.checkpoints.glob("step-*")]
    if not numbers:
        return {}
    try:
        state = read_json(run.checkpoints / f"step-{max(numbers)}" / "state.json")
    except StorageError:
        return {}
    return state if isinstance(state, dict) else {}


def pairs_of(run: Run) -> int:
    """Of the training data."""
    try:
        return int(read_record(run.data_record)["train"]["counts"]["pairs"])
    except (StorageError, KeyError, TypeError, ValueError):
        return 0


def curve_of(run: Run, logged: Sequence[dict[str, Any]], steps: int, seconds: float, name: str) -> list[Point]:
    """Validation losses, or what else has that name, with the minute of training they belong to, between the records
    that know the time."""
    knots = [(0.0, 0.0), *((float(one["step"]), float(one["seconds"])) for one in logged if is_number(one["seconds"]))]
    knots = [*(knot for knot in knots if knot[0] < steps), (float(steps), seconds)]
    losses = [
        (float(record["step"]), float(record["valid"][name]))
        for record in read_records(run.metrics)
        if isinstance(record.get("valid"), dict) and is_number(record["valid"].get(name))
    ]
    times = numpy.interp([step for step, _ in losses], [at for at, _ in knots], [second for _, second in knots])
    return [(float(second) / 60, loss) for second, (_, loss) in zip(times, losses, strict=True)]
