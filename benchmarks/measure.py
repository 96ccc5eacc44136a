"""Train a recipe on a named data set, evaluate it, and write down the score with all that it takes to repeat it.

The recipe `defaults` is none: the data decides.

Run the same command again after an interruption: training goes on where it was.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation.labels import EvaluatedLabels, evaluate_labels
from dragoman.evaluation.pairs import Evaluated, evaluate, read_items
from dragoman.evaluation.spans import EvaluatedSpans, evaluate_spans
from dragoman.experiment import train
from dragoman.metrics import measure
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run, status_of
from dragoman.training.averaging import average_run
from positions import fixed_places, other_questions
from sets import WORK, DataSet, find_set, machine, provenance, write_result


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("set")
    parser.add_argument("settings", nargs="*", help="section.key=value")
    parser.add_argument("--name", default="", help="distinguishes results of one recipe with other settings")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--scale")
    parser.add_argument("--mean", default="", help="measure the mean of these checkpoints (steps, with commas) as well")
    parser.add_argument("--data", type=Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    data = find_set(given.set, given.data)
    label = "-".join(filter(None, [given.recipe, given.scale, given.set, given.name]))
    run = Run(WORK / label)
    limits = {"training.minutes": given.minutes, "training.steps": given.steps}
    composed = compose(
        recipe=None if given.recipe == "defaults" else given.recipe,
        scale=given.scale,
        train=data.train,
        valid=data.valid,
        overrides=[*data.settings, *given.settings],
        settings={"evaluation.report": 0} | {name: value for name, value in limits.items() if value is not None},
    )
    if not status_of(run).get("finished"):
        events = train(composed.settings, run.path, composed.given, preparing=preparing, undecided=composed.undecided)
        finished = show(events, run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    write_down(given, label, run, run.path, data)
    if given.mean:
        steps = [int(step) for step in given.mean.split(",")]
        write_down(given, f"{label}-mean", run, average_run(run.path, steps=steps).out, data)


def write_down(given: argparse.Namespace, label: str, run: Run, model: Path, data: DataSet) -> None:
    """Evaluate a model of a run, and keep the score with all that belongs to it."""
    pipeline = Pipeline.load(model)
    result = measured(pipeline, data)
    minutes, validations = clock_of(run)
    write_result(
        label,
        {
            "kind": "score",
            "recipe": given.recipe,
            "scale": given.scale,
            "name": given.name,
            "mean": given.mean if model != run.path else "",
            "set": given.set,
            "settings": given.settings,
            "test_sha256": fingerprint(data.test),
            "sources": result.items,
            "metrics": {value.name: asdict(value) for value in result.metrics},
            "first_words": first_words(data),
            **(without_the_question(pipeline, data) if isinstance(result, EvaluatedSpans) else {}),
            "training_minutes": max(minutes.values(), default=0.0),
            "curve": [
                row["valid"] | {"step": row["step"], "minutes": minutes_at(minutes, row["step"])} for row in validations
            ],
            "steps": status_of(run)["step"],
            "sources_per_second": round(result.items / result.seconds, 1),
            "machine": machine(),
            **provenance(),
            "date": time.strftime("%Y-%m-%d"),
        },
    )
    for value in result.metrics:
        print(f"{label}: {value.name} {value.value:.2f} ({value.low:.2f} … {value.high:.2f})")


def measured(pipeline: Pipeline, data: DataSet) -> Evaluated | EvaluatedLabels | EvaluatedSpans:
    """Answers to sources, what a model that only reads says of texts, or answers in documents."""
    if pipeline.labels is not None and pipeline.labels.what == "spans":
        return evaluate_spans(pipeline, data.test, data.metrics)
    if pipeline.labels is not None:
        return evaluate_labels(pipeline, data.test, data.metrics)
    return evaluate(pipeline, data.test, data.metrics)


def without_the_question(pipeline: Pipeline, data: DataSet) -> dict[str, Any]:
    """What answers in documents score that do not depend on what is asked."""
    return {"fixed_places": fixed_places(data), "other_questions": other_questions(pipeline, data)}


def first_words(data: DataSet) -> dict[str, Any]:
    """What the first words of each source score, where the set asks for that."""
    if not data.first_words:
        return {}
    items, _ = read_items(data.test)
    answers = [" ".join(source.split()[: data.first_words]) for source, _ in items]
    found = measure(data.metrics, answers, [references for _, references in items])
    for value in found:
        print(f"first {data.first_words} words: {value.name} {value.value:.2f} ({value.low:.2f} … {value.high:.2f})")
    return {"words": data.first_words, "metrics": {value.name: asdict(value) for value in found}}


def minutes_at(minutes: dict[int, float], step: int) -> float:
    """At the last step of the log that is not later."""
    return max((value for logged, value in minutes.items() if logged <= step), default=0.0)


def clock_of(run: Run) -> tuple[dict[int, float], list[dict[str, Any]]]:
    """The minutes of training at each step of the log, and its validations."""
    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    minutes = {row["step"]: round(row["seconds"] / 60, 2) for row in rows if "seconds" in row}
    return minutes, [row for row in rows if "valid" in row]


if __name__ == "__main__":
    main()
