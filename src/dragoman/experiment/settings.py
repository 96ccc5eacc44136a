"""The whole of a training in one config."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from dragoman.config import Config, Table, merge, nest
from dragoman.data.pictures import require_pillow
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import Conversations, Pairs
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.errors import ConfigError, choose, nearest, unknown
from dragoman.evaluation.pretraining import measures_of
from dragoman.frontends import ImageGrid
from dragoman.heads import Mixture, Points, Pretraining
from dragoman.metrics import METRICS
from dragoman.metrics.labels import What, metrics_of
from dragoman.models import DecoderOnly, EncoderDecoder, EncoderOnly, Forecaster
from dragoman.objectives import (
    Crf,
    CrossEntropy,
    Distance,
    MixtureLikelihood,
    ObjectiveConfig,
    SpanCrossEntropy,
    SquaredError,
)
from dragoman.objectives import Pretraining as PretrainingLosses
from dragoman.regimes import RegimeConfig, Teacher
from dragoman.served import Served, refuse_beyond_positions, refuse_without_room
from dragoman.training.settings import Training

DEFAULT_EPOCHS = 10
NOT_WORDS = {
    "squared_error": "numbers",
    "crf": "tags",
    "span_cross_entropy": "answers in documents",
    "pretraining": "hidden words and next sentences",
    "distance": "tracks",
    "mixture": "tracks",
}
TEXT_MEASURES = ("loss", "perplexity", "bits_per_character")  # what a language model is validated by

TRACK_MEASURES = ("loss", "ade", "fde")  # what a model of tracks is validated by

AnyDataConfig = Pairs | Conversations | Texts | Labelled | Tagged | Questions | Captions | Frames | Clips | Futures
DataConfig = Annotated[AnyDataConfig, Field(discriminator="kind")]
SAID = Labelled | Tagged | Questions | Frames | Clips  # what a model that only reads learns from


class Fitting(NamedTuple):
    """What a head of a model that only reads is learned from and with."""

    data: type[Config]
    learns_from: str
    objective: type[Config]
    measured: What = "labels"


HEADS = {
    "labels": Fitting(Labelled, "texts with a label each", CrossEntropy, "labels"),
    "number": Fitting(Labelled, "texts with a label each", SquaredError, "numbers"),
    "tags": Fitting(Tagged, "texts with a tag a word", CrossEntropy, "tags"),
    "crf": Fitting(Tagged, "texts with a tag a word", Crf, "tags"),
    "spans": Fitting(Questions, "questions with a document each", SpanCrossEntropy, "spans"),
    "pretraining": Fitting(Texts, "whole texts", PretrainingLosses),
}

# The same where no texts are read, by the kind of what makes vectors of them.
FRAMES: dict[str, tuple[type[Config], str]] = {
    "frames": (Frames, "numbers frame by frame, with labels"),
    "image_grid": (Clips, "clips of pictures, with labels"),
}

# Where a kind is chosen and another is left open, that one follows; the first rule that says something of it counts.
USUAL_TURNS = 8  # of a conversation that are read, where nothing else is said
TRACK_HEADS = ("points", "mixture")
FOLLOWS: tuple[tuple[tuple[str, ...], str, tuple[str, ...], Any], ...] = (
    (("data", "kind"), "tracks", ("model", "kind"), "forecaster"),
    (("objective", "along"), "path", ("model", "kind"), "forecaster"),
    *((("model", "head", "kind"), head, ("model", "kind"), "forecaster") for head in TRACK_HEADS),
    *((("objective", "kind"), kind, ("model", "kind"), "forecaster") for kind in ("mixture", "distance")),
    (("objective", "kind"), "mixture", ("model", "head", "kind"), "mixture"),
    (("model", "head", "kind"), "mixture", ("objective", "kind"), "mixture"),
    (("model", "kind"), "forecaster", ("data", "kind"), "tracks"),
    (("model", "kind"), "forecaster", ("objective", "kind"), "squared_error"),
    (("objective", "along"), "path", ("data", "frame"), "steps"),
    (("data", "kind"), "captions", ("model", "source", "kind"), "image_grid"),
    (("model", "source", "kind"), "image_grid", ("data", "kind"), "captions"),
    (("data", "kind"), "conversations", ("conversation", "turns"), USUAL_TURNS),
    (("data", "kind"), "clips", ("model", "source", "kind"), "image_grid"),
    (("data", "kind"), "clips", ("model", "source", "summary"), "joined"),
    (("data", "kind"), "clips", ("model", "kind"), "encoder_only"),
    (("data", "kind"), "frames", ("model", "source", "kind"), "frames"),
    (("data", "kind"), "frames", ("model", "kind"), "encoder_only"),
    (("model", "source", "kind"), "frames", ("data", "kind"), "frames"),
    (("objective", "kind"), "pretraining", ("model", "head", "kind"), "pretraining"),
    (("model", "head", "kind"), "pretraining", ("objective", "kind"), "pretraining"),
    (("model", "head", "kind"), "pretraining", ("model", "kind"), "encoder_only"),
    (("model", "head", "kind"), "pretraining", ("model", "sentences"), "two"),
    (("model", "head", "kind"), "pretraining", ("data", "kind"), "texts"),
    (("model", "kind"), "decoder_only", ("data", "kind"), "texts"),
    (("data", "kind"), "texts", ("model", "kind"), "decoder_only"),
    (("model", "source", "kind"), "spelled", ("source", "kind"), "words"),
    *((("model", part, "kind"), "ngrams", ("source", "kind"), "wordpunct") for part in ("source", "wide")),
    (("model", "bag", "kind"), "bag", ("source", "kind"), "wordpunct"),
    (("objective", "kind"), "crf", ("model", "head", "kind"), "crf"),
    (("model", "head", "kind"), "crf", ("objective", "kind"), "crf"),
    (("data", "kind"), "tagged", ("model", "head", "kind"), "tags"),
    (("objective", "kind"), "squared_error", ("model", "head", "kind"), "number"),
    (("model", "head", "kind"), "tags", ("data", "kind"), "tagged"),
    (("model", "head", "kind"), "crf", ("data", "kind"), "tagged"),
    (("data", "kind"), "questions", ("model", "head", "kind"), "spans"),
    (("objective", "kind"), "span_cross_entropy", ("model", "head", "kind"), "spans"),
    (("model", "head", "kind"), "spans", ("data", "kind"), "questions"),
    (("model", "head", "kind"), "spans", ("model", "sentences"), "two"),
    (("model", "head", "kind"), "spans", ("objective", "kind"), "span_cross_entropy"),
    (("model", "head", "kind"), "number", ("objective", "kind"), "squared_error"),
    *((("model", "head", "kind"), head, ("model", "kind"), "encoder_only") for head in HEADS),
    (("data", "kind"), "labelled", ("model", "kind"), "encoder_only"),
    (("model", "kind"), "encoder_only", ("data", "kind"), "labelled"),
)


class Experiment(Served):
    """A whole training in one config: what to read, what to build, how to learn, how to judge."""

    data: DataConfig = Pairs()
    """What is learned from."""
    regime: RegimeConfig = Teacher()
    """How the target is fed to the decoder."""
    objective: ObjectiveConfig = CrossEntropy()
    """What is made small."""
    training: Training = Training()
    """How the weights are learned."""

    @model_validator(mode="before")
    @classmethod
    def _kinds_go_together(cls, given: Any) -> Any:
        """`model.kind = "decoder_only"` speaks of texts as well, and `data.kind = "texts"` of a language model."""
        return with_what_follows(given) if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _data_within_positions(self) -> "Experiment":
        if isinstance(self.data, Pairs):
            if not isinstance(self.data, Conversations):
                refuse_beyond_positions(self.model, "encoder", "data.max_source_length", self.data.max_source_length, 1)
            refuse_beyond_positions(self.model, "decoder", "data.max_target_length", self.data.max_target_length, 1)
        return self

    @model_validator(mode="after")
    def _captions_for_pictures(self) -> "Experiment":
        pictures = isinstance(self.model, EncoderDecoder) and isinstance(self.model.source, ImageGrid)
        if isinstance(self.data, Captions) and not pictures:
            raise ValueError(
                "data.kind = 'captions' is for a model that describes pictures: set model.kind = 'encoder_decoder' and "
                "model.source.kind = 'image_grid', or name a recipe such as xu2015."
            )
        if pictures and not isinstance(self.data, Captions):
            raise ValueError(
                "model.source.kind = 'image_grid' reads pictures, and data.kind is "
                f"'{self.data.kind}'. Set data.kind = 'captions', or model.source.kind = 'tokens'."
            )
        if pictures and isinstance(self.data, Captions):
            most = self.data.max_target_length
            refuse_beyond_positions(self.model, "decoder", "data.max_target_length", most, 1)
        return self

    @model_validator(mode="after")
    def _turns_for_conversations(self) -> "Experiment":
        talks = isinstance(self.data, Conversations)
        if talks and not self.conversation.turns:
            raise ValueError(
                "data.kind = 'conversations' needs conversation.turns = 1 or more: how many turns are read before the "
                "next one is learned."
            )
        if self.conversation.turns and not talks:
            raise ValueError(
                f"conversation.turns = {self.conversation.turns} is for conversations, and data.kind is "
                f"'{self.data.kind}'. Set data.kind = 'conversations', or leave conversation out."
            )
        return self

    @model_validator(mode="after")
    def _labels_for_readers(self) -> "Experiment":
        if isinstance(self.model, Forecaster):
            refuse_unfit_tracks(self.model, self.data, self.objective, self.regime, self.training.monitor)
            return self
        if isinstance(self.data, Futures):
            raise ValueError(
                f"data.kind = 'tracks' is for a model that goes on with tracks, and model.kind is '{self.model.kind}'. "
                "Set model.kind = 'forecaster', or name the recipe trajectories."
            )
        if not isinstance(self.model, EncoderOnly):
            if isinstance(self.data, SAID):
                raise ValueError(
                    f"data.kind = '{self.data.kind}' is for a model that only reads, and model.kind is "
                    f"'{self.model.kind}'. Set model.kind = 'encoder_only', or name a recipe such as classify, tag, "
                    "spans or classify-frames."
                )
            if not isinstance(self.objective, CrossEntropy):
                raise ValueError(
                    f"objective.kind = '{self.objective.kind}' is for {NOT_WORDS[self.objective.kind]}, and this model "
                    "writes symbols. Set objective.kind = 'cross_entropy'."
                )
            return self
        refuse_unfit(self.model, self.data, self.objective, self.regime, self.training.monitor)
        if isinstance(self.data, Questions):
            refuse_without_room("data.max_length", self.data.max_length, self.extraction.question)
        return self

    @model_validator(mode="after")
    def _looks_that_can_be_even(self) -> "Experiment":
        looks_at = getattr(getattr(self.model, "decoder", None), "looks_at", "words")
        if looks_at != "words" and getattr(self.objective, "doubly_stochastic", 0.0):
            raise ValueError(
                f"objective.doubly_stochastic counts how much every word of the source is looked at, and "
                f"model.decoder.looks_at = '{looks_at}' looks at turns{' too' if looks_at == 'both' else ''}. Set "
                "model.decoder.looks_at = 'words', or objective.doubly_stochastic = 0."
            )
        return self

    @model_validator(mode="after")
    def _passes_over_the_same_words(self) -> "Experiment":
        if getattr(self.objective, "consistency", 0.0) and not isinstance(self.regime, Teacher):
            raise ValueError(
                "objective.consistency compares two forward passes over the same target, and with regime.kind = "
                f"'{self.regime.kind}' the model feeds its own words. Set objective.consistency = 0, or regime.kind = "
                "'teacher'."
            )
        return self

    @model_validator(mode="after")
    def _texts_for_language_models(self) -> "Experiment":
        if not isinstance(self.model, DecoderOnly):
            if isinstance(self.data, Texts) and not isinstance(self.model, EncoderOnly):
                raise ValueError(
                    f"data.kind = 'texts' is for a language model, and model.kind is '{self.model.kind}', which learns "
                    "from pairs. Set model.kind = 'decoder_only', or name a recipe such as gpt."
                )
            return self
        if not isinstance(self.data, Texts):
            raise ValueError(
                "model.kind = 'decoder_only' is a language model, which learns from whole texts, and data.kind is "
                f"'{self.data.kind}'. Set data.kind = 'texts'."
            )
        if getattr(self.objective, "consistency", 0.0) and self.model.carry == "state":
            raise ValueError(
                "objective.consistency needs two forward passes per window, and with model.carry = 'state' each window "
                "starts from the carried state. Set objective.consistency = 0, or model.carry = 'none'."
            )
        if self.regime != Teacher():
            raise ValueError(
                "a language model is fed the true text, and its gradient ends where a window ends (model.context): "
                "set regime.kind = 'teacher' without truncate."
            )
        if self.training.monitor not in TEXT_MEASURES:
            raise ValueError(
                f"training.monitor = '{self.training.monitor}' needs answers to sources, and a language model has "
                f"none. Known: {', '.join(TEXT_MEASURES)}."
            )
        return self

    @model_validator(mode="after")
    def _layers_to_tell_apart(self) -> "Experiment":
        training = self.training
        if training.freeze == "nothing" and training.layer_decay == 1:
            return self
        if isinstance(self.model, EncoderDecoder | Forecaster):
            name = "training.freeze" if training.freeze != "nothing" else "training.layer_decay"
            raise ValueError(
                f"{name} counts the layers of one stack, from the vectors of symbols to the head, and this model has "
                "two, an encoder and a decoder. Leave it out."
            )
        layers = (self.model.encoder if isinstance(self.model, EncoderOnly) else self.model.decoder).layers
        if isinstance(training.freeze, int) and training.freeze > layers:
            raise ValueError(
                f"training.freeze = {training.freeze} freezes more layers than there are: {layers}. Set body to freeze "
                "all of them."
            )
        return self


def with_what_follows(given: Table) -> Table:
    reads_only = value_at(given, ("model", "kind")) == "encoder_only"
    if reads_only and value_at(given, ("model", "source", "kind")) == "image_grid":  # else pictures have captions
        given = merge({"data": {"kind": "clips"}}, given)
    for path, kind, other, follows in FOLLOWS:
        table = given.get(other[0], {})
        if value_at(given, path) != kind or not isinstance(table, dict):
            continue
        fitting = "forecaster" if follows in TRACK_HEADS else "encoder_only"
        if other[-2] == "head" and value_at(given, ("model", "kind")) not in (None, fitting):
            continue  # another model has no such head, which is said elsewhere
        if value_at(given, other) is None:
            own = {} if other == ("objective", "kind") else table  # what is there belongs to another objective
            given = {**given, other[0]: merge(nest({other[1:]: follows}), own)}
    return given


def value_at(table: Any, path: Sequence[str]) -> Any:
    for name in path:
        table = table.get(name) if isinstance(table, dict) else None
    return table


def refuse_unfit(model: EncoderOnly, data: object, objective: object, regime: object, monitor: str) -> None:
    """What does not fit to a model that only reads, and to its head."""
    fitting = HEADS[model.head.kind]
    wanted, learns_from = FRAMES.get(model.source.kind, (fitting.data, fitting.learns_from))
    if not isinstance(data, wanted):
        source = f"model.source.kind = '{model.source.kind}' and " if model.source.kind in FRAMES else ""
        raise ValueError(
            f"model.kind = 'encoder_only' with {source}model.head.kind = '{model.head.kind}' learns from "
            f"{learns_from}: set data.kind = '{kind_of(wanted)}', not '{getattr(data, 'kind', '')}'."
        )
    if not isinstance(objective, fitting.objective):
        raise ValueError(
            f"model.head.kind = '{model.head.kind}' is learned with objective.kind = '{kind_of(fitting.objective)}', "
            f"not '{getattr(objective, 'kind', '')}'. Set it."
        )
    if regime != Teacher():
        raise ValueError("a model that only reads is fed nothing: leave regime out.")
    known = measures_of(model.head) if isinstance(model.head, Pretraining) else ["loss", *metrics_of(fitting.measured)]
    if monitor not in known:
        raise ValueError(
            f"training.monitor = '{monitor}' is nothing that model.head.kind = '{model.head.kind}' is measured by."
            f"{nearest(monitor, known)} Known: {', '.join(known)}."
        )
    refuse_beyond_positions(model, "encoder", "data.max_length", getattr(data, "max_length", 0), model.beside)


def refuse_unfit_tracks(model: Forecaster, data: object, objective: object, regime: object, monitor: str) -> None:
    """What does not fit to a model of tracks, and to its head."""
    if not isinstance(data, Futures):
        raise ValueError(
            f"model.kind = 'forecaster' goes on with tracks: set data.kind = 'tracks', not "
            f"'{getattr(data, 'kind', '')}'."
        )
    fitting = MixtureLikelihood if isinstance(model.head, Mixture) else SquaredError | Distance
    if not isinstance(objective, fitting):
        wanted = "'mixture'" if isinstance(model.head, Mixture) else "'squared_error' or 'distance'"
        raise ValueError(
            f"model.head.kind = '{model.head.kind}' is learned with objective.kind = {wanted}, not "
            f"'{getattr(objective, 'kind', '')}'. Set it."
        )
    if getattr(objective, "along", "points") == "path" and data.frame != "steps":
        raise ValueError(f"objective.along = 'path' sums steps up, and data.frame is '{data.frame}': set 'steps'.")
    if getattr(regime, "own", "best") == "sampled" and isinstance(model.head, Points):
        raise ValueError(
            "regime.own = 'sampled' draws points, and model.head.kind = 'points' says one: set own = 'best'."
        )
    if monitor not in TRACK_MEASURES:
        raise ValueError(
            f"training.monitor = '{monitor}' is nothing that tracks are measured by.{nearest(monitor, TRACK_MEASURES)} "
            f"Known: {', '.join(TRACK_MEASURES)}."
        )
    refuse_beyond_positions(model, "encoder", "data.past", data.past, 0)
    refuse_beyond_positions(model, "decoder", "data.future", data.future, 0)


def kind_of(config: type[Config]) -> str:
    return str(config.model_fields["kind"].default)


def completed(settings: Experiment, undecided: bool = False) -> Experiment:
    """What follows from other settings, or must be there; while the data is to decide, validation data may yet come."""
    if not settings.data.train:
        wanted = {
            "pairs": "a file of pairs, or --source and --target files",
            "conversations": "a file of conversations",
            "texts": "a text file",
            "labelled": "a file of texts with labels",
            "tagged": "a file of words with tags",
            "questions": "a file of questions with their documents and answers",
            "captions": "a file of pictures with their captions",
            "frames": "a file of numbers with labels",
            "clips": "a file of clips with labels",
            "tracks": "a file of tracks (CSV, JSON lines or NPZ)",
        }[settings.data.kind]
        raise ConfigError(f"There is nothing to train on: name {wanted}.")
    if isinstance(settings.data, Captions | Clips):
        require_pillow()
    judged = SAID | Futures  # by what needs answers
    unjudged = settings.training.monitor != "loss" and not settings.data.has("valid")
    if isinstance(settings.data, judged) and unjudged and not undecided:
        raise ConfigError(
            f"training.monitor = '{settings.training.monitor}' needs validation data: give --valid, or set "
            "data.hold_out=0.1."
        )
    if settings.training.monitor not in ("loss", "perplexity") and isinstance(settings.data, Pairs | Captions):
        if settings.training.monitor not in METRICS:
            raise unknown("value to monitor", settings.training.monitor, ["loss", "perplexity", *METRICS])
        METRICS[settings.training.monitor].needed()
        if not settings.data.has("valid") and not undecided:
            raise ConfigError("training.monitor needs validation data: give --valid, or set data.hold_out.")
    for name in settings.evaluation.metrics:
        choose("metric", name, METRICS).needed()
    if settings.training.no_limit and not undecided:
        return settings.changed(training=settings.training.changed(epochs=DEFAULT_EPOCHS))
    return settings
