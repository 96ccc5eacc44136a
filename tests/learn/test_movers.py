"""Movers whose future depends on commands: with them they are followed, and without them nobody could."""

from pathlib import Path

import pytest

from dragoman.data.movers import write_movers
from dragoman.recipes import compose
from dragoman.training.events import Validated
from tiny import of_kind, run_all


def learned(folder: Path, name: str, steps: int, *overrides: str) -> float:
    """ADE on movers never seen, in m."""
    files = (str(folder / "train.csv"),), (str(folder / "valid.csv"),)
    words = ['data.predicts=["x","y"]', "data.stride=6", "training.threads=1", "training.estimate=false", *overrides]
    limits = {"training.steps": steps, "training.validate_every": steps, "evaluation.report": 0}
    limits |= {"training.batching.sentences": 64, "training.optimiser.rate": 4e-3}
    settings = compose("trajectories", None, *files, overrides=words, settings=limits).settings
    return of_kind(run_all(settings, folder / name), Validated)[-1].values["ade"]


CONTEXT = 'data.context=["turn","speed"]'


def test_without_the_context_the_error_at_least_doubles(tmp_path: Path) -> None:
    write_movers(tmp_path, {"train": 300, "valid": 30})
    narrow = [f"model.{part}.width=32" for part in ("source", "target", "encoder", "decoder")]
    with_, without = (learned(tmp_path, *one) for one in (("with", 150, CONTEXT, *narrow), ("without", 150, *narrow)))
    assert with_ < 1.0
    assert without > 2 * with_


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ("model.head.kind=mixture", "objective.kind=mixture", "regime.kind=teacher"),
        ("objective.kind=squared_error", "objective.along=path"),
        ("regime.kind=scheduled", "regime.decay.half=100"),
        ("data.frame=last", "objective.along=points", "model.head.origin=fed"),
    ],
    ids=["mixture", "squared", "scheduled", "last"],
)
def test_every_way_of_learning_follows_commands(tmp_path: Path, overrides: tuple[str, ...]) -> None:
    write_movers(tmp_path, {"train": 600, "valid": 30})
    assert learned(tmp_path, "run", 600, CONTEXT, *overrides) < 1.2
