"""dragoman train: from pairs in a file to a model."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.errors import ConfigError


def train(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE] [PAIRS.tsv] [SECTION.KEY=VALUE]...",
            help="A recipe (a name, or a .toml file), a file of source<TAB>target lines, and settings.",
        ),
    ] = None,
    source: Annotated[str | None, typer.Option(help="Source lines, when they are in a file of their own.")] = None,
    target: Annotated[str | None, typer.Option(help="Target lines, when they are in a file of their own.")] = None,
    valid: Annotated[
        list[str] | None, typer.Option(help="Validation pairs: a TSV file; twice for a source and a target file.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", help="A run or model to start from: its weights, vocabularies and settings, on new data."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The run folder; an unfinished run in it goes on.")] = Path("runs/run"),
    steps: Annotated[int | None, typer.Option(help="Updates of the weights.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the data.")] = None,
    minutes: Annotated[float | None, typer.Option(help="Minutes of training.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides initial weights, order and dropout.")] = None,
    scale: Annotated[str | None, typer.Option(help="A scale of the recipe, e.g. tiny.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Set an old run in --out aside and begin anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Events as JSON lines on stdout.")] = False,
) -> None:
    """Train a model; the same command again resumes an unfinished run."""
    import sys

    from dragoman.cli.progress import preparing, show
    from dragoman.experiment import train as train_experiment
    from dragoman.recipes import compose, files_of, recipe_names

    recipe, pairs, overrides = sort_out(what or [], recipe_names())
    limits = {"steps": steps, "epochs": epochs, "minutes": minutes, "seed": seed}
    composed = compose(
        recipe=recipe,
        scale=scale,
        train=files_of(pairs, source, target),
        valid=tuple(valid or ()),
        overrides=overrides,
        settings={f"training.{name}": value for name, value in limits.items() if value is not None},
        start=start,
        out=None if fresh else out,
    )
    finished = show(train_experiment(composed.settings, out, composed.given, fresh, preparing), out, json)
    if finished is not None and finished.signal is not None:
        saved = f"Saved at step {finished.step}." if finished.step else "Stopped before the first step."
        print(f"{saved} Run the same command to go on.", file=sys.stderr)
        raise typer.Exit(128 + finished.signal)


def sort_out(words: list[str], recipes: list[str]) -> tuple[str | None, str | None, list[str]]:
    """Which word is the recipe, which the data, which are settings."""
    overrides = [word for word in words if "=" in word and not Path(word).exists()]
    rest = [word for word in words if word not in overrides]
    named = [word for word in rest if word.endswith(".toml") or (word in recipes and not Path(word).is_file())]
    files = [word for word in rest if word not in named]
    if len(named) > 1:
        raise ConfigError(f"One training has one recipe, not {len(named)}: {', '.join(named)}.")
    if len(files) > 1:
        raise ConfigError(
            f"Give one TSV file of pairs, not {', '.join(files)}. Two parallel files are given with --source and "
            f"--target; a recipe is one of {', '.join(recipes)}, or a .toml file."
        )
    if files and not Path(files[0]).exists() and "." not in Path(files[0]).name:
        raise ConfigError(f"'{files[0]}' is neither a file nor a recipe. Recipes: {', '.join(recipes)}.")
    return (named[0] if named else None), (files[0] if files else None), overrides
