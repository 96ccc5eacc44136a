"""dragoman runs: what has been trained here."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.errors import ConfigError


def runs(
    folder: Annotated[Path, typer.Argument(help="A folder of run folders.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """List the runs in a folder, the newest last: where each stands, and how good its best model is."""
    import json as writer

    from rich.console import Console
    from rich.table import Table

    from dragoman.runs import facts_of, find_runs

    if not folder.is_dir():
        raise ConfigError(f"There is no folder {folder}. Name the folder that holds your runs.")
    facts = [facts_of(run) for run in find_runs(folder)]
    if json:
        for fact in facts:
            print(writer.dumps(fact))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("run", "step", "state", "monitor", "best", "at step"):
        table.add_column(name, justify="right" if name in ("step", "best", "at step") else "left")
    for fact in facts:
        best = "" if fact["best"] is None else f"{fact['best']:.4g}"
        table.add_row(
            fact["run"], str(fact["step"]), fact["state"], fact["monitor"], best, str(fact["best_step"] or "")
        )
    Console(highlight=False).print(table if facts else f"No runs in {folder}.")
