"""Train a recipe on a named data set, evaluate it, and write down the score with all that it takes to repeat it.

Run the same command again after an interruption: training goes on where it was.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

from dragoman.cli.progress import preparing, show
from dragoman.config import read_toml, validate
from dragoman.data.readers.pairs import fingerprint
from dragoman.evaluation import evaluate
from dragoman.experiment import Experiment, completed, train
from dragoman.pipeline import Pipeline
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.storage import read_json, write_json
from sets import HERE, WORK, find_set, machine, provenance


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("set")
    parser.add_argument("settings", nargs="*", help="section.key=value")
    parser.add_argument("--name", default="", help="distinguishes results of one recipe with other settings")
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--scale")
    parser.add_argument("--data", type=Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    data = find_set(given.set, given.data)
    label = "-".join(filter(None, [given.recipe, given.scale, given.set, given.name]))
    run = Run(WORK / label)
    limits = {"training.minutes": given.minutes, "training.steps": given.steps}
    composed = compose(
        recipe=given.recipe,
        scale=given.scale,
        train=data.train,
        valid=data.valid,
        overrides=given.settings,
        settings={name: value for name, value in limits.items() if value is not None},
    )
    if run.exists and validate(Experiment, read_toml(run.config).table) != completed(composed.settings):
        raise SystemExit(f"{run.path} was measured with other settings. Give this one a --name.")
    if not (run.status.exists() and read_json(run.status).get("finished")):
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    (HERE / "results").mkdir(exist_ok=True)
    result = evaluate(Pipeline.load(run.path), data.test)
    steps = [json.loads(line) for line in run.metrics.read_text("utf-8").split("\n") if '"seconds"' in line]
    write_json(
        HERE / "results" / f"{label}.json",
        {
            "kind": "score",
            "recipe": given.recipe,
            "scale": given.scale,
            "set": given.set,
            "settings": given.settings,
            "test_sha256": fingerprint(data.test),
            "sources": result.items,
            "metrics": {value.name: asdict(value) for value in result.metrics},
            "training_minutes": round(steps[-1]["seconds"] / 60, 2) if steps else 0.0,
            "steps": read_json(run.status)["step"],
            "sources_per_second": round(result.items / result.seconds, 1),
            "machine": machine(),
            **provenance(),
            "date": time.strftime("%Y-%m-%d"),
        },
    )
    for value in result.metrics:
        print(f"{label}: {value.name} {value.value:.2f} ({value.low:.2f} … {value.high:.2f})")


if __name__ == "__main__":
    main()
