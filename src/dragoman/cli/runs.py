"""dragoman runs: what has been trained here."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from dragoman.errors import ConfigError, DragomanError


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

    from dragoman.runs import Run, find_runs

    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "is not there"
        raise ConfigError(f"{folder} {what}. Name the folder that holds your runs: dragoman runs FOLDER.")
    found = [Run(folder)] if (folder / "environment.json").is_file() else find_runs(folder)
    facts = [facts_or_damage(run) for run in found]
    if json:
        for fact in facts:
            print(writer.dumps(fact))
    elif facts:
        print_table(facts)
    else:
        print(f"No runs in {folder}. `dragoman train … --out {folder}/NAME` makes one.", file=sys.stderr)


def print_table(facts: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("run", "step", "state", "monitor", "best", "at step"):
        table.add_column(name, justify="right" if name in ("step", "best", "at step") else "left")
    for fact in facts:
        best = "" if fact["best"] is None else f"{fact['best']:.4g}"
        step, best_step = (str(fact[name] or "") for name in ("step", "best_step"))
        table.add_row(fact["run"], step, fact["state"], fact["monitor"], best, best_step)
    Console(highlight=False, markup=False).print(table)


def facts_or_damage(run: Any) -> dict[str, Any]:
    """A run whose files cannot be read is listed as broken, and why."""
    try:
        return facts_of(run)
    except DragomanError as error:
        reason = str(error)
    except (AttributeError, KeyError, TypeError, ValueError):  # JSON of another shape
        reason = "its files hold other things than a run's do."
    nothing = dict.fromkeys(("step", "best", "best_step"))
    return {"run": run.path.name, **nothing, "state": f"broken: {reason}", "monitor": ""}


def facts_of(run: Any) -> dict[str, Any]:
    """Name, step, state and best value of a run, from its own files."""
    from dragoman.runs import read_metadata
    from dragoman.storage import read_json

    status = read_json(run.status) if run.status.exists() else {}
    weights = run.model / "model.safetensors"
    best = read_metadata(weights) if weights.exists() else {}
    last = run.checkpoints / "last.json"
    step = status.get("step") or (read_json(last)["step"] if last.exists() else 0)
    return {
        "run": run.path.name,
        "step": step,
        "state": f"finished ({status['finished']})" if status.get("finished") else "unfinished",
        "monitor": best.get("monitor", ""),
        "best": float(best["value"]) if "value" in best else None,
        "best_step": int(best["step"]) if "step" in best else None,
    }
