"""dragoman report: a run as one HTML file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dragoman.inspection.report import Facts
    from dragoman.watching import Watch


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, finished or not.")],
    on: Annotated[
        list[str] | None,
        typer.Option(
            help="Test pairs: a file; twice for a source and a target file. Default: test data of the run, else its "
            "validation data."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The file to write; default: report.html in the run folder.")] = None,
    lines: Annotated[int, typer.Option(min=1, help="Distinct sources to answer at most, drawn at random.")] = 2000,
    json: Annotated[bool, typer.Option("--json", help="The facts behind the report as one JSON object.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")] = "auto",
) -> None:
    """\b
    dragoman report runs/mine
    dragoman report runs/de-en --on test.de --on test.en --lines 5000
    dragoman report runs/mine --json > facts.json

    Write one HTML file that needs nothing else: metrics with intervals, learning curves, quality by length, alignments,
    the worst errors, what is confused with what, the data and the settings. Its path goes to stdout.
    """
    import json as writer

    from dragoman.cli.evaluate import files_given
    from dragoman.cli.outputs import refuse_overwriting
    from dragoman.inspection.report import as_json, gather, write_page
    from dragoman.runs import Run

    folder, files = Run(run), files_given(on or [])
    refuse_overwriting(out, files)
    with progress() as told:
        facts = gather(folder, files, lines, told, device)
    path = write_page(folder, facts, out)
    if json:
        print(writer.dumps({**as_json(facts), "report": str(path)}, ensure_ascii=False, indent=2))
    else:
        print(path)
        summarise(facts, path)


@contextmanager
def progress() -> Iterator["Watch"]:
    """A bar on stderr with the time left, if that is a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from dragoman.cli.progress import plain_console

    console = plain_console(stderr=True)
    what = TextColumn("{task.description}", markup=False)
    columns = (what, BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        tasks: dict[str, object] = {}

        def told(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield told


def summarise(facts: "Facts", path: Path) -> None:
    """Seven lines at most, on stderr."""
    import sys

    from dragoman.inspection.report import verdict

    size = f"{path.stat().st_size / 1000:,.0f} kB in one file: open it in a browser."
    print(*verdict(facts), size, sep="\n", file=sys.stderr)
