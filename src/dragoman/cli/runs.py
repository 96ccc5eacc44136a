"""dragoman runs: what has been trained here."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.errors import ConfigError


def runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of run folders, or a run.")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """\b
    dragoman runs
    dragoman runs experiments --json

    List the runs in a folder, the newest last: where each stands, and how good its best model is.
    """
    import json as writer

    from dragoman.runs import Run, facts_of, find_runs

    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "is not there"
        raise ConfigError(f"{folder} {what}. Name the folder that holds your runs: dragoman runs FOLDER.")
    found = [Run(folder)] if (folder / "environment.json").is_file() else find_runs(folder)
    facts = [facts_of(run) for run in found]
    if json:
        for fact in facts:
            print(writer.dumps(fact))
    elif facts:
        print_table(facts)
    else:
        print(f"No runs in {folder}. `dragoman train … --out {folder}/NAME` makes one.", file=sys.stderr)


def print_table(facts: list[dict[str, Any]]) -> None:
    from rich.table import Table

    from dragoman.cli.progress import plain_console

    table = Table(box=None, pad_edge=False)
    for name in ("run", "step", "state", "monitor", "best", "at step"):
        table.add_column(name, justify="right" if name in ("step", "best", "at step") else "left")
    for fact in facts:
        best = "" if fact["best"] is None else f"{fact['best']:.4g}"
        step, best_step = (str(fact[name] or "") for name in ("step", "best_step"))
        table.add_row(fact["run"], step, fact["state"], fact["monitor"], best, best_step)
    plain_console().print(table)
