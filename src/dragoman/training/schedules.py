"""How the learning rate moves: a factor of the optimiser's rate, from the step and the share of the training done."""

import math
from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveInt

from dragoman.config import Config

Share = Annotated[float, Field(ge=0, le=1)]


class Constant(Config):
    """The same rate throughout, after a linear warm-up: share = min(1, step / warmup)."""

    kind: Literal["constant"] = "constant"
    warmup: NonNegativeInt = 0
    """Steps from zero to the full rate."""


class InverseSquareRoot(Config):
    """Linear warm-up, then falling with the root of the step: share = min(step / warmup, √(warmup / step))
    (Vaswani et al. 2017, eq. 3)."""

    kind: Literal["inverse_square_root"] = "inverse_square_root"
    warmup: PositiveInt = 4000
    """Steps from zero to the full rate."""
    warmup_share: Share = 0.0
    """The same as a share of the training, in place of steps: min(done / warmup_share, √(warmup_share / done))."""


class Cosine(Config):
    """Linear warm-up, then half a cosine down to the end of the training:
    share = final + (1 − final) (1 + cos(π · done)) / 2 (Loshchilov & Hutter 2017, eq. 5)."""

    kind: Literal["cosine"] = "cosine"
    warmup: NonNegativeInt = 0
    """Steps from zero to the full rate."""
    warmup_share: Share = 0.0
    """The same as a share of the training, for limits in minutes; both count."""
    final: Share = 0.0
    """Share of the rate that is left at the end."""


class Linear(Config):
    """Linear warm-up, then a straight line down to the end of the training:
    share = min(done / warmup_share, (1 − done) / (1 − warmup_share)), and final at least (Devlin et al. 2019, A.2)."""

    kind: Literal["linear"] = "linear"
    warmup: NonNegativeInt = 0
    """Steps from zero to the full rate."""
    warmup_share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The same as a share of the training; both count."""
    final: Share = 0.0
    """Share of the rate that is left at the end."""


class Plateau(Config):
    """The rate is cut when the validation has not improved for a while: share = max(lowest, factor ^ cuts)."""

    kind: Literal["plateau"] = "plateau"
    warmup: NonNegativeInt = 0
    """Steps from zero to the full rate."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """What the rate is multiplied with."""
    patience: NonNegativeInt = 2
    """Validations without improvement that are borne."""
    lowest: NonNegativeFloat = 0.01
    """Share of the rate below which it does not fall."""


class Halving(Config):
    """The same rate for some epochs, then half of it again and again: share = factor ^ (⌊(done − epochs) / every⌋ + 1)
    once done ≥ epochs (Sutskever et al. 2014; Luong et al. 2015)."""

    kind: Literal["halving"] = "halving"
    warmup: NonNegativeInt = 0
    """Steps from zero to the full rate."""
    epochs: NonNegativeFloat = 5.0
    """Epochs before the first cut."""
    every: Annotated[float, Field(gt=0)] = 1.0
    """Epochs from one cut to the next."""
    factor: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """What the rate is multiplied with."""


ScheduleConfig = Annotated[
    Constant | InverseSquareRoot | Cosine | Linear | Plateau | Halving, Field(discriminator="kind")
]
TO_THE_END = (Cosine, Linear)  # what follows the share of the training that is done, so that its limits count


def rate_factor(config: ScheduleConfig, step: int, done: float, cuts: int = 0, epochs: float = 0.0) -> float:
    """The factor at a step (counted from 1), `done` of the training and so many epochs behind it, after so many plateau
    cuts."""
    warm = min(1.0, step / config.warmup) if config.warmup else 1.0
    match config:
        case Constant():
            return warm
        case InverseSquareRoot():
            passed = max(done, 1e-9) / config.warmup_share if config.warmup_share else step / config.warmup
            return min(passed, 1 / math.sqrt(passed))
        case Cosine():
            warm *= min(1.0, done / config.warmup_share) if config.warmup_share else 1.0
            return warm * (config.final + (1 - config.final) * 0.5 * (1 + math.cos(math.pi * min(1.0, done))))
        case Linear():
            share = config.warmup_share
            warm *= min(1.0, done / share) if share else 1.0
            down = min(1.0, (1 - min(1.0, done)) / (1 - share))
            return warm * (config.final + (1 - config.final) * down)
        case Plateau():
            return warm * max(config.lowest, config.factor**cuts)
        case Halving():
            halvings = math.floor((epochs - config.epochs) / config.every) + 1 if epochs >= config.epochs else 0
            return warm * config.factor**halvings
