"""The whole of a training in one config."""

from pydantic import model_validator

from dragoman.data.readers.pairs import Pairs
from dragoman.errors import ConfigError, choose, unknown
from dragoman.metrics import METRICS
from dragoman.objectives import CrossEntropy, ObjectiveConfig
from dragoman.regimes import RegimeConfig, Teacher
from dragoman.served import Served, refuse_beyond_positions
from dragoman.training.settings import Training

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

    @model_validator(mode="after")
    def _data_within_positions(self) -> "Experiment":
        refuse_beyond_positions(self.model, "encoder", "data.max_source_length", self.data.max_source_length, 1)
        refuse_beyond_positions(self.model, "decoder", "data.max_target_length", self.data.max_target_length, 1)
        return self


def completed(settings: Experiment, undecided: bool = False) -> Experiment:
    """What follows from other settings, or must be there; while the data is to decide, validation data may yet come."""
    if not settings.data.train:
        raise ConfigError("There is nothing to train on: name a file of pairs, or --source and --target files.")
    if settings.training.monitor not in ("loss", "perplexity"):
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
