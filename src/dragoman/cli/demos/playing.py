"""What every demo is given, and how it trains."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from dragoman.recipes import Composed


@dataclass(frozen=True)
class Given:
    """The words of the command."""

    out: Path  # where data and run are kept
    minutes: float  # of training
    fresh: bool
    as_json: bool

    @property
    def data(self) -> Path:
        return self.out / "data"

    @property
    def run(self) -> Path:
        return self.out / "run"


def learn(composed: "Composed", given: Given) -> None:
    """Train, go on with a training that was interrupted, or leave a finished one alone."""
    from dragoman.cli.progress import preparing, show
    from dragoman.experiment import train
    from dragoman.runs import Run, status_of

    run = given.run
    if not given.fresh and status_of(Run(run)).get("finished"):
        print(f"{run} is trained already; --fresh trains anew.", file=sys.stderr)
        return
    finished = show(train(composed.settings, run, composed.given, given.fresh, preparing), run, given.as_json)
    if finished is not None and finished.signal is not None:
        raise typer.Exit(128 + finished.signal)
