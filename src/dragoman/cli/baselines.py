"""Baselines in the command line: a table beside that of the model, and one sentence."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from dragoman.baselines.standing import Standing
    from dragoman.baselines.training_data import Beside

WithBaselines = Annotated[
    bool,
    typer.Option(
        "--baselines/--no-baselines",
        help="Measure what needs no neural network, computed from the training data, on the same test data.",
    ),
]


def beside_of(run: Path, wanted: bool) -> "Beside | None":
    """The baselines of a run; None where they are not wanted."""
    if not wanted:
        return None
    from dragoman.baselines.training_data import Beside, run_around

    return Beside(run_around(run))


def with_baselines(facts: dict[str, Any], standing: "Standing | None") -> dict[str, Any]:
    """JSON facts with the key "baselines"."""
    return facts if standing is None else {**facts, "baselines": standing.as_json()}


def print_standing(console: "Console", standing: "Standing | None", digits: int = 2) -> None:
    """One row per baseline by the metric that tells them apart, and where the model stands beside the best."""
    if standing is None:
        return
    if standing.rows:
        console.print("", standing_table(standing, digits), sep="\n")
    for sentence in filter(None, (standing.sentence(), "" if standing.best is None else standing.note)):
        console.print(sentence, soft_wrap=True)


def standing_table(standing: "Standing", digits: int) -> Any:
    from rich.table import Table

    from dragoman.baselines.standing import chance_alone

    table = Table(box=None, pad_edge=False)
    table.add_column("baseline", no_wrap=True)
    for name in (standing.metric, "95 % interval", "p"):
        table.add_column(name, justify="right")
    for row in standing.rows:
        own = row.metrics.get(standing.metric)
        if own is None:
            others = (f"{name} {one.value:.{digits}f}" for name, one in row.metrics.items())
            table.add_row(f"{row.title} ({', '.join(others)})")
        else:
            interval = f"{own.low:.{digits}f} … {own.high:.{digits}f}"
            table.add_row(row.title, f"{own.value:.{digits}f}", interval, chance_alone(row.p))
    return table
