"""The command line: data to stdout, all else to stderr, a documented exit code for every kind of failure."""

import errno
import os
import sys
from typing import NoReturn

import typer

from dragoman.cli import demo, evaluate, look, predict, recipes, report, runs, score, train
from dragoman.errors import DragomanError, StorageError

EPILOG = (
    "Exit codes: 0 done · 1 defect · 2 settings · 3 data · 4 numbers not finite · 5 out of memory · 6 storage · "
    "130 and 143 interrupted (run the same command to go on)."
)

app = typer.Typer(
    name="dragoman",
    help="Sequence-to-sequence learning: train, question and look inside your own models.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("translate", hidden=True)(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("score")(score.score)
app.command("look")(look.look)
app.command("report")(report.report)
app.command("runs")(runs.runs)
app.command("recipes")(recipes.recipes)


def run() -> None:
    """Run the command line; a user's mistake gets a sentence, never a traceback."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer takes for a failure
            leave_quietly(0)
        raise
    except DragomanError as error:
        print(f"dragoman: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # the reader has gone (head -1): nothing is wrong
        leave_quietly(0)
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        place = f"use {error.filename}" if error.filename is not None else "write"
        print(f"dragoman: Cannot {place}: {error.strerror}.", file=sys.stderr)
        leave_quietly(StorageError.exit_code)


def leave_quietly(code: int) -> NoReturn:
    """What is still to be written goes nowhere; Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
