"""The command line: data to stdout, all else to stderr, a documented exit code for every kind of failure."""

import errno
import inspect
import os
import sys
from contextlib import redirect_stdout
from typing import Annotated, NoReturn, no_type_check

import typer
from typer.models import CommandInfo

from dragoman.cli import (
    average,
    chat,
    compare,
    data,
    demo,
    doctor,
    embed,
    evaluate,
    export,
    look,
    predict,
    recipes,
    report,
    runs,
    score,
    tokenizer,
    train,
)
from dragoman.cli.usage import sentence
from dragoman.errors import DragomanError, OutOfMemoryError, StorageError

HELP = """\bdragoman demo
dragoman train pairs.tsv --valid valid.tsv --out runs/mine
echo attention | dragoman predict runs/mine

Sequence-to-sequence learning: train, question and look inside your own models."""
EPILOG = (
    "Exit codes: 0 done · 1 defect · 2 settings, options, runs that do not fit · 3 data · 4 numbers not finite · "
    "5 out of memory · 6 storage · 130 Ctrl-C and 143 SIGTERM (training is saved: run the same command to go on)."
)
TRAIN, ASK, LOOK, SHIP, KEEP = "Train", "Ask", "Look inside", "Ship", "Housekeeping"

app = typer.Typer(
    name="dragoman",
    help=HELP,
    epilog=EPILOG,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo", rich_help_panel=TRAIN)(demo.demo)
app.command("data", rich_help_panel=TRAIN)(data.data)
app.command("train", rich_help_panel=TRAIN)(train.train)
app.command("compare", rich_help_panel=TRAIN)(compare.compare)
app.command("average", rich_help_panel=TRAIN)(average.average)
app.command("recipes", rich_help_panel=TRAIN)(recipes.recipes)
app.command("predict", rich_help_panel=ASK)(predict.predict)
app.command("translate", hidden=True)(predict.predict)
app.command("chat", rich_help_panel=ASK)(chat.chat)
app.command("evaluate", rich_help_panel=ASK)(evaluate.evaluate)
app.command("score", rich_help_panel=ASK)(score.score)
app.command("embed", rich_help_panel=ASK)(embed.embed)
app.command("look", rich_help_panel=LOOK)(look.look)
app.command("report", rich_help_panel=LOOK)(report.report)
app.command("export", rich_help_panel=SHIP)(export.export)
app.command("runs", rich_help_panel=KEEP)(runs.runs)
app.command("doctor", rich_help_panel=KEEP)(doctor.doctor)
app.add_typer(tokenizer.app, name="tokenizer", rich_help_panel=KEEP)


def explain(command: CommandInfo) -> None:
    """Help begins with the examples (paragraphs that start with \\b, and keep their lines); a list has what it does."""
    text = inspect.cleandoc(getattr(command.callback, "__doc__", None) or "")
    parts = [part.strip().replace("\b\n", "\b") for part in text.split("\n\n")]
    examples = [part for part in parts if part.startswith("\b")]
    others = [" ".join(part.split()) for part in parts if not part.startswith("\b")]
    command.help, command.short_help = "\n\n".join([*examples, *others]), others[0]


for command in (*app.registered_commands, *tokenizer.app.registered_commands):
    explain(command)


def print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"dragoman {version('dragoman')}")
        raise typer.Exit


@app.callback()
@no_type_check  # what typer hands in is a Context of click's
def begin(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        with redirect_stdout(sys.stderr):
            print(context.get_help())
        raise typer.Exit(2)


NO_MEMORY = "Memory ran out. Leave out the longest texts or sequences, or use a machine with more memory."


def run() -> None:
    """Run the command line; a user's mistake gets a sentence, never a traceback."""
    try:
        try:
            code = app(prog_name="dragoman", standalone_mode=False)
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # which typer takes for a failure
            leave_quietly(0)
        raise
    except DragomanError as error:
        print(f"dragoman: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:  # the reader has gone (head -1): nothing is wrong
        leave_quietly(0)
    except OSError as error:
        if error.filename is None and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            raise
        place = f"use {error.filename}" if error.filename is not None else "write the output"
        print(f"dragoman: Cannot {place}: {error.strerror}.", file=sys.stderr)
        leave_quietly(StorageError.exit_code)
    except Exception as error:
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error) or "out of memory" in str(error):
            print(f"dragoman: {NO_MEMORY}", file=sys.stderr)
            sys.exit(OutOfMemoryError.exit_code)
        if not hasattr(error, "format_message"):  # what typer and click call a usage error, whatever its class
            raise
        print(sentence(error), file=sys.stderr)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def leave_quietly(code: int) -> NoReturn:
    """What is still to be written goes nowhere; Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
