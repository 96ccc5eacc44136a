"""Labels of sequences and of their frames that must be learned within seconds on one thread."""

from pathlib import Path

import pytest

from dragoman.training.events import Validated
from frames import small, written
from tiny import of_kind, run_all

TRANSFORMER = {"kind": "transformer", "layers": 1, "heads": 2, "feed_forward": 24, "dropout": 0.0}


@pytest.mark.parametrize(
    ("kind", "steps", "metric", "least"),
    [("labels", 60, "accuracy", 98), ("numbers", 120, "pearson", 95), ("tags", 150, "accuracy", 95)],
)
def test_a_toy_is_learned(tmp_path: Path, kind: str, steps: int, metric: str, least: float) -> None:
    settings = {"training__steps": steps, "training__validate_every": steps, "training__optimiser__rate": 0.03}
    events = run_all(small(written(tmp_path, kind), kind, **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values[metric] >= least


@pytest.mark.parametrize(("kind", "least"), [("labels", 95), ("tags", 88)])
def test_a_transformer_learns_it_too(tmp_path: Path, kind: str, least: float) -> None:
    """By its positions: the frames of a sequence are the same ones in another order. A guess is right for half."""
    settings = {"model__encoder": TRANSFORMER, "model__source": {"kind": "frames", "width": 16, "dropout": 0.0}}
    settings |= {"training__steps": 150, "training__validate_every": 150, "training__optimiser__rate": 0.01}
    events = run_all(small(written(tmp_path, kind), kind, **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["accuracy"] >= least
