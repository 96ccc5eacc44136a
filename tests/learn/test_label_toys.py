"""Labels, pairs, numbers, tags and answers that must be learned within seconds on one thread."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.training.events import Validated
from labels import small, written
from tiny import of_kind, run_all


@pytest.mark.parametrize(
    ("kind", "steps", "metric", "least"),
    [("labels", 150, "accuracy", 98), ("numbers", 250, "pearson", 95), ("tags", 150, "accuracy", 98)],
)
def test_a_toy_is_learned(tmp_path: Path, kind: str, steps: int, metric: str, least: float) -> None:
    settings = {"training__steps": steps, "training__validate_every": steps, "training__optimiser__rate": 0.03}
    events = run_all(small(written(tmp_path, kind), kind, **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values[metric] >= least


def test_two_texts_are_compared(tmp_path: Path) -> None:
    """Each is of either opinion half of the time, whatever the answer, so that both must be read."""
    settings = {"training__steps": 500, "training__validate_every": 500, "training__optimiser__rate": 0.03}
    events = run_all(small(written(tmp_path, "pairs", 800), "pairs", **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["accuracy"] >= 95


@pytest.mark.parametrize(("kind", "own"), [("labels", {"model__head__pool": "first"}), ("tags", {})])
def test_a_transformer_learns_it_too(tmp_path: Path, kind: str, own: dict[str, Any]) -> None:
    """From the state of START, where it is one label for all."""
    layers = {"kind": "transformer", "layers": 1, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    settings = {f"model__encoder__{name}": value for name, value in layers.items()}
    settings |= {"training__steps": 150, "training__validate_every": 150, "training__optimiser__rate": 0.01}
    settings |= {"model__source__width": 16, "model__source__dropout": 0.0}
    events = run_all(small(written(tmp_path, kind), kind, **settings, **own), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["accuracy"] >= 98


def test_a_transformer_compares_two_texts(tmp_path: Path) -> None:
    """Neither text tells anything alone, so that the loss stays at ln 2 for a hundred steps and then falls at once:
    when depends on the seed and on dropout, which holds it up for long."""
    layers = {"kind": "transformer", "layers": 1, "heads": 2, "feed_forward": 24, "dropout": 0.0}
    settings: dict[str, Any] = {f"model__encoder__{name}": value for name, value in layers.items()}
    settings |= {"training__steps": 200, "training__validate_every": 200, "training__optimiser__rate": 0.01}
    settings |= {"model__source__width": 16, "model__source__dropout": 0.0, "model__head__dropout": 0.0}
    settings |= {"model__head__pool": "mean", "training__seed": 2}
    events = run_all(small(written(tmp_path, "pairs", 800), "pairs", **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["accuracy"] >= 95


TRANSFORMER = {"kind": "transformer", "layers": 1, "heads": 2, "feed_forward": 24, "dropout": 0.0}


@pytest.mark.parametrize(
    "own",
    [{"training__optimiser__rate": 0.03}, {"training__optimiser__rate": 0.01, "model__encoder": TRANSFORMER}],
    ids=["rnn", "transformer"],
)
def test_the_word_behind_the_mark_of_the_question_is_found(tmp_path: Path, own: dict[str, Any]) -> None:
    """In documents of several windows, most of which do not hold it."""
    settings = {"training__steps": 100, "training__validate_every": 100, "training__save_every": 100, **own}
    events = run_all(small(written(tmp_path, "spans"), "spans", **settings), tmp_path / "run")
    assert of_kind(events, Validated)[-1].values["exact_match"] >= 95
