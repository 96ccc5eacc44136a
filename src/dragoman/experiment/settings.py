"""The whole of a training in one config."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from dragoman.data.readers.pairs import Pairs
from dragoman.data.readers.texts import Texts
from dragoman.errors import ConfigError, choose, unknown
from dragoman.metrics import METRICS
from dragoman.models import DecoderOnly
from dragoman.objectives import CrossEntropy, ObjectiveConfig
from dragoman.regimes import RegimeConfig, Teacher
from dragoman.served import Served, refuse_beyond_positions
from dragoman.training.settings import Training

DEFAULT_EPOCHS = 10
TEXT_MEASURES = ("loss", "perplexity", "bits_per_character")  # what a language model is validated by

DataConfig = Annotated[Pairs | Texts, Field(discriminator="kind")]


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
    def _texts_go_with_language_models(cls, given: Any) -> Any:
        """`model.kind = "decoder_only"` speaks of texts as well, and `data.kind = "texts"` of a language model."""
        if not isinstance(given, dict):
            return given
        filled = dict(given)
        for one, kind, other, follows in (
            ("model", "decoder_only", "data", "texts"),
            ("data", "texts", "model", "decoder_only"),
        ):
            table = filled.get(one)
            if isinstance(table, dict) and table.get("kind") == kind and isinstance(filled.get(other, {}), dict):
                filled[other] = {"kind": follows, **filled.get(other, {})}
        return filled

    @model_validator(mode="after")
    def _data_within_positions(self) -> "Experiment":
        if isinstance(self.data, Pairs):
            refuse_beyond_positions(self.model, "encoder", "data.max_source_length", self.data.max_source_length, 1)
            refuse_beyond_positions(self.model, "decoder", "data.max_target_length", self.data.max_target_length, 1)
        return self

    @model_validator(mode="after")
    def _texts_for_language_models(self) -> "Experiment":
        if not isinstance(self.model, DecoderOnly):
            if isinstance(self.data, Texts):
                raise ValueError(
                    "data.kind = 'texts' is for a language model, and model.kind is 'encoder_decoder', which learns "
                    "from pairs. Set model.kind = 'decoder_only', or name a recipe such as gpt."
                )
            return self
        if not isinstance(self.data, Texts):
            raise ValueError(
                "model.kind = 'decoder_only' is a language model, which learns from whole texts, and data.kind is "
                "'pairs'. Set data.kind = 'texts'."
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


def completed(settings: Experiment, undecided: bool = False) -> Experiment:
    """What follows from other settings, or must be there; while the data is to decide, validation data may yet come."""
    if not settings.data.train:
        wanted = (
            "a text file" if isinstance(settings.data, Texts) else "a file of pairs, or --source and --target files"
        )
        raise ConfigError(f"There is nothing to train on: name {wanted}.")
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
