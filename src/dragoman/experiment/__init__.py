"""One config → a run: what is accepted, fit, what is written down."""

from dragoman.experiment.settings import Experiment
from dragoman.experiment.training import train

__all__ = ["Experiment", "train"]
