"""The settings of a training."""

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)

from dragoman.config import Config, practical
from dragoman.data.order import Batching
from dragoman.training.optimisers import Adam, Decay, OptimiserConfig
from dragoman.training.schedules import Constant, ScheduleConfig

Take = Literal["all", "body", "shape"]


def what_is_frozen(given: int | str) -> int | str:
    if given in ("nothing", "embeddings", "body") or (isinstance(given, int) and given > 0):
        return given
    raise ValueError(f"must be nothing, embeddings, body, or how many of the lowest layers, e.g. 2, not {given!r}")


class Training(Config):
    """How the weights are learned."""

    seed: NonNegativeInt = 1
    """Decides initial weights, order and dropout."""
    steps: PositiveInt | None = practical(None)
    """Updates after which training ends."""
    epochs: PositiveInt | None = practical(None)
    """Passes over the data after which training ends (10 if no limit is set)."""
    minutes: PositiveFloat | None = practical(None)
    """Minutes of training after which it ends."""
    batching: Batching = Batching()
    accumulate: PositiveInt = 1
    """Batches an update."""
    clip: NonNegativeFloat = 1.0
    """Largest norm of the gradient; 0: any."""
    optimiser: OptimiserConfig = Adam()
    schedule: ScheduleConfig = Constant()
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """What the rate is multiplied with from each layer to the one below it, from the head down to the vectors of
    symbols (Howard and Ruder 2018), e.g. 0.9; 1: one rate for all."""
    freeze: Annotated[int | str, AfterValidator(what_is_frozen)] = "nothing"
    """What is never changed: nothing; embeddings: the vectors of symbols, texts and positions; a number: these and as
    many of the lowest layers; body: all but the head."""
    average: Decay = 0.0
    """Decay of a moving average of the weights, which is validated and handed out, e.g. 0.999; 0: the weights as they
    are. The n-th update takes at most (1 + n) / (10 + n)."""
    on_spike: Literal["warn", "rollback"] = "warn"
    """What happens when the loss leaps up: a warning, or back to the weights before it."""
    validate_every: PositiveInt = 500
    """Updates between two validations."""
    validate_lines: PositiveInt = 500
    """Sources that are decoded at a validation, when a metric is monitored."""
    monitor: str = "loss"
    """What the best model is best in: "loss", "perplexity" or the name of a metric."""
    patience: PositiveInt | None = practical(None)
    """Validations without improvement after which training ends."""
    save_every: PositiveInt = practical(500)
    """Updates between two checkpoints."""
    keep: PositiveInt = practical(2)
    """Newest checkpoints that are kept, beside the best."""
    log_every: PositiveInt = practical(50)
    """Updates between two lines of metrics.jsonl."""
    device: str = practical("auto")
    """auto, cpu, cuda, cuda:N or mps."""
    threads: PositiveInt | None = practical(None)
    """CPU threads (default: torch's own choice)."""
    compile: bool = practical(False)
    """Whether torch.compile makes machine code of a Transformer's layers before the first update, which takes minutes
    and a compiler of C++. A resumed run may differ in the last bits."""
    start: str = practical("")
    """The run or model folder whose weights, vocabularies and settings training starts from (--from)."""
    take: Take = "all"
    """What is taken from there: all; body: the vocabulary, and weights and settings of frontend and encoder, below a
    new head, which is what --from with a recipe means; shape: the same without the weights, to compare with."""
    estimate: bool = practical(True)
    """Whether memory, time and disk are estimated before the first update."""

    @model_validator(mode="after")
    def _something_to_take_from(self) -> "Training":
        if self.take != "all" and not self.start:
            raise ValueError(f"take = '{self.take}' needs a run to take it from: give --from RUN, or leave it out")
        return self

    @property
    def no_limit(self) -> bool:
        return self.steps is None and self.epochs is None and self.minutes is None
