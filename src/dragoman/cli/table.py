"""How a table of systems and tasks looks in a terminal, and what several seeds of one training reach."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.comparison.table import Table

WIDTH = 200  # columns where there is no terminal


def compare_runs(named: Sequence[str], tests: Sequence[str], as_json: bool) -> None:
    """Print the table of finished runs."""
    import json
    import sys

    from dragoman.cli.progress import metered
    from dragoman.comparison.table import table_of

    with metered() as tell:
        table = table_of(named, tests_of(tests), lambda what, done, total: tell(what, max(done, 0.5) / total))
    if as_json:
        print(json.dumps(table.as_json(), ensure_ascii=False, indent=2))
        return
    print_table(table)
    for line in notes_of(table):
        print(line, file=sys.stderr)


def tests_of(given: Sequence[str]) -> dict[str, list[str]]:
    """TASK=FILE, each as often as one likes."""
    found: dict[str, list[str]] = {}
    for one in given:
        task, equals, file = one.partition("=")
        if not (task and equals and file):
            raise ConfigError(f"--test {one}: with --table, a test file belongs to a task. Write --test TASK=FILE.")
        found.setdefault(task, []).append(file)
    return found


def print_table(table: "Table") -> None:
    from rich.table import Table as Drawn

    from dragoman.cli.progress import plain_console

    console = plain_console()
    drawn = Drawn(box=None, pad_edge=False)
    drawn.add_column("system", no_wrap=True)
    for task, metrics in table.tasks.items():
        drawn.add_column(f"{task}\n{' / '.join(name.replace('_', ' ') for name in metrics)}", justify="right")
    if not table.unscaled:
        drawn.add_column("average", justify="right")
    for system in table.systems:
        cells = [table.scores.get((system, task)) for task in table.tasks]
        shown = ["–" if cell is None else " / ".join(map(str, cell.values())) for cell in cells]
        average = table.average(system)
        drawn.add_row(system, *shown, *([] if table.unscaled else ["–" if average is None else str(average)]))
    if not console.is_terminal:
        console.width = WIDTH
    console.print(drawn, crop=False)


def notes_of(table: "Table") -> list[str]:
    counts = {len(seeds) for seeds in table.seeds.values()}
    least, most = min(counts), max(counts)
    seeds = f"{least} to {most} seeds" if least < most else f"{most} seed{'s' if most > 1 else ''}"
    places = dict.fromkeys(table.measured_on.values())
    on = (
        ", ".join(f"{task}: {place}" for task, place in table.measured_on.items())
        if len(places) > 1
        else next(iter(places))
    )
    spread = "mean ± standard deviation over " if most > 1 else ""
    notes = [f"{spread}{seeds} · measured on {on}"]
    if table.unscaled:
        notes.append(
            f"There is no average: {', '.join(table.unscaled)} are no percentages, and lower is better. Distances are "
            "in the unit of the data."
        )
    elif any(table.average(system) is None for system in table.systems):
        notes.append("A system that lacks a task has no average.")
    return notes


def print_seeds(folders: Sequence[Path], as_json: bool) -> None:
    """What validation found of the same training with several seeds."""
    import json
    import sys

    from dragoman.comparison.table import best_values
    from dragoman.metrics.spread import Spread
    from dragoman.runs import Run

    found = [best_values(Run(folder)) for folder in folders]
    names = [name for name in found[0] if all(name in one for one in found)] if found else []
    spreads = {name: Spread.of([one[name] for one in found]) for name in names}
    if as_json:
        print(
            json.dumps(
                {"event": "seeds", "runs": [str(folder) for folder in folders]}
                | {"validation": {name: one.as_json() for name, one in spreads.items()}}
            )
        )
        return
    shown = " · ".join(f"{name} {one}" for name, one in spreads.items())
    told = f"validation: {shown}" if shown else "without validation data, nothing was measured"
    print(f"{len(folders)} seeds · {told}", file=sys.stderr)
