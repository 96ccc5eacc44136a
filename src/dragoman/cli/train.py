"""dragoman train: from pairs or texts in a file to a model."""

import os
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dragoman.errors import ConfigError, nearest

if TYPE_CHECKING:
    from dragoman.recipes import Composed


def train(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RECIPE] [FILE]... [SECTION.KEY=VALUE]...",
            help="A recipe (a name, or a .toml file); files of pairs: TSV, CSV, JSON lines or two of parallel text, or "
            "of whole texts for a language model, texts with labels, or questions with documents; also .gz and .zst, "
            "patterns, or - for standard input; and settings.",
        ),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="A file of source lines; may be repeated, as --target.")
    ] = None,
    target: Annotated[list[str] | None, typer.Option(help="The target lines of a --source file.")] = None,
    valid: Annotated[
        list[str] | None, typer.Option(help="Validation pairs: a file; twice for a source and a target file.")
    ] = None,
    test: Annotated[
        list[str] | None, typer.Option(help="Test pairs, in the same form: what training shares with them is said.")
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
    seeds: Annotated[
        int | None,
        typer.Option(
            min=2, help="Train so many times, with seeds that follow on --seed, into OUT/seed-N; mean and deviation."
        ),
    ] = None,
    scale: Annotated[str | None, typer.Option(help="A scale of the recipe, e.g. tiny.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Set an old run in --out aside and begin anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Events as JSON lines on stdout.")] = False,
) -> None:
    """\b
    dragoman train pairs.tsv --valid valid.tsv --out runs/mine
    dragoman train translate --source train.de --target train.en
    dragoman train g2p words.tsv --steps 5000 model.encoder.width=256
    dragoman train gpt book.txt --valid other.txt --out runs/book
    dragoman train classify reviews.tsv --from runs/bert --seeds 3

    Train a model; the same command again resumes an unfinished run.
    """
    from dragoman.data.readers.corpora import paired
    from dragoman.recipes import compose, recipe_names

    recipe, files, overrides = sort_out(what or [], recipe_names())
    if recipe is None and start is None:
        refuse_other_kinds(files, overrides)
    limits = {"steps": steps, "epochs": epochs, "minutes": minutes, "seed": seed}
    refuse_two_seeds(seeds, overrides)

    def composed(out: Path, **own: int) -> "Composed":
        given = {name: value for name, value in (limits | own).items() if value is not None}
        return compose(
            recipe=recipe,
            scale=scale,
            train=paired(files, source, target),
            valid=paired(valid),
            test=paired(test),
            overrides=overrides,
            settings={f"training.{name}": value for name, value in given.items()},
            start=start,
            out=None if fresh else out,
        )

    if seeds is None:
        run(composed(out), out, fresh, json)
        return
    first = 1 if seed is None else seed
    folders = {number: out / f"seed-{number}" for number in range(first, first + seeds)}
    for number, folder in folders.items():
        run_once(composed(folder, seed=number), folder, fresh, json)
    from dragoman.cli.table import print_seeds

    print_seeds([*folders.values()], json)


RECIPES = {"conversations": "hred", "captions": "xu2015", "tracks": "trajectories", "frames": "classify-frames"}
RECIPES |= {"clips": "classify-clips", "labelled": "classify", "tagged": "tag"}


def refuse_other_kinds(files: list[str], overrides: list[str]) -> None:
    """Without a recipe, files are read as pairs: one that is plainly something else would be learned as nonsense."""
    from dragoman.data.readers.recognising import looks_like

    kind = looks_like(files[0]) if files else "pairs"
    if kind != "pairs" and not any(
        word.startswith(("data.kind=", "data.format=", "data.source_field=")) for word in overrides
    ):
        raise ConfigError(
            f"{files[0]} looks like {kind}, and without a recipe pairs are learned. Name one: dragoman train "
            f"{RECIPES[kind]} {files[0]} …; or say that these are pairs: data.kind=pairs."
        )


def refuse_two_seeds(seeds: int | None, overrides: list[str]) -> None:
    if seeds is not None and any(one.startswith("training.seed=") for one in overrides):
        raise ConfigError(f"--seeds {seeds} sets training.seed itself: give --seed for the first of them.")


def run(composed: "Composed", out: Path, fresh: bool, json: bool) -> None:
    """Train, draw what happens, and end with a signal's exit code."""
    import sys

    from dragoman.cli.progress import preparing, show
    from dragoman.experiment import train as train_experiment

    finished = show(
        train_experiment(composed.settings, out, composed.given, fresh, preparing, composed.undecided), out, json
    )
    if finished is not None and finished.signal is not None:
        saved = f"Saved at step {finished.step}." if finished.step else "Stopped before the first step."
        print(f"{saved} Run the same command to go on.", file=sys.stderr)
        raise typer.Exit(128 + finished.signal)


def run_once(composed: "Composed", out: Path, fresh: bool, json: bool) -> None:
    """One of several seeds; what an earlier start has finished stays."""
    import sys

    from dragoman.cli.progress import preparing
    from dragoman.comparison.folder import accept
    from dragoman.experiment.choosing import decided
    from dragoman.experiment.settings import completed
    from dragoman.runs import Run, status_of

    done = not fresh and bool(status_of(Run(out)).get("finished"))
    print(f"\nseed {composed.settings.training.seed} · {out}{' · trained already' if done else ''}", file=sys.stderr)
    if not done:
        run(composed, out, fresh, json)
        return
    settings = completed(composed.settings, composed.undecided is not None)
    if composed.undecided is not None:
        settings, _ = decided(Run(out), settings, composed.undecided, preparing)
    accept(Run(out), settings, out)


def sort_out(words: list[str], recipes: list[str]) -> tuple[str | None, list[str], list[str]]:
    """Which word is the recipe, which are data, which are settings."""
    overrides = [word for word in words if "=" in word and not os.path.exists(word)]
    rest = [word for word in words if word not in overrides]
    named = [word for word in rest if word.endswith(".toml") or (word in recipes and not os.path.isfile(word))]
    files = [word for word in rest if word not in named]
    if len(named) > 1:
        raise ConfigError(f"One training has one recipe, not {len(named)}: {', '.join(named)}.")
    for file in files:
        if file != "-" and not os.path.exists(file) and not has_magic(file) and "." not in Path(file).name:
            raise ConfigError(
                f"'{file}' is neither a file nor a recipe.{nearest(file, recipes)} Recipes: {', '.join(recipes)}."
            )
    return (named[0] if named else None), files, overrides
