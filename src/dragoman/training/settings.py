"""The settings of a training."""

from typing import Literal

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from dragoman.config import Config, practical
from dragoman.data.order import Batching
from dragoman.training.optimisers import Adam, Decay, OptimiserConfig
from dragoman.training.schedules import Constant, ScheduleConfig


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
    estimate: bool = practical(True)
    """Whether memory, time and disk are estimated before the first update."""

    @property
    def no_limit(self) -> bool:
        return self.steps is None and self.epochs is None and self.minutes is None
