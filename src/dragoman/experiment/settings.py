"""The whole of a training in one config."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import Field, model_validator

from dragoman.config import Config, Table, merge, nest
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import Pairs
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.errors import ConfigError, choose, nearest, unknown
from dragoman.heads import Pretraining
from dragoman.metrics import METRICS
from dragoman.metrics.labels import What, metrics_of
from dragoman.models import DecoderOnly, EncoderDecoder, EncoderOnly
from dragoman.objectives import CrossEntropy, ObjectiveConfig, SpanCrossEntropy, SquaredError
from dragoman.objectives import Pretraining as PretrainingLosses
from dragoman.pretraining_evaluation import measures_of
from dragoman.regimes import RegimeConfig, Teacher
from dragoman.served import Served, refuse_beyond_positions, refuse_without_room
from dragoman.training.settings import Training

DEFAULT_EPOCHS = 10
NOT_WORDS = {
    "squared_error": "numbers",
    "span_cross_entropy": "answers in documents",
    "pretraining": "hidden words and next sentences",
}
TEXT_MEASURES = ("loss", "perplexity", "bits_per_character")  # what a language model is validated by

DataConfig = Annotated[Pairs | Texts | Labelled | Tagged | Questions, Field(discriminator="kind")]


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
    "spans": Fitting(Questions, "questions with a document each", SpanCrossEntropy, "spans"),
    "pretraining": Fitting(Texts, "whole texts", PretrainingLosses),
}

# Where a kind is chosen and another is left open, that one follows; the first rule that says something of it counts.
FOLLOWS = (
    (("objective", "kind"), "pretraining", ("model", "head", "kind"), "pretraining"),
    (("model", "head", "kind"), "pretraining", ("objective", "kind"), "pretraining"),
    (("model", "head", "kind"), "pretraining", ("model", "kind"), "encoder_only"),
    (("model", "head", "kind"), "pretraining", ("model", "sentences"), "two"),
    (("model", "head", "kind"), "pretraining", ("data", "kind"), "texts"),
    (("model", "kind"), "decoder_only", ("data", "kind"), "texts"),
    (("data", "kind"), "texts", ("model", "kind"), "decoder_only"),
    (("data", "kind"), "tagged", ("model", "head", "kind"), "tags"),
    (("objective", "kind"), "squared_error", ("model", "head", "kind"), "number"),
    (("model", "head", "kind"), "tags", ("data", "kind"), "tagged"),
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
            refuse_beyond_positions(self.model, "encoder", "data.max_source_length", self.data.max_source_length, 1)
            refuse_beyond_positions(self.model, "decoder", "data.max_target_length", self.data.max_target_length, 1)
        return self

    @model_validator(mode="after")
    def _labels_for_readers(self) -> "Experiment":
        if not isinstance(self.model, EncoderOnly):
            if isinstance(self.data, Labelled | Tagged | Questions):
                raise ValueError(
                    f"data.kind = '{self.data.kind}' is for a model that only reads, and model.kind is "
                    f"'{self.model.kind}'. Set model.kind = 'encoder_only', or name a recipe such as classify, tag or "
                    "spans."
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
        if isinstance(self.model, EncoderDecoder):
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
    for path, kind, other, follows in FOLLOWS:
        table = given.get(other[0], {})
        if value_at(given, path) != kind or not isinstance(table, dict):
            continue
        if len(other) == 3 and value_at(given, ("model", "kind")) not in (None, "encoder_only"):
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
    if not isinstance(data, fitting.data):
        raise ValueError(
            f"model.kind = 'encoder_only' with model.head.kind = '{model.head.kind}' learns from "
            f"{fitting.learns_from}: set data.kind = '{kind_of(fitting.data)}', not '{getattr(data, 'kind', '')}'."
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


def kind_of(config: type[Config]) -> str:
    return str(config.model_fields["kind"].default)


def completed(settings: Experiment, undecided: bool = False) -> Experiment:
    """What follows from other settings, or must be there; while the data is to decide, validation data may yet come."""
    if not settings.data.train:
        wanted = {
            "pairs": "a file of pairs, or --source and --target files",
            "texts": "a text file",
            "labelled": "a file of texts with labels",
            "tagged": "a file of words with tags",
            "questions": "a file of questions with their documents and answers",
        }[settings.data.kind]
        raise ConfigError(f"There is nothing to train on: name {wanted}.")
    if (
        isinstance(settings.data, Labelled | Tagged | Questions)
        and settings.training.monitor != "loss"
        and not settings.data.has("valid")
    ):
        raise ConfigError(
            f"training.monitor = '{settings.training.monitor}' needs validation data: give --valid, or set "
            "data.hold_out=0.1."
        )
    if settings.training.monitor not in ("loss", "perplexity") and isinstance(settings.data, Pairs):
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
