"""One config → a run: prepared, built, trained and written down."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from dragoman.config import read_sealed, to_sealed_toml, with_seal
from dragoman.data.labelling import Labelling
from dragoman.data.masking import Masking
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import Pairs, Problems, grouped, read_split
from dragoman.data.readers.questions import Question, Questions, read_questions_split
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.data.sampling import Sampling
from dragoman.data.scales import Scale
from dragoman.data.store import discard
from dragoman.data.survey import short_lines
from dragoman.data.tokenizers import Shared, Tokenizer
from dragoman.data.track_store import Turning
from dragoman.data.tracking import Tracking
from dragoman.defaults.choice import Choice, Given, as_toml
from dragoman.devices import device_of, keep_freed_memory, use_fast_products, use_threads
from dragoman.errors import ConfigError, DamagedStoreError, StorageError, nearest
from dragoman.evaluation.captions import validated_pictures
from dragoman.evaluation.labels import fitting_metrics
from dragoman.evaluation.spans import span_metrics
from dragoman.evaluation.tracks import validate_tracks
from dragoman.evaluation.validation import VALIDATED, validation_loss, validation_metrics
from dragoman.experiment.accepting import accept, refuse_inside
from dragoman.experiment.choosing import Decision, decided
from dragoman.experiment.settings import Experiment, completed
from dragoman.experiment.writing import export, note_environment, prepare_model_folder, record, reported
from dragoman.frontends import ImageGrid
from dragoman.heads import Pretraining
from dragoman.metrics import METRICS
from dragoman.metrics.labels import LABEL_METRICS
from dragoman.models import DecoderOnly, EncoderDecoder, EncoderOnly, Forecaster, Model, build_model
from dragoman.nn.dropout import set_dropout
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.pipeline import Pipeline
from dragoman.pipeline.loading import sizes_of
from dragoman.preparation.captions import prepare_captions
from dragoman.preparation.corpora import SIDES, Corpora, Preparing, data_record, silent, size_of, with_standard_input
from dragoman.preparation.frames import prepare_frames
from dragoman.preparation.labels import prepare_labels
from dragoman.preparation.pairs import prepare
from dragoman.preparation.texts import prepare_texts
from dragoman.preparation.tracks import prepare_tracks
from dragoman.regimes import build_regime
from dragoman.runs import Run
from dragoman.seeds import key
from dragoman.storage import write_atomically
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.estimate import Estimate
from dragoman.training.events import Chosen, Event, Finished, Prepared, Surveyed, Warned
from dragoman.training.fit import Fit
from dragoman.training.judging import Judge, in_parts, smaller
from dragoman.training.learner import Learner
from dragoman.training.origin import Origin, refuse_start_inside, start_from, starting_point
from dragoman.training.settings import Training
from dragoman.training.signals import Interrupted, Signals
from dragoman.training.speed import Speed
from dragoman.training.stall import TELLING, Restart, fewest_of, unigram_loss
from dragoman.training.trial import Trial
from dragoman.weights import weights_of

REPORT = 0.04  # share of the minutes that is kept for the report
ANOTHER = 1.3  # times as slow or as fast as in the trial, from which on the rest is planned anew


def train(
    settings: Experiment,
    out: Path,
    given: str = "",
    fresh: bool = False,
    preparing: Preparing = silent,
    undecided: Given | None = None,
) -> Iterator[Event]:
    """Train, or go on with an unfinished run of the same settings; the events tell what happens. Where `undecided`
    says what the recipe and the user have given, the data decides the rest."""
    began_at = time.monotonic()
    settings = completed(settings, undecided is not None)
    run = Run(out)
    refuse_start_inside(settings.training.start, out)
    if fresh:
        refuse_inside(run, settings.data)
        if (aside := run.set_aside()) is not None:
            yield Warned(f"The old run is now {aside}.")
    run.refuse_strangers()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"Cannot make the run folder {out}: {error.strerror}.") from error
    settings = settings.changed(data=with_standard_input(run, settings.data))  # while Ctrl-C still ends all at once
    with run.lock(), Signals() as signals:
        run.refuse_incomplete()
        decision: Decision | None = None
        if undecided is not None:
            try:
                settings, decision = decided(run, settings, undecided, signals.interrupting(preparing))
            except Interrupted:
                yield Finished(0, "signal", signals.stop)
                return
        data_record(run, settings.data)  # data that cannot be read, or has changed, is said before anything else
        accept(run, settings)
        settings = with_threads(run, settings)
        device = device_of(settings.training.device)
        if settings.training.compile:
            refuse_uncompiled(settings, device)
        use_threads(settings.training.threads)
        keep_freed_memory()
        use_fast_products()
        yield from note_environment(run, device)
        run.status.unlink(missing_ok=True)  # before the config: a run that goes on beyond its end is not finished
        write_atomically(run.config, to_sealed_toml(settings))
        if given and not (run.given.exists() and run.has_begun):
            write_atomically(run.given, given)
        if decision is not None:
            write_atomically(run.defaults, with_seal(as_toml(decision.choices)))
        try:
            yield from fit_prepared(run, settings, device, signals, preparing, decision, began_at)
        except DamagedStoreError as error:
            discard(error.folder)
            yield Warned(f"{error} That is done now, and training goes on from its last checkpoint.")
            yield from fit_prepared(run, settings, device, signals, preparing, decision, began_at)


def fit_prepared(
    run: Run,
    settings: Experiment,
    device: torch.device,
    signals: Signals,
    preparing: Preparing,
    decision: Decision | None,
    began_at: float,
) -> Iterator[Event]:
    """Make the data ready and train on it."""
    origin = starting_point(settings.training.start, run.path)
    take = settings.training.take
    of_tracks = isinstance(settings.data, Futures)
    vocabularies = None if origin is None or of_tracks else origin.tokenizers(take)
    repaired: list[str] = []
    watched = signals.interrupting(preparing)
    try:
        check = partial(refuse_impossible, settings)  # before the run is bound to settings that cannot be
        labels = origin.labels() if origin is not None and take == "all" else None
        scale = None if origin is None else origin.scale()
        tracking = origin.tracking() if origin is not None and of_tracks else None
        corpora = corpora_of(run, settings, watched, repaired.append, vocabularies, check, labels, scale, tracking)
    except Interrupted:
        yield Finished(0, "signal", signals.stop)
        return
    yield from (Warned(message) for message in repaired)
    if not run.checkpoints.exists():
        settings, choices = planned(run, settings, corpora, device, signals, decision)
        if choices:
            yield Chosen(tuple((one.key, one.value, one.reason) for one in choices), str(run.defaults))
    yield from fit(run, settings, corpora, device, signals, origin, decision, began_at)


def with_threads(run: Run, settings: Experiment) -> Experiment:
    """A run that goes on, from a checkpoint or from its beginning, keeps its number of threads, for the same bits."""
    if settings.training.threads is not None or not (run.exists and run.has_begun):
        return settings
    before = read_sealed(run.config).table.get("training", {}).get("threads")
    return settings.changed(training=settings.training.changed(threads=before))


def planned(
    run: Run,
    settings: Experiment,
    corpora: Corpora,
    device: torch.device,
    signals: Signals,
    decision: Decision | None,
) -> tuple[Experiment, list[Choice]]:
    """The settings for the speed that some updates show, and all that was chosen, written down."""
    choices = [] if decision is None else decision.choices
    if settings.training.estimate and not settings.training.compile:
        learner = learner_of(settings, corpora, device)
        sampling = sampling_of(settings, corpora.tokenizers, corpora.tracking)
        estimate = Estimate(learner, corpora.train, settings.training, run.path, device, sampling)
        speed = Trial(estimate).speed(lambda: signals.stop is not None)
        if speed is not None:
            if decision is not None:
                decision.speed, threads = speed, settings.training.threads
                settings, choices = decision.replanned(settings, speed)
                settings = settings.changed(training=settings.training.changed(threads=threads))
            settings, choices = with_fastest_threads(settings, choices, speed)
            use_threads(settings.training.threads)
            if choices:
                write_atomically(run.defaults, with_seal(as_toml(choices)))
            write_atomically(run.config, to_sealed_toml(settings))
    return settings, choices


def with_fastest_threads(settings: Experiment, choices: list[Choice], speed: Speed) -> tuple[Experiment, list[Choice]]:
    """The number of threads that the trial found to be fastest, where it had a choice."""
    if settings.training.threads is not None or len(speed.others) < 2:
        return settings, choices
    choices = [*choices, Choice("training.threads", speed.threads, speed.reason)]
    return settings.changed(training=settings.training.changed(threads=speed.threads)), choices


def learner_of(settings: Experiment, corpora: Corpora, device: torch.device) -> Learner:
    """A model of random weights with what it is trained by."""
    torch.manual_seed(key(settings.training.seed, "weights"))
    sizes = None if corpora.tracking is None else sizes_of(corpora.tracking)
    model = build_model(settings.model, corpora.read, corpora.answers, sizes).to(device)
    if settings.training.compile:
        model.compile_layers()
    return Learner(model, build_regime(settings.regime), build_objective(settings.objective))


def corpora_of(
    run: Run,
    settings: Experiment,
    preparing: Preparing,
    report: Callable[[str], None],
    given: Mapping[str, Tokenizer] | None,
    check: Callable[[Mapping[str, Tokenizer]], object],
    labels: Labelling | None = None,
    scale: Scale | None = None,
    tracking: Tracking | None = None,
) -> Corpora:
    """Pairs, the windows of a language model, texts or frames with labels, questions with documents, or tracks."""
    if isinstance(settings.data, Futures):
        return prepare_tracks(run, settings.data, preparing, report, partial(refuse_unbuilt, settings), tracking)
    if isinstance(settings.data, Frames | Clips):
        assert isinstance(settings.model, EncoderOnly)  # noqa: S101
        return prepare_frames(run, settings.data, settings.model, preparing, report, labels, scale, check)
    if isinstance(settings.data, Labelled | Tagged | Questions):
        assert isinstance(settings.model, EncoderOnly)  # noqa: S101
        made = partial(prepare_labels, run, settings.data, settings.source, settings.model, preparing, report)
        return made(given, labels, check, settings.extraction)
    if isinstance(settings.data, Texts):
        assert not isinstance(settings.model, EncoderDecoder | Forecaster) and not isinstance(settings.target, Shared)  # noqa: S101, PT018
        config = settings.source if isinstance(settings.model, EncoderOnly) else settings.target
        seed = settings.training.seed
        return prepare_texts(run, settings.data, config, settings.model, seed, preparing, report, given, check)
    if isinstance(settings.data, Captions):
        assert isinstance(settings.model, EncoderDecoder) and isinstance(settings.model.source, ImageGrid)  # noqa: S101, PT018
        assert not isinstance(settings.target, Shared)  # noqa: S101
        made = partial(prepare_captions, run, settings.data, settings.target, settings.model.source)
        return made(preparing, report, given, check)
    configs = {side: getattr(settings, side) for side in SIDES}
    return prepare(run, settings.data, configs, preparing, report, given, check, settings.conversation)


def fit(
    run: Run,
    settings: Experiment,
    corpora: Corpora,
    device: torch.device,
    signals: Signals,
    origin: Origin | None,
    decision: Decision | None,
    began_at: float,
) -> Iterator[Event]:
    """Build the model and train it, writing down what happens."""
    learner = learner_of(settings, corpora, device)
    model = learner.model
    yield prepared(corpora, model, device)
    yield Surveyed(corpora.summary, short_lines(corpora.summary, corpora.formats))
    if origin is not None:
        yield from start_from(origin, model, corpora.train.counts, settings.training.take)
    prepare_model_folder(run, settings, corpora)
    warnings: list[str] = []
    training = Fit(
        learner,
        corpora.train,
        settings.training,
        Checkpoints(run.checkpoints, settings.training.keep, warnings.append),
        judge(settings, corpora, model, device),
        lambda step, value: export(run, model, step, corpora, settings.training.monitor, value),
        device,
        signals,
        sampling_of(settings, corpora.tokenizers, corpora.tracking),
        began_at=began_at,
        reserve=reserve_of(settings),
        restart=None if origin is not None else restart_of(settings, corpora, device),
        replan=None if decision is None else partial(replanned, run, settings, decision, corpora, model),
    )
    for event in training.run():
        yield from (Warned(warning) for warning in warnings)
        warnings.clear()
        try:
            record(run, corpora, event)
        except StorageError as error:
            yield Warned(f"{error} Training goes on without this line of the log.")
        if isinstance(event, Finished) and event.signal is None and settings.evaluation.report:
            yield from reported(run, settings, signals, training.seconds_over())
        yield event


def reserve_of(settings: Experiment) -> float:
    """Seconds of the minutes that are kept for the report."""
    return REPORT * 60 * (settings.training.minutes or 0.0) if settings.evaluation.report else 0.0


def restart_of(settings: Experiment, corpora: Corpora, device: torch.device) -> Restart | None:
    """Where a likelihood per token or label is learned: that of unigrams, and the first weights."""
    objective = settings.objective
    if not isinstance(objective, CrossEntropy) or objective.per != "token":
        return None
    unigram = unigram_loss(corpora.train, corpora.answers, objective.smoothing)
    if unigram is None or unigram < TELLING:
        return None
    fewest = fewest_of(corpora.answers)
    return Restart(unigram, fewest, lambda: weights_of(learner_of(settings, corpora, device).model))


def replanned(
    run: Run, settings: Experiment, decision: Decision, corpora: Corpora, model: Model, seconds: float
) -> Training | None:
    """The settings for another speed than that of the trial, which the model gets too, or none where it is the same."""
    before = decision.speed
    if before is None or 1 / ANOTHER <= seconds / before.seconds_per_update <= ANOTHER:
        return None
    found, choices = decision.replanned(settings, replace(before, seconds_per_update=seconds))
    found, choices = with_fastest_threads(found, choices, before)
    with torch.device("meta"):
        sizes = None if corpora.tracking is None else sizes_of(corpora.tracking)
        set_dropout(model, build_model(found.model, corpora.read, corpora.answers, sizes))
    write_atomically(run.defaults, with_seal(as_toml(choices)))
    write_atomically(run.config, to_sealed_toml(found))
    return found.training


def prepared(corpora: Corpora, model: Model, device: torch.device) -> Prepared:
    counts = corpora.train.counts
    return Prepared(
        pairs=counts.pairs,
        bad_lines=counts.bad,
        dropped_long=counts.dropped_long,
        source_vocabulary=size_of(corpora.tokenizers, "source"),
        target_vocabulary=size_of(corpora.tokenizers, "target"),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        device=str(device),
        symbols=counts.target_tokens if counts.documents else 0,
        labels=corpora.answers if corpora.labels is not None else 0,
        spans=corpora.train.layout == "spans",
        passages=corpora.train.layout == "passages",
        numbers=0 if corpora.scale is None else corpora.scale.size,
        steps=() if corpora.tracking is None else (counts.longest_source, counts.longest_target),
        features=() if corpora.tracking is None else tuple(map(str, corpora.tracking.features)),
    )


def refuse_unbuilt(settings: Experiment, tracking: Tracking) -> None:
    """Parts of a model of tracks that do not fit together, before the run is bound to them."""
    head = getattr(settings.model, "head", None)
    if getattr(head, "covariance", "") == "full" and len(tracking.predicts) != 2:
        raise ConfigError(
            f"model.head.covariance = 'full' is for two features, and {len(tracking.predicts)} are predicted "
            f"({', '.join(tracking.predicts)}). Set it to 'diagonal'."
        )
    if getattr(settings.data, "turns", "none") != "none" and len(tracking.predicts) != 2:
        raise ConfigError(
            f"data.turns turns two features, and {len(tracking.predicts)} are predicted "
            f'({", ".join(tracking.predicts)}). Name two: data.predicts=["x", "y"].'
        )
    with torch.device("meta"):  # nothing is allocated
        build_model(settings.model, 0, 0, sizes_of(tracking))


def refuse_impossible(settings: Experiment, tokenizers: Mapping[str, Tokenizer]) -> None:
    """Vocabularies that cannot be sampled or tied, and parts of a model that do not fit together."""
    sampling_of(settings, tokenizers)
    if (
        isinstance(settings.model, EncoderDecoder)
        and settings.model.tie == "all"
        and "source" in tokenizers
        and tokenizers["source"].hash != tokenizers["target"].hash
    ):
        raise ConfigError(
            "model.tie = 'all' has one vector for a word of either side, and the two sides have vocabularies of their "
            "own. Set target.kind = 'shared' for one vocabulary, or model.tie = 'target'."
        )
    with torch.device("meta"):  # nothing is allocated
        build_model(settings.model, max(1, size_of(tokenizers, "source")), max(1, size_of(tokenizers, "target")))


def refuse_uncompiled(settings: Experiment, device: torch.device) -> None:
    parts = [getattr(settings.model, part).kind for part in ("encoder", "decoder") if hasattr(settings.model, part)]
    if "transformer" not in parts:
        raise ConfigError(
            "training.compile is for the layers of a Transformer, and this one has none. Set training.compile = false."
        )
    compiler = shlex.split(os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++"))
    if device.type == "cpu" and (not compiler or shutil.which(compiler[0]) is None):
        raise ConfigError(
            f"training.compile needs a compiler of C++, and '{' '.join(compiler)}' is not there: install one (Debian: "
            "apt install g++), name yours in the variable CXX, or set training.compile = false."
        )


def sampling_of(
    settings: Experiment, tokenizers: Mapping[str, Tokenizer], tracking: Tracking | None = None
) -> Sampling | Masking | Turning | None:
    """As the tokenizers are set; a shared one is sampled on both sides. Of a model that is pretrained: its masks; of
    tracks: how they are turned."""
    if isinstance(settings.data, Futures):
        assert tracking is not None  # noqa: S101
        return Turning(tracking, settings.data.turns, settings.data.noise, settings.training.seed)
    if isinstance(settings.data, Texts) and isinstance(settings.model, DecoderOnly):
        if getattr(settings.target, "sampling", 0.0):
            raise ConfigError(
                "target.sampling spells a text anew in every epoch, and the windows of a language model are cut once. "
                "Set target.sampling = 0."
            )
        return None
    if isinstance(settings.model, EncoderOnly):
        if getattr(settings.source, "sampling", 0.0):
            raise ConfigError(
                "source.sampling spells a text anew in every epoch, which is for pairs of texts. Set source.sampling = "
                "0."
            )
        head = settings.model.head
        if isinstance(head, Pretraining) and head.learns != "next_sentence":
            return Masking.of(head.masks, tokenizers["source"], settings.training.seed)
        return None
    if isinstance(settings.data, Captions):
        if getattr(settings.target, "sampling", 0.0):
            raise ConfigError(
                "target.sampling spells a text anew in every epoch, which is for pairs of texts. Set target.sampling = "
                "0."
            )
        return None
    configs = {"source": settings.source, "target": settings.target}
    if settings.conversation.turns and any(getattr(config, "sampling", 0.0) for config in configs.values()):
        raise ConfigError(
            "sampling spells a text anew in every epoch, which is for pairs of texts and not for the turns of "
            "conversations. Set source.sampling = 0 and target.sampling = 0."
        )
    if isinstance(settings.target, Shared):
        configs["target"] = settings.source
    strengths = {side: getattr(config, "sampling", 0.0) for side, config in configs.items()}
    return Sampling.of(tokenizers, strengths, settings.training.seed, hallucination_of(settings, tokenizers))


def hallucination_of(settings: Experiment, tokenizers: Mapping[str, Tokenizer]) -> float:
    """The share of pairs with made-up stems, which are made of letters."""
    share = settings.data.hallucination if isinstance(settings.data, Pairs) else 0.0
    kinds = {tokenizer.kind for tokenizer in tokenizers.values()}
    if share and (settings.conversation.turns or not kinds <= {"characters", "features"}):
        raise ConfigError(
            "data.hallucination replaces letters in pairs of texts that are spelled out. Set it to 0, or set "
            "source.kind and target.kind to 'characters' or 'features'."
        )
    return share


def validated_questions(settings: Experiment) -> list[Question]:
    """Those that are answered at a validation."""
    if not isinstance(settings.data, Questions):
        return []
    return list(islice(read_questions_split(settings.data, "valid", Problems()), settings.training.validate_lines))


def refuse_unmeasured(monitor: str, labels: Labelling) -> None:
    """What is of two labels, or of spans, is nothing where there are others."""
    if monitor not in (known := ["loss", *fitting_metrics(labels)]):
        raise ConfigError(
            f"training.monitor = '{monitor}' is nothing that the {labels.what} of this data are measured by."
            f"{nearest(monitor, known)} Known: {', '.join(known)}."
        )


def judge(settings: Experiment, corpora: Corpora, model: Model, device: torch.device) -> Judge | None:
    """Validation by loss always, by metrics as well where one is monitored; without data nobody judges."""
    monitor = settings.training.monitor
    source, target = (corpora.tokenizers.get(side) for side in SIDES)
    learned = (corpora.labels, corpora.scale, corpora.captions, corpora.tracking)
    pipeline = Pipeline(model, source, target, settings, device, None, *learned)
    if corpora.valid is None:
        return None
    if corpora.labels is not None:
        refuse_unmeasured(monitor, corpora.labels)
    valid = corpora.valid
    pairs = settings.data if isinstance(settings.data, Pairs) and monitor in METRICS else None
    references: list[tuple[Any, tuple[str, ...]]] = []
    if pairs is not None:
        references = [*grouped(read_split(pairs, "valid", Problems()))][: settings.training.validate_lines]
    elif isinstance(settings.data, Captions) and monitor in METRICS:
        references = validated_pictures(settings.data, settings.training.validate_lines)
    questions = validated_questions(settings)
    names = tuple(dict.fromkeys((monitor, *settings.evaluation.metrics)))
    batching = settings.training.batching

    def measured_in(parts: int, stopped: Callable[[], bool]) -> dict[str, float] | None:
        if corpora.tracking is not None:
            return validate_tracks(pipeline, valid, smaller(batching, parts), settings.objective, stopped)
        values = validation_loss(pipeline, valid, smaller(batching, parts), stopped)
        if values is not None and references:
            found = validation_metrics(pipeline, references, names, stopped, max(1, VALIDATED // parts))
            return None if found is None else values | found
        if values is not None and questions:
            answered = span_metrics(pipeline, questions, stopped, parts)
            return None if answered is None else values | answered
        return values

    def measured(stopped: Callable[[], bool]) -> dict[str, float] | None:
        return in_parts(lambda parts: measured_in(parts, stopped), device)

    known = METRICS if corpora.labels is None else LABEL_METRICS
    higher = monitor.endswith("accuracy") or (monitor in known and known[monitor].higher_is_better)
    return Judge(measured, monitor, higher)
