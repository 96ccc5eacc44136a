"""dragoman demo: the whole path in a few minutes, on data that comes with a package."""

from pathlib import Path
from typing import Annotated

import typer

INVENTED = "dragomanize"
SHOWN = 6  # words of the test set that are pronounced


def demo(
    out: Annotated[Path, typer.Option(help="Where data and run are kept.")] = Path("demo"),
    minutes: Annotated[float, typer.Option(help="Minutes of training.")] = 5.0,
) -> None:
    """Learn to pronounce English from CMUdict: train, evaluate on words never seen, ask, and look inside."""
    import sys
    import time

    from dragoman.cli.evaluate import print_table
    from dragoman.cli.progress import preparing, show
    from dragoman.data.readers.cmudict import write_splits
    from dragoman.data.readers.pairs import Problems, read_references
    from dragoman.evaluation import evaluate
    from dragoman.experiment import train
    from dragoman.inspection.alignment import alignment_text
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose
    from dragoman.runs import Run
    from dragoman.storage import read_json

    started_at = time.monotonic()
    data, run = out / "data", out / "run"
    counts = write_splits(data)
    print(f"CMUdict: {counts['train']:,} pairs to learn from, {counts['test']:,} of words never seen.", file=sys.stderr)
    settings = {"training.minutes": minutes}
    composed = compose("g2p", train=(str(data / "train.tsv"),), valid=(str(data / "valid.tsv"),), settings=settings)
    status = Run(run).status
    if status.exists() and read_json(status).get("finished"):
        print(f"{run} is trained already; delete it to train anew.", file=sys.stderr)
    else:
        finished = show(train(composed.settings, run, composed.given, preparing=preparing), run)
        if finished is not None and finished.signal is not None:
            raise typer.Exit(128 + finished.signal)
    pipeline = Pipeline.load(run)
    tests = (str(data / "test.tsv"),)
    print("\nOn words it never saw:")
    print_table(evaluate(pipeline, tests))
    items = read_references(tests, Problems())
    words = [items[len(items) * n // SHOWN][0] for n in range(SHOWN)]
    known = dict(items)
    print("\nA few of them, and one that nobody has pronounced yet:")
    for answer in pipeline.predict([*words, INVENTED]):
        truth = known.get(answer.source)
        verdict = "" if truth is None else "  right" if answer.text in truth else f"  (CMUdict: {' or '.join(truth)})"
        print(f"  {answer.source:<16} {answer.text}{verdict}")
    print(f"\nWhere it looked while it said '{INVENTED}':")
    print(alignment_text(pipeline.predict(INVENTED).best, colour=sys.stdout.isatty()))
    print(f"\nDone in {(time.monotonic() - started_at) / 60:.1f} minutes. Ask it yourself:")
    print(f"  echo encyclopedia | dragoman predict {run} --n-best 3 --scores")
    print(f"  dragoman look {run} attention")
