"""One config → a run: what is accepted, built, trained and written down."""

import platform
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import torch

from dragoman.config import (
    Document,
    Table,
    difference,
    flatten,
    merge,
    read_sealed,
    to_sealed_toml,
    validate,
    with_seal,
)
from dragoman.data.readers.pairs import SPLITS, Pairs, Problems, grouped, quick_signature, read_split
from dragoman.data.sampling import Sampling
from dragoman.data.sides import Sample
from dragoman.data.store import discard
from dragoman.data.survey import short_lines
from dragoman.data.tokenizers import Shared, Tokenizer
from dragoman.defaults import Choice, as_table, as_toml, choose_settings, hold_out_of
from dragoman.devices import describe, device_of, keep_freed_memory, use_threads
from dragoman.errors import ConfigError, DamagedStoreError, DragomanError, StorageError, choose, unknown
from dragoman.evaluation import VALIDATED, validation_loss, validation_metrics
from dragoman.inspection.report import write_report
from dragoman.metrics import METRICS
from dragoman.models import EncoderDecoderModel, build_model
from dragoman.objectives import CrossEntropy, ObjectiveConfig, build_objective
from dragoman.pipeline import Pipeline
from dragoman.preparation import (
    REPORTED,
    SIDES,
    Corpora,
    Preparing,
    data_record,
    prepare,
    silent,
    with_standard_input,
)
from dragoman.regimes import RegimeConfig, Teacher, build_regime
from dragoman.runs import FORMAT_VERSION, REASONS, Run, cut_back, status_of
from dragoman.seeds import key
from dragoman.served import Served
from dragoman.storage import append_line, make_folder, read_record, write_atomically, write_record
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.events import (
    Chosen,
    Event,
    Finished,
    Prepared,
    Reported,
    Resumed,
    Saved,
    Skipped,
    Stepped,
    Surveyed,
    Validated,
    Warned,
)
from dragoman.training.fit import Fit
from dragoman.training.judging import Judge, in_parts, smaller
from dragoman.training.learner import Learner
from dragoman.training.origin import Origin, refuse_start_inside, start_from, starting_point
from dragoman.training.schedules import Cosine
from dragoman.training.settings import Training
from dragoman.training.signals import Interrupted, Signals
from dragoman.weights import weight_bytes

DEFAULT_EPOCHS = 10


class Experiment(Served):
    """A whole training in one config: what to read, what to build, how to learn, how to judge."""

    data: Pairs = Pairs()
    """What is learned from."""
    regime: RegimeConfig = Teacher()
    """How the target is fed to the decoder."""
    objective: ObjectiveConfig = CrossEntropy()
    """What is made small."""
    training: Training = Training()
    """How the weights are learned."""


def train(
    settings: Experiment,
    out: Path,
    given: str = "",
    fresh: bool = False,
    preparing: Preparing = silent,
    undecided: Table | None = None,
) -> Iterator[Event]:
    """Train, or go on with an unfinished run of the same settings; the events tell what happens. Where `undecided` is
    a table of what the user has given, the data decides the rest."""
    settings = completed(settings)
    run = Run(out)
    refuse_start_inside(settings.training.start, out)
    if fresh:
        refuse_inside(run, settings.data)
        run.set_aside()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"Cannot make the run folder {out}: {error.strerror}.") from error
    run.refuse_strangers()
    settings = settings.changed(data=with_standard_input(run, settings.data))  # while Ctrl-C still ends all at once
    with run.lock(), Signals() as signals:
        run.refuse_incomplete()
        choices: list[Choice] = []
        if undecided is not None:
            try:
                settings, choices = decided(run, settings, undecided, signals.interrupting(preparing))
            except Interrupted:
                yield Finished(0, "signal", signals.stop)
                return
        data_record(run, settings.data)  # data that cannot be read, or has changed, is said before anything else
        accept(run, settings)
        device = device_of(settings.training.device)
        use_threads(settings.training.threads)
        keep_freed_memory()
        yield from note_environment(run, device)
        run.status.unlink(missing_ok=True)  # before the config: a run that goes on beyond its end is not finished
        write_atomically(run.config, to_sealed_toml(settings))
        if given and not run.given.exists():
            write_atomically(run.given, given)
        if choices:
            write_atomically(run.defaults, with_seal(as_toml(choices)))
            yield Chosen(tuple((one.key, one.value, one.reason) for one in choices), str(run.defaults))
        try:
            yield from fit_prepared(run, settings, device, signals, preparing)
        except DamagedStoreError as error:
            discard(error.folder)
            yield Warned(f"{error} That is done now, and training goes on from its last checkpoint.")
            yield from fit_prepared(run, settings, device, signals, preparing)


def fit_prepared(
    run: Run, settings: Experiment, device: torch.device, signals: Signals, preparing: Preparing
) -> Iterator[Event]:
    """Make the data ready and train on it."""
    configs = {side: getattr(settings, side) for side in SIDES}
    origin = starting_point(settings.training.start, run.path)
    vocabularies = None if origin is None else origin.tokenizers()
    repaired: list[str] = []
    watched = signals.interrupting(preparing)
    try:
        corpora = prepare(run, settings.data, configs, watched, repaired.append, vocabularies)
    except Interrupted:
        yield Finished(0, "signal", signals.stop)
        return
    yield from (Warned(message) for message in repaired)
    yield from fit(run, settings, corpora, device, signals, origin)


def refuse_inside(run: Run, data: Pairs) -> None:
    """A run is set aside only if the data can be read, and does not lie in it."""
    for files in (data.files(name) for name in SPLITS):
        named = tuple(file for file in files if file != "-")
        quick_signature(named)
        for file in named:
            if Path(file).resolve().is_relative_to(run.path.resolve()):
                raise ConfigError(f"{file} lies inside {run.path}, which --fresh would set aside. Move it first.")


def decided(run: Run, settings: Experiment, given: Table, preparing: Preparing) -> tuple[Experiment, list[Choice]]:
    """The settings with all that the data decides; a run that goes on keeps what it began with."""
    if run.defaults.exists():
        document = read_sealed(run.defaults)
        return settled(settings, document.table, given, document), []
    sample = Sample()
    for pair in read_split(settings.data, "train", Problems()):
        sample.add(pair)
        if sample.size % REPORTED == 0:
            preparing("pairs looked at", sample.size)
    if not sample.size:
        return settings, []
    known = flatten(given)
    held_out = None if settings.data.valid or "data.hold_out" in known else hold_out_of(sample)
    choices = [*([] if held_out is None else [held_out]), *choose_settings(sample, known)]
    return settled(settings, as_table(choices), given), choices


def settled(settings: Experiment, chosen: Table, given: Table, *documents: Document) -> Experiment:
    """The files stay: a copy may stand in for standard input."""
    found = validate(Experiment, merge(chosen, given), *documents)
    files = {name: getattr(settings.data, name) for name in SPLITS}
    return completed(found.changed(data=found.data.changed(**files)))


def completed(settings: Experiment) -> Experiment:
    """What follows from other settings, or must be there."""
    if not settings.data.train:
        raise ConfigError("There is nothing to train on: name a file of pairs, or --source and --target files.")
    if settings.training.monitor not in ("loss", "perplexity"):
        if settings.training.monitor not in METRICS:
            raise unknown("value to monitor", settings.training.monitor, ["loss", "perplexity", *METRICS])
        if not settings.data.has("valid"):
            raise ConfigError("training.monitor needs validation data: give --valid, or set data.hold_out.")
    for name in settings.evaluation.metrics:
        choose("metric", name, METRICS)
    if settings.training.no_limit:
        return settings.changed(training=settings.training.changed(epochs=DEFAULT_EPOCHS))
    return settings


def accept(run: Run, settings: Experiment) -> None:
    """Refuse to mix two trainings in one folder, or to overwrite a finished one."""
    if not run.exists or not (run.data_record.exists() or run.checkpoints.exists()):  # nothing was learned yet
        return
    document = read_sealed(run.config)
    before = validate(Experiment, document.table, document)
    changes = difference(before, settings)
    if bool(before.training.start) != bool(settings.training.start):
        changes.append(f"training.start: '{before.training.start}' → '{settings.training.start}'")
    if isinstance(before.training.schedule, Cosine) and run.checkpoints.exists():
        limits = REASONS[:3]
        changes += [
            f"training.{name}: {getattr(before.training, name)} → {getattr(settings.training, name)}"
            for name in limits
            if getattr(before.training, name) != getattr(settings.training, name)
        ]
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigError(
            f"{run.path} was trained with other settings:\n{listed}\n"
            "Give the same settings to go on, another --out to train anew, or --fresh to set the old run aside."
        )
    status = status_of(run)
    further = "" if isinstance(before.training.schedule, Cosine) else "Raise its limit to train on. "
    if status.get("finished") and not reaches_further(before.training, settings.training, status["finished"]):
        raise ConfigError(
            f"{run.path} is finished (step {status['step']}, stopped by {status['finished']}); nothing was changed. "
            f"{further}Choose another --out, or give --fresh to set it aside."
        )


def reaches_further(before: Training, now: Training, reason: str) -> bool:
    """Whether the limit that ended a run has been raised or taken away."""
    old, new = getattr(before, reason), getattr(now, reason)
    return old is not None and (new is None or new > old)


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


def fit(
    run: Run,
    settings: Experiment,
    corpora: Corpora,
    device: torch.device,
    signals: Signals,
    origin: Origin | None = None,
) -> Iterator[Event]:
    """Build the model and train it, writing down what happens."""
    tokenizers = corpora.tokenizers
    torch.manual_seed(key(settings.training.seed, "weights"))
    model = build_model(settings.model, tokenizers["source"].size, tokenizers["target"].size).to(device)
    learner = Learner(model, build_regime(settings.regime), build_objective(settings.objective))
    yield prepared(corpora, model, device)
    yield Surveyed(corpora.summary, short_lines(corpora.summary, corpora.formats))
    if origin is not None:
        yield from start_from(origin, model, corpora.train.counts)
    prepare_model_folder(run, settings, tokenizers)
    warnings: list[str] = []
    training = Fit(
        learner,
        corpora.train,
        settings.training,
        Checkpoints(run.checkpoints, settings.training.keep, warnings.append),
        judge(settings, corpora, model, device),
        lambda step, value: export(run, model, step, tokenizers, settings.training.monitor, value),
        device,
        signals,
        sampling_of(settings, tokenizers),
    )
    for event in training.run():
        yield from (Warned(warning) for warning in warnings)
        warnings.clear()
        try:
            record(run, corpora, event)
        except StorageError as error:
            yield Warned(f"{error} Training goes on without this line of the log.")
        if isinstance(event, Finished) and event.signal is None and settings.evaluation.report:
            yield from reported(run, settings, signals)
        yield event


def reported(run: Run, settings: Experiment, signals: Signals) -> Iterator[Event]:
    """A report that cannot be made, or that nobody wants to wait for, takes nothing from a training that is done."""

    def told(what: str, done: int, total: int) -> None:
        signals.interrupting(silent)(what, done)

    try:
        path = write_report(run, lines=settings.evaluation.report, told=told, device=settings.training.device)
        yield Reported(str(path))
    except DragomanError as error:
        yield Warned(f"There is no report: {error}")
    except Interrupted:
        yield Warned(f"The report was broken off; dragoman report {run.path} makes it.")


def sampling_of(settings: Experiment, tokenizers: Mapping[str, Tokenizer]) -> Sampling | None:
    """As the tokenizers are set; a shared one is sampled on both sides."""
    configs = {"source": settings.source, "target": settings.target}
    if isinstance(settings.target, Shared):
        configs["target"] = settings.source
    strengths = {side: getattr(config, "sampling", 0.0) for side, config in configs.items()}
    return Sampling.of(tokenizers, strengths, settings.training.seed)


def prepared(corpora: Corpora, model: EncoderDecoderModel, device: torch.device) -> Prepared:
    counts = corpora.train.counts
    return Prepared(
        pairs=counts.pairs,
        bad_lines=counts.bad,
        dropped_long=counts.dropped_long,
        source_vocabulary=corpora.tokenizers["source"].size,
        target_vocabulary=corpora.tokenizers["target"].size,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        device=str(device),
    )


def prepare_model_folder(run: Run, settings: Experiment, tokenizers: Mapping[str, Tokenizer]) -> None:
    """All of RUN/model but the weights, which are replaced in one stroke whenever a better model is found."""
    make_folder(run.model)
    served = Served(**{name: getattr(settings, name) for name in Served.model_fields})
    write_atomically(run.model / "config.toml", to_sealed_toml(served))
    for side in SIDES:
        write_atomically(run.model / f"{side}.json", tokenizers[side].as_json())


def export(
    run: Run,
    model: EncoderDecoderModel,
    step: int,
    tokenizers: Mapping[str, Tokenizer],
    monitor: str,
    value: float | None,
) -> None:
    """The weights, which know by their hashes the tokenizers that they were trained with."""
    measured = {} if value is None else {"monitor": monitor, "value": repr(value)}
    hashes = {f"{side}.json": tokenizer.hash for side, tokenizer in tokenizers.items()}
    metadata = {"format_version": str(FORMAT_VERSION), "step": str(step), **measured, **hashes}
    write_atomically(run.model / "model.safetensors", weight_bytes(model.state_dict(), metadata))


def record(run: Run, corpora: Corpora, event: Event) -> None:
    """Write an event where it belongs in the run folder."""
    match event:
        case Resumed(step=step) | Saved(step=0 as step):
            cut_back(run.metrics, step)
            cut_back(run.bad_batches, step)
        case Stepped(mean_loss=float()):
            fields = ("step", "epoch", "rate", "gradient_norm", "seconds", "tokens_per_second")
            append_line(run.metrics, {"loss": event.mean_loss, **{name: getattr(event, name) for name in fields}})
        case Validated():
            append_line(run.metrics, {"step": event.step, "valid": dict(event.values), "best": event.best})
        case Skipped():
            places = [corpora.train.place(line) for line in event.lines]
            facts = {"step": event.step, "reason": event.reason, "lines": event.lines, "places": places}
            append_line(run.bad_batches, facts)
        case Finished():
            finished = None if event.reason == "signal" else event.reason
            write_record(run.status, {"step": event.step, "finished": finished, "at": time.strftime("%Y-%m-%d %H:%M")})


def judge(settings: Experiment, corpora: Corpora, model: EncoderDecoderModel, device: torch.device) -> Judge | None:
    """Validation by loss always, by metrics as well where one is monitored; without data nobody judges."""
    monitor = settings.training.monitor
    source, target = (corpora.tokenizers[side] for side in SIDES)
    pipeline = Pipeline(model, source, target, settings, device)
    if corpora.valid is None:
        return None
    valid = corpora.valid
    references = grouped(read_split(settings.data, "valid", Problems()))[: settings.training.validate_lines]

    names = tuple(dict.fromkeys((monitor, *settings.evaluation.metrics)))
    batching = settings.training.batching

    def measured_in(parts: int, stopped: Callable[[], bool]) -> dict[str, float] | None:
        values = validation_loss(pipeline, valid, smaller(batching, parts), stopped)
        if values is not None and monitor in METRICS:
            found = validation_metrics(pipeline, references, names, stopped, max(1, VALIDATED // parts))
            return None if found is None else values | found
        return values

    def measured(stopped: Callable[[], bool]) -> dict[str, float] | None:
        return in_parts(lambda parts: measured_in(parts, stopped), device)

    return Judge(measured, monitor, monitor in METRICS and METRICS[monitor].higher_is_better)
