"""dragoman demo: the whole path in a few minutes, on data that comes with a package."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dragoman.pipeline import Pipeline

INVENTED = "dragomanize"
SHOWN = 6  # words of the test set that are pronounced


def demo(
    out: Annotated[Path, typer.Option(help="Where data and run are kept.")] = Path("demo"),
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 5.0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Set an old run aside and train anew.")] = False,
) -> None:
    """Learn to pronounce English from CMUdict: train, evaluate on words never seen, ask, and look inside."""
    from dragoman.cli.evaluate import print_table
    from dragoman.data.readers.cmudict import write_splits
    from dragoman.evaluation import evaluate
    from dragoman.pipeline import Pipeline

    started_at = time.monotonic()
    data, run = out / "data", out / "run"
    counts = write_splits(data)
    print(f"CMUdict: {counts['train']:,} pairs to learn from, {counts['test']:,} of words never seen.", file=sys.stderr)
    learn(data, run, minutes, fresh)
    pipeline = Pipeline.load(run)
    print("\nOn words it never saw:")
    print_table(evaluate(pipeline, (str(data / "test.tsv"),)))
    pronounce(pipeline, data / "test.tsv")
    print(f"\nDone in {(time.monotonic() - started_at) / 60:.1f} minutes. Ask it yourself:")
    print(f"  echo encyclopedia | dragoman predict {run} --n-best 3 --scores")
    print(f"  dragoman look {run} attention")


def learn(data: Path, run: Path, minutes: float, fresh: bool) -> None:
    """Train, go on with a training that was interrupted, or leave a finished one alone."""
    from dragoman.cli.progress import preparing, show
    from dragoman.experiment import train
    from dragoman.recipes import compose
    from dragoman.runs import Run, status_of

    if not fresh and status_of(Run(run)).get("finished"):
        print(f"{run} is trained already; --fresh trains anew.", file=sys.stderr)
        return
    settings = {"training.minutes": minutes}
    composed = compose("g2p", train=(str(data / "train.tsv"),), valid=(str(data / "valid.tsv"),), settings=settings)
    finished = show(train(composed.settings, run, composed.given, fresh, preparing), run)
    if finished is not None and finished.signal is not None:
        raise typer.Exit(128 + finished.signal)


def pronounce(pipeline: "Pipeline", tests: Path) -> None:
    """A few words of the test set, and an invented one with its alignment."""
    from dragoman.data.readers.pairs import Problems, read_references
    from dragoman.drawing.terminal import colours_of
    from dragoman.inspection.alignment import alignment_text

    items = read_references((str(tests),), Problems())
    known = dict(items)
    words = [items[len(items) * number // SHOWN][0] for number in range(SHOWN)]
    print("\nA few of them, and one that nobody has pronounced yet:")
    for answer in pipeline.predict([*words, INVENTED]):
        truth = known.get(answer.source)
        verdict = "" if truth is None else "  right" if answer.text in truth else f"  (CMUdict: {' or '.join(truth)})"
        print(f"  {answer.source:<16} {answer.text}{verdict}")
    print(f"\nWhere it looked while it said '{INVENTED}':")
    print(alignment_text(pipeline.predict(INVENTED).best, colours_of(sys.stdout.isatty())))
