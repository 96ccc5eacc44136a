"""dragoman: sequence-to-sequence learning. Nothing heavy is imported before it is used."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.pipeline import Pipeline
    from dragoman.training.events import Event

__all__ = ["load", "train"]


def load(run: str | Path, device: str = "auto") -> "Pipeline":
    """A trained model, ready to be questioned: load("runs/g2p").predict("dragoman").text"""
    from dragoman.pipeline import Pipeline

    return Pipeline.load(run, device)


def train(
    recipe: str | Path | None = None,
    *,
    out: str | Path,
    pairs: str | Path | Sequence[str | Path] | None = None,
    source: str | Path | Sequence[str | Path] | None = None,
    target: str | Path | Sequence[str | Path] | None = None,
    valid: str | Path | Sequence[str | Path] | None = None,
    test: str | Path | Sequence[str | Path] | None = None,
    scale: str | None = None,
    start: str | Path | None = None,
    fresh: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> "Iterator[Event]":
    """Train, and yield what happens; the same call again resumes. `settings` are "section.key": value; `start` is a run
    or a model folder to begin with, instead of a recipe."""
    from dragoman.data.readers.corpora import paired
    from dragoman.experiment import train as train_experiment
    from dragoman.recipes import compose

    composed = compose(
        recipe=None if recipe is None else str(recipe),
        scale=scale,
        train=paired(pairs, source, target),
        valid=paired(valid),
        test=paired(test),
        settings=settings or {},
        start=None if start is None else str(start),
        out=None if fresh else Path(out),
    )
    return train_experiment(composed.settings, Path(out), composed.given, fresh, undecided=composed.undecided)
