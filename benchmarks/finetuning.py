"""Fine-tune one pretrained body on several tasks, with several seeds, from its weights and from random ones.

    python benchmarks/finetuning.py --pretrained RUN --data DIR

Both take the same vocabulary, shape, data, order and settings; the weights alone differ. Nothing is chosen by
validation: what is measured are the weights at the end. Run the same command again after an interruption: what is
measured stays, and an unfinished training goes on.
"""

import argparse
import gzip
import random
import shutil
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.pairs import fingerprint
from dragoman.experiment import train
from dragoman.pipeline import Pipeline, model_folder
from dragoman.recipes import compose
from dragoman.runs import Run, read_metadata, status_of
from dragoman.storage import hash_file, read_record, write_record
from measure import measured
from sets import WORK, DataSet, find_set, machine, provenance, write_result

FOLDER = WORK / "finetuning"
WEIGHTS = {"pretrained": "body", "random": "shape"}  # and what --from takes for them
SETTINGS = (
    "training.monitor=loss",
    "training.threads=1",
    "training.device=cpu",
    "training.estimate=false",
    "training.keep=1",
    "evaluation.resamples=1",
    "training.optimiser.rate=1e-3",
    "model.encoder.dropout=0.1",
    "evaluation.report=0",
)


@dataclass(frozen=True)
class Task:
    """A data set, what it is judged by, and how much of it is learned how often."""

    set: str
    metric: str
    epochs: int
    sample: int = 0  # training examples, drawn once; 0: all
    settings: tuple[str, ...] = ()


TASKS = (
    Task("sst2", "accuracy", 3, 10_000),
    Task("stsb", "spearman", 4),
    Task("ud-english-ewt", "accuracy", 2, 6_000),
    Task("rte", "accuracy", 2, settings=("data.max_length=96",)),
)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pretrained", type=Path, required=True, help="the run, or model folder, that has the body")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tasks", nargs="*", default=[task.set for task in TASKS])
    parser.add_argument("--name", default="finetuning", help="of the result")
    parser.add_argument("--epochs", type=int, help="of all tasks, to try it out")
    parser.add_argument("settings", nargs="*", help="section.key=value, for all tasks")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    tasks = [task for task in TASKS if task.set in given.tasks]
    if given.epochs is not None:
        tasks = [replace(task, epochs=given.epochs) for task in tasks]
    weights = model_folder(given.pretrained) / "model.safetensors"
    folder = FOLDER / f"{given.name}-{hash_file(weights)[:8]}"
    found: dict[str, dict[str, list[dict[str, Any]]]] = {task.set: {kind: [] for kind in WEIGHTS} for task in tasks}
    for task in tasks:
        data = with_sample(find_set(task.set, given.data), task, folder)
        for seed in range(1, given.seeds + 1):
            for kind in WEIGHTS:
                found[task.set][kind].append(scored(task, data, kind, seed, given, folder))
    facts = {
        "kind": "finetuning",
        "weights": {"sha256": hash_file(weights), "step": int(read_metadata(weights).get("step", 0))},
        "seeds": given.seeds,
        "settings": [*SETTINGS, *given.settings],
        "tasks": {task.set: compared(task, found[task.set]) for task in tasks},
        "minutes": round(
            sum(one["seconds"] for each in found.values() for some in each.values() for one in some) / 60, 1
        ),
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    for name, task_facts in facts["tasks"].items():
        print(line_of(name, task_facts))


def with_sample(data: DataSet, task: Task, folder: Path) -> DataSet:
    """The set with a sample of its training examples in the place of all, drawn by a seed of its own."""
    if not task.sample:
        return data
    [source] = data.train
    to = folder / f"{task.set}-{task.sample}.{'conll' if data.recipe == 'tag' else 'tsv'}"
    if not to.exists():
        with gzip.open(source, "rt", encoding="utf-8", newline="\n") as file:
            text = file.read()
        header, examples = parted(text, data.recipe == "tag")
        kept = sorted(random.Random(1).sample(range(len(examples)), min(task.sample, len(examples))))
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(header + "".join(examples[number] for number in kept), "utf-8", newline="\n")
    return replace(data, train=(str(to),))


def parted(text: str, blocks: bool) -> tuple[str, list[str]]:
    """A header, if there is one, and the examples: lines, or blocks of lines."""
    if blocks:
        return "", [f"{block.strip(chr(10))}\n\n" for block in text.split("\n\n") if block.strip()]
    header, *lines = text.splitlines(keepends=True)
    return header, lines


def scored(task: Task, data: DataSet, kind: str, seed: int, given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train and measure, unless that was done; the score is kept, and the run, which is large, is not."""
    name = f"{task.set}-{task.epochs}-{kind}-{seed}"
    kept, run = folder / f"{name}.json", Run(folder / name)
    if kept.exists():
        return read_record(kept)
    composed = compose(
        data.recipe,
        train=data.train,
        overrides=[*data.settings, *SETTINGS, *task.settings, *given.settings],
        settings={"training.seed": seed, "training.epochs": task.epochs, "training.take": WEIGHTS[kind]},
        start=str(given.pretrained),
        out=run.path,
    )
    if not status_of(run).get("finished"):
        finished = show(train(composed.settings, run.path, composed.given, preparing=preparing), run.path)
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    result = measured(Pipeline.load(run.path), data)
    score = {
        "score": next(value.value for value in result.metrics if value.name == task.metric),
        "metrics": {value.name: value.value for value in result.metrics},
        "test_examples": result.items,
        "test_sha256": fingerprint(data.test),
        "train_examples": read_record(run.data_record)["train"]["counts"]["pairs"],
        "steps": status_of(run)["step"],
        "seconds": round(seconds_of(run), 1),
    }
    write_record(kept, score)
    shutil.rmtree(run.path)
    print(f"{name}: {task.metric} {score['score']:.2f}", flush=True)
    return score


def seconds_of(run: Run) -> float:
    """Of training, by the log."""
    import json

    rows = [json.loads(line) for line in run.metrics.read_text("utf-8").splitlines()]
    return max((float(row["seconds"]) for row in rows if "seconds" in row), default=0.0)


def compared(task: Task, found: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Mean, standard deviation and standard error of both, and whether they differ by more than two of the latter."""
    told = {kind: spread([one["score"] for one in some]) for kind, some in found.items()}
    difference = told["pretrained"]["mean"] - told["random"]["mean"]
    error = (told["pretrained"]["standard_error"] ** 2 + told["random"]["standard_error"] ** 2) ** 0.5
    first = found["pretrained"][0]
    return {
        **asdict(task),
        "train_examples": first["train_examples"],
        "test_examples": first["test_examples"],
        "steps": first["steps"],
        **told,
        "difference": round(difference, 3),
        "standard_error_of_difference": round(error, 3),
        "exceeds_two_standard_errors": difference > 2 * error,
        "metrics": {kind: [one["metrics"] for one in some] for kind, some in found.items()},
    }


def spread(scores: Sequence[float]) -> dict[str, Any]:
    deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
    return {
        "scores": [round(score, 3) for score in scores],
        "mean": round(statistics.fmean(scores), 3),
        "deviation": round(deviation, 3),
        "standard_error": round(deviation / len(scores) ** 0.5, 3),
    }


def line_of(name: str, facts: dict[str, Any]) -> str:
    shown = [f"{kind} {facts[kind]['mean']:.2f} ± {facts[kind]['deviation']:.2f}" for kind in WEIGHTS]
    verdict = "more" if facts["exceeds_two_standard_errors"] else "no more"
    return (
        f"{name}: {facts['metric']} {' · '.join(shown)} · difference {facts['difference']:.2f}, {verdict} than two "
        f"standard errors ({facts['standard_error_of_difference']:.2f} each)"
    )


if __name__ == "__main__":
    main()
