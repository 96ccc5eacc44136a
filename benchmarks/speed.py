"""Training and decoding speed beside a plain torch loop of the same cells and sizes, in one interleaved run.

Each measurement is a process of its own, and the columns take turns (A B A B …), so that a machine that slows down
slows both. Decoding uses a model that `measure.py` has trained before; its plain twin has the same weights.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import dragoman.training.update as update_module
from dragoman.contracts import Batch
from dragoman.data.collate import collate, collate_sources
from dragoman.data.order import Position, walk
from dragoman.data.readers.pairs import Problems, read_references
from dragoman.devices import keep_freed_memory
from dragoman.experiment import Experiment
from dragoman.experiment import train as train_experiment
from dragoman.pipeline import Pipeline
from dragoman.preparation.corpora import Corpora
from dragoman.preparation.pairs import prepare
from dragoman.recipes import compose
from dragoman.runs import Run
from dragoman.training.events import Stepped
from plain import PlainModel, same_weights, train_steps
from sets import WORK, DataSet, find_set, machine, provenance, write_result

WARM_UP = 5  # steps that are not timed
RATE, CLIP = 1e-3, 1.0


def corpora_of(data: DataSet) -> tuple[Experiment, Corpora]:
    """The set encoded as the recipe says, kept for the next process."""
    settings = compose(recipe=data.recipe, train=data.train, valid=data.valid).settings
    run = Run(WORK / f"speed-{data.name}")
    run.path.mkdir(parents=True, exist_ok=True)
    return settings, prepare(run, settings.data, {"source": settings.source, "target": settings.target})


def first_batches(settings: Experiment, corpora: Corpora, count: int) -> list[Batch]:
    source = walk(corpora.train, settings.training.batching, 1, Position())
    return [collate(chunk, indices) for _, chunk, indices in islice(source, count)]


def train_plain(data: DataSet, steps: int) -> dict[str, Any]:
    settings, corpora = corpora_of(data)
    sizes = (corpora.tokenizers["source"].size, corpora.tokenizers["target"].size)
    torch.manual_seed(1)
    model = PlainModel(settings.model, *sizes).train()
    batches = first_batches(settings, corpora, WARM_UP + steps)
    smoothing = settings.objective.smoothing
    train_steps(model, batches[:WARM_UP], RATE, smoothing, CLIP)
    started_at = time.perf_counter()
    train_steps(model, batches[WARM_UP:], RATE, smoothing, CLIP)
    seconds = time.perf_counter() - started_at
    tokens = sum(batch.target_tokens for batch in batches[WARM_UP:])
    return {"tokens_per_second": tokens / seconds, "parameters": sum(p.numel() for p in model.parameters())}


def train_dragoman(data: DataSet, steps: int) -> dict[str, Any]:
    """The product as it is: its own command's code path with data, log and checkpoints, on the same batches."""
    settings, corpora = corpora_of(data)
    overrides = {"training.steps": WARM_UP + steps, "training.validate_every": 10**6}
    overrides |= {"training.log_every": 10, "training.save_every": 50}  # more often than by default: an upper bound
    composed = compose(recipe=data.recipe, train=data.train, settings=overrides)
    run = Run(WORK / f"speed-run-{data.name}")
    collating = Stopwatch()
    update_module.collate = collating.around(update_module.collate)
    updating = Stopwatch()
    fit_module = sys.modules["dragoman.training.fit"]
    fit_module.update = updating.around(fit_module.update)  # type: ignore[attr-defined]
    tokens, started_at, ended_at = 0, 0.0, 0.0
    for event in train_experiment(composed.settings, run.path, fresh=True):
        if isinstance(event, Stepped):
            if event.step == WARM_UP:
                started_at, collating.seconds, updating.seconds = time.perf_counter(), 0.0, 0.0
            elif event.step > WARM_UP:
                tokens, ended_at = tokens + event.target_tokens, time.perf_counter()
    seconds = ended_at - started_at
    batches = first_batches(settings, corpora, WARM_UP + steps)[WARM_UP:]
    remove_runs(run.path)
    return {
        "tokens_per_second": tokens / seconds,
        "overhead": (seconds - updating.seconds + collating.seconds) / seconds,
        "flops_per_second": sum(useful_flops(settings, corpora, batch) for batch in batches) / seconds,
    }


class Stopwatch:
    """Adds up the time spent in a function."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Any) -> Any:
        def timed(*arguments: Any, **named: Any) -> Any:
            started_at = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.perf_counter() - started_at

        return timed


def remove_runs(path: Path) -> None:
    import shutil

    for old in [path, *path.parent.glob(f"{path.name}.old-*")]:
        shutil.rmtree(old, ignore_errors=True)


def useful_flops(settings: Experiment, corpora: Corpora, batch: Batch) -> float:
    """Multiply-adds × 2 of the matrix products on real tokens, forward and backward (3 × forward)."""
    model, source = settings.model, batch.sources["source"]
    encoder, decoder = model.encoder, model.decoder
    gates, directions = (4 if encoder.cell == "lstm" else 3), (2 if encoder.directions == "both" else 1)
    memory = encoder.width * directions
    inputs = [model.source.width] + [memory] * (encoder.layers - 1)
    of_source = sum(directions * gates * encoder.width * (width + encoder.width) for width in inputs)
    of_source += memory * decoder.attention.width
    gates = 4 if decoder.cell == "lstm" else 3
    of_target = gates * decoder.width * (model.target.width + memory + decoder.width)
    of_target += (decoder.layers - 1) * gates * decoder.width * 2 * decoder.width
    of_target += decoder.width * decoder.attention.width
    of_target += (decoder.width + model.target.width + memory) * decoder.readout_width
    of_target += decoder.readout_width * corpora.tokenizers["target"].size
    of_target += float(source.mask.sum()) / batch.size * (decoder.attention.width + memory)
    return 6 * (float(source.mask.sum()) * of_source + batch.target_tokens * of_target)


def decode(data: DataSet, system: str, lines: int) -> dict[str, Any]:
    pipeline = Pipeline.load(WORK / f"{data.recipe}-{data.name}")
    texts = [source for source, _ in read_references(data.test, Problems())][:lines]
    if system == "plain-greedy":
        return decode_plain(pipeline, texts)
    beam = 1 if system == "dragoman-greedy" else 5
    list(pipeline.stream(texts[:64], beam))
    started_at = time.perf_counter()
    answers = list(pipeline.stream(texts, beam))
    seconds = time.perf_counter() - started_at
    return {"lines_per_second": len(answers) / seconds, "symbols": sum(len(answer.tokens) for answer in answers)}


def decode_plain(pipeline: Pipeline, texts: list[str]) -> dict[str, Any]:
    """Greedy decoding by the plain loop, in the same batches, tokenised in advance."""
    sizes = (pipeline.source.size, pipeline.target.size)
    plain = same_weights(pipeline.model, pipeline.settings.model, sizes)
    encoded = sorted(pipeline.source.encode(texts), key=len)
    batches = [collate_sources(encoded[start : start + 256]) for start in range(0, len(encoded), 256)]
    limits = [pipeline.settings.limits.answer_length(batch.sources["source"].values.shape[1] - 1) for batch in batches]
    plain.greedy(batches[0], limits[0])
    started_at = time.perf_counter()
    found = [plain.greedy(batch, limit) for batch, limit in zip(batches, limits, strict=True)]
    seconds = time.perf_counter() - started_at
    return {"lines_per_second": len(texts) / seconds, "symbols": sum(int((rows > 3).sum()) for rows in found)}


def matrix_ceiling() -> dict[str, Any]:
    """The best rate of a large float32 matrix product."""
    left, right = torch.randn(2048, 2048), torch.randn(2048, 2048)
    best = 0.0
    for _ in range(12):
        started_at = time.perf_counter()
        left @ right
        best = max(best, 2 * 2048**3 / (time.perf_counter() - started_at))
    return {"flops_per_second": best}


def one(arguments: argparse.Namespace) -> None:
    """A single measurement, in this process."""
    torch.set_num_threads(2)
    if arguments.one == "ceiling":
        print(json.dumps(matrix_ceiling()))
        return
    data = find_set(arguments.set, arguments.data)
    if arguments.one == "train-plain":
        if arguments.allocator:
            keep_freed_memory()
        print(json.dumps(train_plain(data, arguments.steps)))
    elif arguments.one == "train-dragoman":
        print(json.dumps(train_dragoman(data, arguments.steps)))
    else:
        print(json.dumps(decode(data, arguments.one, arguments.lines)))


def measured(column: str, arguments: argparse.Namespace, name: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", column, "--set", name, "--steps", str(arguments.steps)]
    command += ["--lines", str(arguments.lines), *(["--allocator"] if arguments.allocator else [])]
    if arguments.data:
        command += ["--data", str(arguments.data)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(result.stderr)
    value: dict[str, Any] = json.loads(result.stdout.strip().split("\n")[-1])
    return value


def measure_set(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    data = find_set(name, arguments.data)
    columns = ["train-plain", "train-dragoman"]
    if (WORK / f"{data.recipe}-{data.name}" / "model").is_dir():
        columns += ["plain-greedy", "dragoman-greedy", "dragoman-beam5"]
    rounds: dict[str, list[dict[str, Any]]] = {column: [] for column in ("ceiling", *columns)}
    for number in range(arguments.rounds):
        for column in rounds:
            rounds[column].append(measured(column, arguments, name))
            print(f"{name} round {number + 1} {column}: {rounds[column][-1]}", file=sys.stderr, flush=True)
    return rounds


def summary(rounds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians, and the medians of the ratios of each round."""
    found: dict[str, Any] = {}
    for column, results in rounds.items():
        for field in results[0]:
            found[f"{column}.{field}"] = statistics.median(result[field] for result in results)

    def ratio(ours: str, theirs: str, field: str) -> float:
        return statistics.median(a[field] / b[field] for a, b in zip(rounds[ours], rounds[theirs], strict=True))

    found["train.ratio_to_plain"] = ratio("train-dragoman", "train-plain", "tokens_per_second")
    found["train.share_of_ceiling"] = ratio("train-dragoman", "ceiling", "flops_per_second")
    if "plain-greedy" in rounds:
        counted = {rounds[column][0]["symbols"] for column in ("plain-greedy", "dragoman-greedy")}
        if len(counted) > 1:
            raise SystemExit(f"The plain loop and dragoman gave answers of different length: {counted} symbols.")
        found["greedy.ratio_to_plain"] = ratio("dragoman-greedy", "plain-greedy", "lines_per_second")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--set", action="append" if "--one" not in sys.argv else "store")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--allocator", action="store_true", help="let the plain loop use our allocator settings too")
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments)
        return
    for name in arguments.set or ["cmudict"]:
        rounds = measure_set(name, arguments)
        result = {"kind": "speed", "set": name, "summary": summary(rounds), "rounds": rounds}
        result |= {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}
        write_result(f"speed-{name}", result)
        print(json.dumps(result["summary"], indent=2))


if __name__ == "__main__":
    main()
