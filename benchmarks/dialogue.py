"""Perplexity of the next turn of a conversation: an encoder over words and turns, the last turn only, and turns joined.

    python benchmarks/dialogue.py --data DIR

All three have the same vocabulary, decoder, training and test turns; encoders differ in width, so that the models are
equally large, and in the number of updates, so that trainings are equally long. Time is that of the processor: what an
update costs is measured first, all three taking turns, and the budget in minutes then buys so many updates of each. So
it is the same whatever else the machine does meanwhile. Nothing is chosen by validation: what is measured are the
weights at the end. Run the same command again after an interruption: what is measured stays, an unfinished training
goes on. The result is written anew whenever all three have one seed more. With --updates all have equally many instead.
"""

import argparse
import hashlib
import json
import math
import os
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from dragoman.cli.progress import preparing, show
from dragoman.data.readers.formats import CONVERSATIONS
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.tokenizers.conversation import turns_of
from dragoman.devices import use_threads
from dragoman.evaluation.pairs import read_items
from dragoman.experiment import train
from dragoman.metrics import measure_perplexity, perplexity
from dragoman.models import EncoderDecoder, build_model
from dragoman.pipeline import Pipeline
from dragoman.recipes import Composed, compose
from dragoman.runs import Run, status_of
from dragoman.storage import read_record, write_record
from dragoman.training.events import Stepped
from finetuning import spread
from sets import WORK, machine, provenance, write_result

SETTINGS = (
    "training.threads=1",
    "training.device=cpu",
    "training.estimate=false",
    "training.keep=1",
    "training.validate_every=1000000",
    "training.batching.sentences=64",
    "training.batching.tokens=1000000",
    "model.source.width=64",
    "model.target.width=64",
    "model.decoder.width=128",
    "model.decoder.readout_width=64",
    "model.decoder.attention.width=64",
    "model.source.dropout=0.1",
    "model.target.dropout=0.1",
    "model.decoder.dropout=0.1",
    "training.schedule.warmup=100",
    "conversation.turns=5",
    "conversation.turn_length=30",
    "conversation.length=100",
    "evaluation.report=0",
)
FLAT = ("model.encoder.kind=rnn", "model.encoder.cell=gru", "model.decoder.looks_at=words")
SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "hierarchical": ("model.encoder.words.width=64", "model.encoder.turns.width=128"),
    "last turn": (*FLAT, "conversation.turns=1"),
    "turns joined": FLAT,
}
ALIKE = 0.05  # by which numbers of weights may differ
ROUNDS, BEGIN, END = 3, 10, 40  # updates that are measured: from the first of these to the last
BEFORE = {
    "1": (1, 1),
    "2 to 3": (2, 3),
    "4 to 7": (4, 7),
    "8 and more": (8, 64),
}  # turns before the one that is measured


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder that has chitchat/train.jsonl.gz")
    parser.add_argument("--minutes", type=float, default=5.0, help="of the processor, for each training")
    parser.add_argument(
        "--updates", type=int, help="of each training, in place of minutes: equally many, not equally long"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--name", default="dialogue", help="of the result")
    parser.add_argument("settings", nargs="*", help="section.key=value, for all systems")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    use_threads(1)
    about = json.dumps(
        [
            SETTINGS,
            {name: list(words) for name, words in SYSTEMS.items()},
            given.settings,
            given.updates or given.minutes,
        ]
    )
    folder = (
        WORK / given.name / hashlib.sha256(about.encode()).hexdigest()[:8]
    )  # others' costs and scores are not its own
    files = {split: str(given.data / "chitchat" / f"{split}.jsonl.gz") for split in ("train", "test")}
    widths, sizes = alike(given, files)
    costs = {} if given.updates else measured_costs(given, files, widths, folder)
    steps = {system: given.updates or round(60 * given.minutes / costs[system]) for system in SYSTEMS}
    found: dict[str, list[dict[str, Any]]] = {system: [] for system in SYSTEMS}
    for seed in range(1, given.seeds + 1):
        for system in SYSTEMS:
            found[system].append(scored(given, files, widths, folder, system, seed, steps[system]))
        write_down(given, files, found, sizes, costs, steps, widths)


def write_down(
    given: argparse.Namespace,
    files: Mapping[str, str],
    found: Mapping[str, Sequence[Mapping[str, Any]]],
    sizes: Mapping[str, int],
    costs: Mapping[str, float],
    steps: Mapping[str, int],
    widths: Mapping[str, int],
) -> None:
    """The table so far; all must have been measured on the same symbols."""
    tokens = {one["target_symbols"] for each in found.values() for one in each}
    hashes = {one["tokenizer"] for each in found.values() for one in each}
    if len(tokens) > 1 or len(hashes) > 1:
        raise SystemExit("The systems were measured on other symbols: delete the runs and begin anew.")
    facts = {
        "kind": "dialogue",
        "minutes": None if given.updates else given.minutes,
        "seeds": len(found["hierarchical"]),
        "settings": [*SETTINGS, *given.settings],
        "test_sha256": fingerprint((files["test"],)),
        "target_symbols": tokens.pop(),
        "turns": found["hierarchical"][0]["turns"],
        "systems": {
            system: {
                "settings": list(settings_of(system, widths)),
                "parameters": sizes[system],
                "cpu_seconds_an_update": round(costs[system], 4) if costs else None,
                "steps": steps[system],
                "epochs": round(found[system][0]["epochs"], 2),
                "cpu_minutes": [one["cpu_minutes"] for one in found[system]],
                "perplexity": spread([one["perplexity"] for one in found[system]]),
                "intervals": [one["interval"] for one in found[system]],
                "by_turns_before": {
                    name: spread([one["by_turns_before"][name] for one in found[system]]) for name in BEFORE
                },
            }
            for system in SYSTEMS
        },
        "machine": machine(),
        **provenance(),
        "date": time.strftime("%Y-%m-%d"),
    }
    write_result(given.name, facts)
    for system, told in facts["systems"].items():
        print(f"{system}: perplexity {told['perplexity']['mean']:.2f} ± {told['perplexity']['deviation']:.2f}")


def settings_of(system: str, widths: Mapping[str, int]) -> tuple[str, ...]:
    wide = (f"model.encoder.width={widths[system]}",) if system in widths else ()
    return (*SYSTEMS[system], *wide)


def composed(
    given: argparse.Namespace, files: Mapping[str, str], system: str, widths: Mapping[str, int], **training: int
) -> Composed:
    return compose(
        "hred",
        train=(files["train"],),
        overrides=[*SETTINGS, *settings_of(system, widths), *given.settings],
        settings={f"training.{name}": value for name, value in training.items()},
    )


def alike(given: argparse.Namespace, files: Mapping[str, str]) -> tuple[dict[str, int], dict[str, int]]:
    """The width of each flat encoder that makes its model as large as the hierarchical one, and how large all are."""

    def size(system: str, widths: Mapping[str, int]) -> int:
        settings = composed(given, files, system, widths, steps=1).settings
        assert isinstance(settings.model, EncoderDecoder)
        vocabulary = settings.source.size if hasattr(settings.source, "size") else 4000
        with torch.device("meta"):
            model = build_model(settings.model, vocabulary, vocabulary)
        return sum(parameter.numel() for parameter in model.parameters())

    wanted = size("hierarchical", {})
    flat = [system for system in SYSTEMS if system != "hierarchical"]
    widths = {system: min(range(32, 513, 4), key=lambda w: abs(size(system, {system: w}) - wanted)) for system in flat}
    sizes = {system: size(system, widths) for system in SYSTEMS}
    if any(abs(found - wanted) > ALIKE * wanted for found in sizes.values()):
        raise SystemExit(f"The models are not equally large: {sizes}.")
    return widths, sizes


def measured_costs(
    given: argparse.Namespace, files: Mapping[str, str], widths: Mapping[str, int], folder: Path
) -> dict[str, float]:
    """Seconds of the processor that an update takes: the median of rounds in which all take turns."""
    kept = folder / "costs.json"
    if kept.exists():
        return {system: float(cost) for system, cost in read_record(kept)["costs"].items()}
    rounds: dict[str, list[float]] = {system: [] for system in SYSTEMS}
    for number in range(ROUNDS):
        for system in SYSTEMS:
            run = folder / f"cost-{named(system)}-{number}"
            choices = composed(given, files, system, widths, steps=END, log_every=BEGIN)
            seen: dict[int, float] = {}
            for event in train(choices.settings, run, choices.given, fresh=True):
                if isinstance(event, Stepped):
                    seen[event.step] = time.process_time()
            rounds[system].append((seen[END] - seen[BEGIN]) / (END - BEGIN))
            print(f"{system}: {rounds[system][-1]:.4f} s an update", flush=True)
    costs = {system: statistics.median(each) for system, each in rounds.items()}
    write_record(kept, {"costs": costs, "rounds": rounds})
    return costs


def named(system: str) -> str:
    return system.replace(" ", "-")


def scored(
    given: argparse.Namespace,
    files: Mapping[str, str],
    widths: Mapping[str, int],
    folder: Path,
    system: str,
    seed: int,
    steps: int,
) -> dict[str, Any]:
    """Train and measure, unless that was done."""
    name = f"{named(system)}-{seed}"
    kept, run = folder / f"{name}.json", Run(folder / name)
    if kept.exists():
        return read_record(kept)
    choices = composed(given, files, system, widths, steps=steps, seed=seed)
    spent = folder / f"{name}.spent"
    if not status_of(run).get("finished"):
        before = time.process_time()
        finished = show(train(choices.settings, run.path, choices.given, preparing=preparing), run.path)
        earlier = float(spent.read_text()) if spent.exists() else 0.0
        spent.write_text(str(earlier + time.process_time() - before))
        if finished is None or finished.signal is not None:
            raise SystemExit("Interrupted; the same command goes on.")
    pipeline = Pipeline.load(run.path, "cpu")
    conversations: dict[str, str] = {}
    items, _ = read_items((files["test"],), CONVERSATIONS, conversations)
    pairs = [(source, target) for source, targets in items for target in targets]
    scores = list(pipeline.score(pairs))
    logs, symbols = [one.log_probability for one in scores], [len(one.tokens) for one in scores]
    whole = measure_perplexity(logs, symbols, 1000, conversations=[conversations[source] for source, _ in pairs])
    found = {
        "perplexity": whole.value,
        "interval": [round(whole.low, 2), round(whole.high, 2)],
        "by_turns_before": by_turns_before([len(turns_of(source)) for source, _ in pairs], logs, symbols),
        "turns": len(scores),
        "target_symbols": sum(symbols),
        "tokenizer": pipeline.target.hash,
        "steps": status_of(run)["step"],
        "epochs": status_of(run)["step"] * 64 / read_record(run.data_record)["train"]["counts"]["pairs"],
        "cpu_minutes": round(float(spent.read_text()) / 60, 2),
    }
    write_record(kept, found)
    print(f"{name}: perplexity {found['perplexity']:.2f}", flush=True)
    return found


def by_turns_before(turns: Sequence[int], logs: Sequence[float], symbols: Sequence[int]) -> dict[str, float]:
    """Perplexity of turns with so many before them."""
    found: dict[str, float] = {}
    for name, (least, most) in BEFORE.items():
        places = [number for number, before in enumerate(turns) if least <= before <= most]
        found[name] = perplexity(math.fsum(logs[n] for n in places), sum(symbols[n] for n in places))
    return found


if __name__ == "__main__":
    os.nice(10)
    main()
