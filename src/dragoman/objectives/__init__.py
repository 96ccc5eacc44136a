"""Objectives: what training makes small."""

from dragoman.objectives.cross_entropy import CrossEntropy, CrossEntropyObjective, target_log_probabilities
from dragoman.objectives.reinforce import Reinforce

__all__ = [
    "CrossEntropy",
    "CrossEntropyObjective",
    "ObjectiveConfig",
    "Reinforce",
    "build_objective",
    "target_log_probabilities",
]

ObjectiveConfig = CrossEntropy


def build_objective(config: ObjectiveConfig) -> CrossEntropyObjective:
    return CrossEntropyObjective(config)
