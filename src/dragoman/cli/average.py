"""dragoman average: one model out of several checkpoints."""

from pathlib import Path
from typing import Annotated

import typer

from dragoman.errors import ConfigError


def average(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    last: Annotated[
        int | None, typer.Option(help="So many of the newest checkpoints; default: all that are kept.")
    ] = None,
    steps: Annotated[str | None, typer.Option(help="These checkpoints, e.g. 1000,2000.")] = None,
    out: Annotated[Path | None, typer.Option(help="The model folder to write; default: RUN/averaged.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
) -> None:
    """\b
    dragoman average runs/mine
    dragoman average runs/mine --last 5 --out models/mine
    dragoman average runs/mine --steps 1000,1500,2000

    Average the weights of checkpoints of a run into a model folder, which often answers better than any of them, and
    compare it with the best model of the run on the validation data. A run keeps training.keep checkpoints.
    """
    from dragoman.training.averaging import average_run

    if last is not None and steps is not None:
        raise ConfigError("Give --last or --steps, not both.")
    result = average_run(run, last, numbers_in(steps), out)
    if json:
        import json as writer

        facts = {"steps": result.steps, "out": str(result.out), "best_loss": result.best_loss, "loss": result.loss}
        print(writer.dumps(facts))
        return
    print(f"Mean of steps {', '.join(f'{step:,}' for step in result.steps)}: {result.out}")
    if result.loss is None or result.best_loss is None:
        print("Not measured: the run has no validation data.")
    else:
        verdict = "better" if result.loss < result.best_loss else "not better"
        print(f"validation loss {result.best_loss:.4f} (best model) → {result.loss:.4f} (mean): {verdict}")


def numbers_in(steps: str | None) -> list[int]:
    if steps is None:
        return []
    words = [word.strip() for word in steps.split(",")]
    if not all(word.isdecimal() for word in words):
        raise ConfigError(f"--steps takes numbers with commas between them, e.g. 1000,2000, not '{steps}'.")
    return [int(word) for word in words]
