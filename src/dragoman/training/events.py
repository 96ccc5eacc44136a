"""What a training tells whoever listens: the command line draws it, tests count it, a notebook plots it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Chosen:
    """Settings were chosen from the data."""

    choices: tuple[tuple[str, Any, str], ...]  # setting, value and reason
    path: str  # of the file that holds them


@dataclass(frozen=True)
class Prepared:
    """The data is encoded and the model built."""

    pairs: int
    bad_lines: int
    dropped_long: int
    source_vocabulary: int
    target_vocabulary: int
    parameters: int
    device: str
    symbols: int = 0  # of a language model's texts, in windows
    labels: int = 0  # that a model which only reads chooses from
    spans: bool = False  # answers are looked for in documents; pairs are windows of them
    passages: bool = False  # the texts are those of a model that learns to read
    numbers: int = 0  # that are read of each frame
    steps: tuple[int, ...] = ()  # of tracks: the longest past and the longest future
    features: tuple[str, ...] = ()  # of tracks that are predicted


@dataclass(frozen=True)
class Surveyed:
    """What was found in the data: all of it, as in data.json, and a few lines to show."""

    summary: Mapping[str, Any]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Started:
    """The weights are those of another run, or some of them."""

    path: str
    step: int | None  # of that run
    taken: tuple[str, ...] = ()  # what is taken, in words, where that is not all
    new: tuple[str, ...] = ()  # and what is new


@dataclass(frozen=True)
class Estimated:
    """What the training is going to take, from a trial of its longest batch and of some typical ones."""

    updates_per_epoch: int
    seconds_per_epoch: float
    updates: int  # until the limit that comes first
    seconds: float
    memory_bytes: int  # of the process (or the device) at the longest batch
    checkpoint_bytes: int
    checkpoints: int  # that are on the disk at once
    free_bytes: int  # on that disk
    parts: int  # pieces that each batch has to be cut into
    threads: int = 1  # of the CPU

    @property
    def epochs(self) -> float:
        return self.updates / self.updates_per_epoch


@dataclass(frozen=True)
class Resumed:
    """Training goes on from a checkpoint."""

    step: int


@dataclass(frozen=True)
class Stepped:
    """One update of the weights."""

    step: int
    epoch: int
    loss: float  # mean over the tokens (or sentences: objective.per) of this update, smoothing included
    mean_loss: float | None  # mean over the updates since the last log line, at a log line
    rate: float
    gradient_norm: float
    target_tokens: int
    tokens_per_second: float
    seconds: float  # of training so far, earlier starts included
    done: float  # share of the training, 0 to 1
    seconds_left: float
    truth: float = 1.0  # share of the words fed to the decoder that were the true ones, not its own
    others: Mapping[str, float] = field(default_factory=dict)  # auxiliary losses of this update, no part of its loss


@dataclass(frozen=True)
class Validated:
    """The model was measured on the validation data."""

    step: int
    values: Mapping[str, float]
    best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint was written."""

    step: int


@dataclass(frozen=True)
class Skipped:
    """A batch gave numbers that are not finite, and left no trace in the weights."""

    step: int
    reason: str
    lines: tuple[int, ...]  # of the training data, that the batch was made of


@dataclass(frozen=True)
class Spiked:
    """The loss leapt up and stayed there for some updates."""

    step: int
    loss: float
    action: str  # "warn" or "rollback"


@dataclass(frozen=True)
class Warned:
    """Something that the user should know of, though training goes on."""

    message: str


@dataclass(frozen=True)
class Reported:
    """The report of a training that is over was written."""

    path: str
    verdict: tuple[str, ...]  # what it says, in short


@dataclass(frozen=True)
class Finished:
    """Training is over: `reason` is "steps", "epochs", "minutes", "patience" or "signal"."""

    step: int
    reason: str
    signal: int | None = None


Event = (
    Chosen
    | Prepared
    | Surveyed
    | Started
    | Estimated
    | Resumed
    | Stepped
    | Validated
    | Saved
    | Skipped
    | Spiked
    | Warned
    | Reported
    | Finished
)
