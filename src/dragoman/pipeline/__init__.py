"""The one door to a trained model: validation, command line, server and exports all come through it."""

from dragoman.pipeline.changing import ANSWERING
from dragoman.pipeline.chat import Chat
from dragoman.pipeline.constraints import Constraints
from dragoman.pipeline.ensemble import Ensemble
from dragoman.pipeline.loading import MODEL_FILES, model_folder
from dragoman.pipeline.pipeline import ONE_CONTEXT, Pipeline, has_one_context
from dragoman.pipeline.rows import LONGER, WINDOW, batched
from dragoman.pipeline.teaching import Scored

__all__ = [
    "ANSWERING",
    "LONGER",
    "MODEL_FILES",
    "ONE_CONTEXT",
    "WINDOW",
    "Chat",
    "Constraints",
    "Ensemble",
    "Pipeline",
    "Scored",
    "batched",
    "has_one_context",
    "model_folder",
]
