"""Objectives: what training makes small."""

from typing import Annotated

from pydantic import Field

from dragoman.contracts import Objective
from dragoman.objectives.crf import Crf, CrfObjective
from dragoman.objectives.cross_entropy import CrossEntropy, CrossEntropyObjective, target_log_probabilities
from dragoman.objectives.distance import Distance, DistanceObjective
from dragoman.objectives.mixture import MixtureLikelihood, MixtureLikelihoodObjective
from dragoman.objectives.pretraining import Pretraining, PretrainingObjective
from dragoman.objectives.reinforce import Reinforce
from dragoman.objectives.spans import SpanCrossEntropy, SpanCrossEntropyObjective
from dragoman.objectives.squared_error import SquaredError, SquaredErrorObjective

__all__ = [
    "Crf",
    "CrfObjective",
    "CrossEntropy",
    "CrossEntropyObjective",
    "Distance",
    "DistanceObjective",
    "MixtureLikelihood",
    "MixtureLikelihoodObjective",
    "ObjectiveConfig",
    "Pretraining",
    "PretrainingObjective",
    "Reinforce",
    "SpanCrossEntropy",
    "SpanCrossEntropyObjective",
    "SquaredError",
    "SquaredErrorObjective",
    "build_objective",
    "target_log_probabilities",
]

AnyObjective = CrossEntropy | Crf | SquaredError | SpanCrossEntropy | Pretraining | Distance | MixtureLikelihood
ObjectiveConfig = Annotated[AnyObjective, Field(discriminator="kind")]


def build_objective(config: AnyObjective) -> Objective:
    match config:
        case CrossEntropy():
            return CrossEntropyObjective(config)
        case Crf():
            return CrfObjective(config)
        case SquaredError():
            return SquaredErrorObjective(config)
        case SpanCrossEntropy():
            return SpanCrossEntropyObjective(config)
        case Pretraining():
            return PretrainingObjective(config)
        case Distance():
            return DistanceObjective(config)
        case MixtureLikelihood():
            return MixtureLikelihoodObjective(config)
