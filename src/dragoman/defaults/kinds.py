"""Which settings are chosen for which kind of data, and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.defaults.budget import Budget
from dragoman.defaults.captions import choose_for_captions, survey_captions
from dragoman.defaults.choice import Choice
from dragoman.defaults.dialogue import choose_for_conversations
from dragoman.defaults.labels import choose_for_labels, survey_labels
from dragoman.defaults.pairs import choose_for_training, survey_pairs
from dragoman.defaults.tags import choose_for_tags, survey_tags
from dragoman.defaults.texts import choose_for_texts, survey_texts
from dragoman.defaults.tracks import choose_for_tracks, survey_tracks
from dragoman.preparation.corpora import Preparing


@dataclass(frozen=True)
class Defaults:
    """How the settings of one kind of data are chosen.

    `survey(data, given, preparing)` looks at the training data once and returns what matters of it, or None where there
    is nothing to learn from. `choose(survey, given, budget)` returns every setting that follows, given ones included:
    those are left out later. It is called again when the speed is known (`budget.speed`); of that second list only
    settings count that change neither the encoded data nor the shapes of the weights (`is_replanned`).
    """

    survey: Callable[[Any, Mapping[str, Any], Preparing], Any]
    choose: Callable[[Any, Mapping[str, Any], Budget], list[Choice]]


DEFAULTS: dict[str, Defaults] = {  # by data.kind
    "captions": Defaults(survey_captions, choose_for_captions),
    "conversations": Defaults(survey_pairs, choose_for_conversations),
    "texts": Defaults(survey_texts, choose_for_texts),
    "tracks": Defaults(survey_tracks, choose_for_tracks),
    "pairs": Defaults(survey_pairs, choose_for_training),
    "labelled": Defaults(survey_labels, choose_for_labels),
    "tagged": Defaults(survey_tags, choose_for_tags),
}
# What the speed was measured with, and what a training cannot take up or drop later.
FIXED = ("training.batching", "training.seed", "training.optimiser.kind", "training.average")


def is_replanned(key: str) -> bool:
    """Whether a setting may still change when the speed is known."""
    return (key.startswith("training.") and not key.startswith(FIXED)) or key.endswith(".dropout")
