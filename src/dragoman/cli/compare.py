"""dragoman compare: which recipe is best on one's own data."""

import os
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.errors import ConfigError, nearest

if TYPE_CHECKING:
    from dragoman.comparison import Facts, Request
    from dragoman.comparison.kind import Measure

WIDTH = 200  # columns of the summary at most: it is read by scrolling, not by guessing at names that are cut


def compare(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="[FILE]... [RECIPE]... [SECTION.KEY=VALUE]...",
            help="Files of one kind of data, as dragoman train takes them; recipes (names, NAME:scale, .toml files; "
            "without any: the ladder of all recipes that learn from such data); and settings for all.",
        ),
    ],
    source: Annotated[
        list[str] | None, typer.Option(help="A file of source lines; may be repeated, as --target.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="The target lines of a --source file.")] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(help="Validation data: a file; twice for a source and a target file. Default: some is held out."),
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option(help="Test data, in the same form. Default: other data is held out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The folder of the comparison; an unfinished one in it goes on.")] = Path(
        "runs/comparison"
    ),
    minutes: Annotated[float | None, typer.Option(help="Minutes of training, each.")] = None,
    steps: Annotated[int | None, typer.Option(help="Updates of the weights, each.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data, each.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides initial weights, order and dropout.")] = None,
    scale: Annotated[str | None, typer.Option(help="A scale that all recipes have, e.g. tiny.")] = None,
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="Of pairs: every recipe keeps all its own settings, not its model, objective and regime only.",
        ),
    ] = False,
    lines: Annotated[int, typer.Option(min=1, help="Test sources to answer at most, drawn at random.")] = 10_000,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Set an old comparison in --out aside and begin anew.")
    ] = False,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="Train nothing: the words are finished runs of models that read (or of tracks, captions and "
            "conversations), and folders of them, and what comes is a table of systems and tasks; --test TASK=FILE "
            "measures on a file.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="The facts behind the page as one JSON object.")] = False,
) -> None:
    """\b
    dragoman compare pairs.tsv --minutes 5
    dragoman compare train.tsv g2p mine.toml --test test.tsv --steps 2000
    dragoman compare --source train.de --target train.en translate:tiny mine.toml
    dragoman compare reviews.tsv --minutes 2
    dragoman compare --table runs/bert runs/scratch --test sst2=dev.tsv

    Train several recipes on your data, each under the same budget, and measure all on the same held-out part: one page
    with quality and intervals, what is chance, cost, quality by length, learning curves, examples and errors side by
    side. Pairs, conversations, captions, labelled and tagged texts, tracks, frames and clips have a ladder of recipes
    each. The same command again goes on where it was. The path of the page goes to stdout.

    Of pairs, tokenizers, lengths, batches, optimiser, budget, search and metrics follow from the data and are the same
    for all; model, objective and regime are those of each recipe. Of other data every recipe keeps its own settings,
    and what is the same are test, training and validation data, metrics and budget.

    With --table, finished runs: a row a system, a column a task, and the average, with mean and deviation over seeds.
    Folders say which is which, SYSTEM/TASK or SYSTEM/TASK/seed-N, or you do: SYSTEM/TASK=RUN.
    """
    if table:
        from dragoman.cli.table import compare_runs

        others: dict[str, object] = {
            "source": source,
            "target": target,
            "valid": valid,
            "minutes": minutes,
            "steps": steps,
        }
        others |= {"epochs": epochs, "seed": seed, "scale": scale, "as-is": as_is or None, "fresh": fresh or None}
        for name, value in others.items():
            if value is not None:
                raise ConfigError(f"--table trains nothing, so that --{name} is for nothing: leave it out.")
        compare_runs(what, test or [], json)
        return
    from dragoman.comparison import Request
    from dragoman.data.readers.corpora import paired

    recipes, files, overrides = sort_out(what)
    limits = {"minutes": minutes, "steps": steps, "epochs": epochs, "seed": seed}
    run(
        Request(
            out=out,
            recipes=tuple(recipes),
            train=paired(files, source, target),
            valid=paired(valid),
            test=paired(test),
            scale=scale,
            overrides=tuple(overrides),
            settings={f"training.{name}": value for name, value in limits.items() if value is not None},
            as_is=as_is,
            lines=lines,
            fresh=fresh,
        ),
        json,
    )


def run(request: "Request", as_json: bool) -> None:
    """Compare, draw what happens, and end with the exit code of what went wrong."""
    import json as writer
    import signal
    import sys

    from dragoman.cli.comparing import Display
    from dragoman.comparison import Compared, Failed
    from dragoman.comparison import as_json as facts_json
    from dragoman.comparison import compare as events_of
    from dragoman.training.events import Finished

    failures: list[Failed] = []
    stopped: int | None = None
    with Display(request.out) as display:
        try:
            for event in events_of(request, display.preparing, display.watch):
                display.show(event)
                if isinstance(event, Failed):
                    failures.append(event)
                if isinstance(event, Finished) and event.signal is not None:
                    stopped = event.signal
                if isinstance(event, Compared):
                    compared = event
        except KeyboardInterrupt:  # between the trainings, or while all are judged: what was done is kept
            stopped = signal.SIGINT
    if stopped is not None:
        print("Saved. Run the same command to go on.", file=sys.stderr)
        raise typer.Exit(128 + stopped)
    if as_json:
        print(writer.dumps({**facts_json(compared.facts), "page": str(compared.page)}, ensure_ascii=False, indent=2))
    else:
        print_summary(compared.facts)
        print(compared.page)
    if failures:
        raise typer.Exit(failures[0].exit_code)


def sort_out(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Which words are recipes, which are data, which are settings."""
    from dragoman.comparison.ladder import is_recipe, known_names, split_scale

    overrides = [word for word in words if "=" in word and not os.path.exists(word)]
    rest = [word for word in words if word not in overrides]
    recipes = [word for word in rest if is_recipe(word)]
    files = [word for word in rest if word not in recipes]
    for file in files:
        if file != "-" and not os.path.exists(file) and not has_magic(file) and "." not in Path(file).name:
            known = known_names()
            raise ConfigError(
                f"'{file}' is neither a file nor a recipe.{nearest(split_scale(file)[0], known)} "
                f"Recipes: {', '.join(known)}."
            )
    return recipes, files, overrides


def shown_name(measure: "Measure") -> str:
    """As it is called in JSON; of tracks with its unit."""
    return measure.title if "[" in measure.title else measure.name.replace("_", " ")


def print_summary(facts: "Facts") -> None:
    """A row a model, on stderr: only the path of the page goes to stdout."""
    from rich.table import Table

    from dragoman.cli.progress import plain_console
    from dragoman.comparison import notes_of, verdict
    from dragoman.inspection.report.page import NO_BREAK, chance

    console, judged = plain_console(stderr=True), facts.judged
    if judged is not None:
        table = Table(box=None, pad_edge=False)
        table.add_column("model", no_wrap=True)
        first = judged.decisive
        after = {first: ["p"]}  # of the metric that it stands behind
        titles = {name: shown_name(judged.measures[name]) for name in judged.metrics}
        measured = [head for name in judged.metrics for head in (titles[name], *after.get(name, ()))]
        for heading in (*measured, "parameters", "minutes", facts.climb.kind.words.speed, "answers/s"):
            width = max(map(len, heading.split()))
            table.add_column(heading, justify="right", min_width=width, no_wrap=heading == "p")
        for place, one in enumerate(facts.models):
            scores = judged.scores[place]
            said = chance(scores[first].p).replace(NO_BREAK, " ").removeprefix("p = ").removeprefix("p ")
            p = {first: ["best" if scores[first].best else said]}
            table.add_row(
                one.contender.name,
                *(
                    value
                    for name in judged.metrics
                    for value in (judged.measures[name].shown(scores[name].measured.value), *p.get(name, ()))
                ),
                f"{one.answered.parameters:,}",
                f"{one.trained.minutes:.1f}",
                f"{one.trained.tokens_per_second:,.0f}",
                f"{len(facts.climb.items) / max(one.answered.seconds, 1e-9):,.0f}",
            )
        for what, values in judged.beside.items():
            shown = [
                (judged.measures[name].shown(values[name].value) if name in values else "", *after.get(name, ()))
                for name in judged.metrics
            ]
            table.add_row(what, *("" if value == "p" else value for row in shown for value in row))
        if not console.is_terminal:
            console.width = WIDTH  # a pipe has none of its own
        console.print(table, crop=False, no_wrap=True, overflow="ignore")
    for line in (*verdict(facts), *notes_of(facts)):
        console.print(line, soft_wrap=True)
