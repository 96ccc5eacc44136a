"""What a hand does, from noisy sensors, and how a shape moves, from short clips: all made up."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.cli.demos.playing import Given, learn

if TYPE_CHECKING:
    from dragoman.evaluation.labels import EvaluatedLabels

SHOWN = 6  # answers a part


@dataclass(frozen=True)
class Part:
    """One of the three trainings."""

    name: str
    recipe: str
    ending: str
    share: float  # of the minutes
    about: str


PARTS = (
    Part("gestures", "classify-frames", "csv", 0.2, "One label for each sequence: which gesture it is"),
    Part("streams", "tag-frames", "csv", 0.35, "A label for each frame: where gestures begin and end"),
    Part("clips", "classify-clips", "tsv", 0.45, "One label for each clip: how the shape moves"),
)


def play(given: Given, started_at: float) -> None:
    """Train each part, evaluate on sequences never seen, show answers, and write their reports."""
    from dragoman.data.pictures import require_pillow

    require_pillow()
    results = {part.name: played(part, given) for part in PARTS}
    seconds = time.monotonic() - started_at
    if given.as_json:
        print_json(results, seconds)
    print(f"\nDone in {seconds / 60:.1f} minutes. Look at the reports, and ask it yourself:", file=sys.stderr)
    for part in PARTS:
        print(f"  {given.out / part.name / 'run' / 'report.html'}", file=sys.stderr)
    streams = given.out / "streams"
    print(f"  dragoman predict {streams / 'run'} {streams / 'data' / 'test.csv'} --scores", file=sys.stderr)
    clips = given.out / "clips"
    print(f"  dragoman predict {clips / 'run'} {clips / 'data' / 'test' / '0000'}", file=sys.stderr)


def played(part: Part, given: Given) -> "EvaluatedLabels":
    from dragoman.evaluation.labels import evaluate_labels
    from dragoman.inspection.report import write_report
    from dragoman.pipeline import Pipeline
    from dragoman.recipes import compose
    from dragoman.runs import Run

    own = replace(given, out=given.out / part.name, minutes=given.minutes * part.share)
    sizes = written(part, own.data)
    print(f"\n{part.about} ({sizes['train']:,} to learn from, made up).", file=sys.stderr)
    files = {name: str(own.data / f"{name}.{part.ending}") for name in ("train", "valid", "test")}
    settings = {"training.minutes": own.minutes, "training.threads": 1, "evaluation.report": 0}  # small models
    learn(compose(part.recipe, None, (files["train"],), (files["valid"],), settings=settings), own)
    pipeline = Pipeline.load(own.run)
    result = evaluate_labels(pipeline, [files["test"]])
    write_report(Run(own.run), (files["test"],))
    if not given.as_json:
        print_story(part, result)
        print_answers(part, own)
    return result


def written(part: Part, folder: Path) -> dict[str, int]:
    """The data, if it is not there yet."""
    from dragoman.data.gestures import SIZES, STREAMS, write_gestures, write_streams
    from dragoman.data.movements import SIZES as CLIPS
    from dragoman.data.movements import write_clips

    makers: dict[str, tuple[Callable[[Path], dict[str, int]], dict[str, int]]] = {
        "gestures": (write_gestures, SIZES),
        "streams": (write_streams, STREAMS),
        "clips": (write_clips, CLIPS),
    }
    make, sizes = makers[part.name]
    return sizes if (folder / f"test.{part.ending}").is_file() else make(folder)


def print_story(part: Part, result: "EvaluatedLabels") -> None:
    from dragoman.cli.labels import print_labels

    print(f"\n{part.name.capitalize()} that it never saw:", flush=True)
    print_labels(result, json=False)


def print_answers(part: Part, own: Given) -> None:
    """A few of the test set; of streams their labels in a row of letters, a letter for some frames."""
    from itertools import islice

    from dragoman.data.readers.lines import Problems
    from dragoman.evaluation.frames import told_frames
    from dragoman.pipeline import Pipeline

    pipeline, file = Pipeline.load(own.run), str(own.data / f"test.{part.ending}")
    reading, number = dict(pipeline.known_labels.reading), 2 if part.name == "streams" else SHOWN
    series = list(islice(told_frames(pipeline, [file], reading, Problems(), Problems()), number))
    print("\nA few of them:")
    for one, answer in zip(series, pipeline.frame_reader.answers(series, "split"), strict=True):
        if part.name == "streams":
            print(f"  {one.name}  true {in_letters(one.labels)}")
            print(f"  {' ' * len(one.name)}  said {in_letters(answer.tokens)}")
        else:
            verdict = "right" if answer.text == one.labels[0] else f"({one.labels[0]})"
            print(f"  {one.name:<12} {answer.text:<14} {verdict}")


def in_letters(labels: "tuple[str, ...]", width: int = 72) -> str:
    """Each label by its first letter, or by a capital where it goes right; rest is a point."""
    step = max(1, -(-len(labels) // width))
    shown = labels[::step]
    return "".join("." if one == "rest" else one[0].upper() if one.endswith("right") else one[0] for one in shown)


def print_json(results: "dict[str, EvaluatedLabels]", seconds: float) -> None:
    """One last object behind the events."""
    import json

    from dragoman.cli.labels import facts_of

    parts = {name: facts_of(result) for name, result in results.items()}
    print(json.dumps({"event": "result", "parts": parts, "seconds": seconds}, ensure_ascii=False))
