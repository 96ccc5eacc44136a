"""dragoman: sequence-to-sequence learning. Nothing heavy is imported before it is used."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.comparison import Compared
    from dragoman.comparison.climbing import Told
    from dragoman.pipeline import Pipeline
    from dragoman.training.events import Event

__all__ = ["compare", "load", "train"]


def load(run: str | Path, device: str = "auto", engine: str | None = None, quantize: str = "none") -> "Pipeline":
    """A trained model, ready to be questioned: load("runs/g2p").predict("dragoman").text

    `engine` is torch, ctranslate2 (from what `dragoman export` made of the run) or auto. quantize="int8" is faster on a
    CPU where layers are large, and not quite the same.
    """
    from dragoman.pipeline import Pipeline

    return Pipeline.load(run, device, engine).quantized(quantize)


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


def compare(
    *recipes: str | Path,
    out: str | Path,
    pairs: str | Path | Sequence[str | Path] | None = None,
    source: str | Path | Sequence[str | Path] | None = None,
    target: str | Path | Sequence[str | Path] | None = None,
    valid: str | Path | Sequence[str | Path] | None = None,
    test: str | Path | Sequence[str | Path] | None = None,
    scale: str | None = None,
    as_is: bool = False,
    lines: int = 10_000,
    fresh: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> "Iterator[Told | Compared]":
    """Train several recipes (none named: the ladder) under one budget ({"training.minutes": 5}), measure all on the
    same data, and yield what happens; the last is a Compared, which knows the page. The same call again goes on.
    `pairs` are files of any kind that recipes learn from: conversations, captions, labelled or tagged texts,
    tracks, frames or clips as well."""
    from dragoman.comparison import Request
    from dragoman.comparison import compare as compare_recipes
    from dragoman.data.readers.corpora import paired

    request = Request(
        out=Path(out),
        recipes=tuple(map(str, recipes)),
        train=paired(pairs, source, target),
        valid=paired(valid),
        test=paired(test),
        scale=scale,
        settings=settings or {},
        as_is=as_is,
        lines=lines,
        fresh=fresh,
    )
    return compare_recipes(request)
