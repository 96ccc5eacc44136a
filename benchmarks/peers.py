"""Training speed beside OpenNMT-py, JoeyNMT and others, in one interleaved run.

Each measurement is a process of its own, and the columns take turns (A B C A B C …). A peer is measured in its own
environment by a column script that times the peer's own trainer from outside; dragoman by the code path of its own
command. `--harness` is the folder of the column scripts (`cols/train_onmt.py`, `cols/train_joey.py`, …), `--lab` that
of the environments (`onmt`, `joey`, …) and of the prepared data (`data/m30k`: pieces between spaces, and `vocab.txt`).

`--columns transformers` is a Transformer of 3 + 3 layers, width 256, feed-forward 1,024 and 4 heads, beside OpenNMT-py,
Eole, Sockeye 3, JoeyNMT, a plain loop around transformers' Marian, and a careful loop in plain torch (own modules,
freed memory kept, fused optimiser, loss in chunks). All have the same data, pieces and vocabulary, one table of
vectors for both sides and the output, batches of 4,096 tokens, Adam, clipping, label smoothing 0.1. What differs:
OpenNMT-py, Eole and JoeyNMT also drop inside the feed-forward layers, JoeyNMT also attention weights; Marian has its
norms behind, the others before; OpenNMT-py and Eole have no biases in attention and feed-forward layers.

Without it the models are recurrent. All columns have the same data, pieces and vocabulary, embeddings of 256, an LSTM
of 256 in each direction, an LSTM of 512, keys and output layer of 512, batches of 4,096 tokens, Adam, clipping at 1,
label smoothing 0.1, and dropout of 0.1 on embeddings and at the readout. Each keeps its own batching: JoeyNMT does not
sort by length. Only real target tokens are counted, their end symbols too. What else differs:

- Both peers attend after the cell's step, whatever the score, and feed W [state; context] into the next one: input
  feeding. OpenNMT-py's additive score projects the source anew at every step; JoeyNMT's does so once, as ours.
- `additive` is Bahdanau's model: attention before the step, and the context itself goes into the cell. The cell is as
  wide as the peers'; the readout has the word besides, and needs no loop.
- `additive-feeding` and `luong-feeding` are the peers' models: like for like.
- `luong` is Luong's without input feeding. It is another model than the one it stands beside: no step waits for the
  attention of the one before.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.experiment import train as train_experiment
from dragoman.recipes import compose
from dragoman.training.events import Prepared, Stepped
from sets import WORK, machine, provenance, write_result
from speed import remove_runs

FED = {"context": ["readout"], "query": "current", "readout": "tanh"}  # attention after the step, as the peers have it
VARIANTS: dict[str, dict[str, Any]] = {
    "additive": {"attention": {"kind": "additive", "width": 512}},
    "additive-feeding": {"attention": {"kind": "additive", "width": 512}, **FED, "input_feeding": True},
    "luong": {"attention": {"kind": "general"}, **FED, "input_feeding": False},
    "luong-feeding": {"attention": {"kind": "general"}, **FED, "input_feeding": True},
    "transformer": {},
}
LAYERS = {"kind": "transformer", "layers": 3, "heads": 4, "feed_forward": 1024, "dropout": 0.1}
PEERS = {
    "opennmt-additive": ("onmt", "train_onmt.py", "--arch", "rnn-bahdanau"),
    "joeynmt-additive": ("joey", "train_joey.py", "--arch", "rnn-bahdanau"),
    "opennmt-luong": ("onmt", "train_onmt.py", "--arch", "rnn-luong"),
    "joeynmt-luong": ("joey", "train_joey.py", "--arch", "rnn-luong"),
    "opennmt-transformer": ("onmt", "train_onmt.py"),
    "eole-transformer": ("eole", "train_eole.py"),
    "sockeye-transformer": ("sockeye", "train_sockeye.py"),
    "joeynmt-transformer": ("joey", "train_joey.py"),
    "marian-transformer": ("hf", "train_hf.py", "--loop", "plain"),
    "plain-transformer": ("hf", "train_plain.py", "--impl", "fast", "--opts", "malloc,fused,chunk"),
}
COLUMNS = ("opennmt-additive", "joeynmt-additive", "dragoman-additive", "opennmt-luong", "dragoman-luong")
TRANSFORMERS = (
    "plain-transformer",
    "dragoman-transformer",
    "marian-transformer",
    "sockeye-transformer",
    "opennmt-transformer",
    "eole-transformer",
    "joeynmt-transformer",
)
GOALS = {  # ratio: (ours, theirs, at least)
    "additive / OpenNMT-py": ("dragoman-additive", "opennmt-additive", 1.3),
    "additive / JoeyNMT": ("dragoman-additive", "joeynmt-additive", 2.5),
    "additive with feeding / OpenNMT-py": ("dragoman-additive-feeding", "opennmt-additive", 1.3),
    "additive with feeding / JoeyNMT": ("dragoman-additive-feeding", "joeynmt-additive", 2.5),
    "Luong without feeding / OpenNMT-py's Luong": ("dragoman-luong", "opennmt-luong", 1.8),
    "Luong with feeding / OpenNMT-py's Luong": ("dragoman-luong-feeding", "opennmt-luong", None),
    "Transformer / plain torch": ("dragoman-transformer", "plain-transformer", 1.0),
    "Transformer / Marian of transformers": ("dragoman-transformer", "marian-transformer", 1.2),
    "Transformer / Sockeye": ("dragoman-transformer", "sockeye-transformer", 1.35),
    "Transformer / OpenNMT-py": ("dragoman-transformer", "opennmt-transformer", 1.5),
    "Transformer / Eole": ("dragoman-transformer", "eole-transformer", 1.5),
    "Transformer / JoeyNMT": ("dragoman-transformer", "joeynmt-transformer", 3.0),
}
SYSTEMS = {
    "opennmt": "OpenNMT-py",
    "joeynmt": "JoeyNMT",
    "dragoman": "dragoman",
    "eole": "Eole",
    "sockeye": "Sockeye",
    "marian": "transformers",
    "plain": "plain torch",
}


def settings_of(variant: str, lab: Path, steps: int, threads: int) -> Experiment:
    """The peers' sizes; validation and checkpoints as seldom as in any training."""
    data, vocabulary = lab / "data" / "m30k", str(WORK / "peers.tokenizer.json")
    model: dict[str, Any] = {
        "source": {"width": 256, "dropout": 0.1},
        "target": {"width": 256, "dropout": 0.1},
        "encoder": {"cell": "lstm", "layers": 1, "width": 256, "directions": "both"},
        "decoder": {"cell": "lstm", "layers": 1, "width": 512, "readout_width": 512, "dropout": 0.1}
        | VARIANTS[variant],
    }
    if variant == "transformer":
        vectors = {"width": 256, "dropout": 0.0, "scaled": True}
        model = {"source": vectors, "target": vectors, "encoder": LAYERS, "decoder": LAYERS}
        model |= {"head": {"bias": False}, "tie": "all"}
    training = {
        "batching": {"tokens": 4096},
        "optimiser": {"kind": "adam", "rate": 1e-3, "betas": [0.9, 0.998]},
        "clip": 1.0,
        "steps": steps,
        "validate_every": 10**6,
        "threads": threads,
    }
    tables = {
        "source": {"kind": "file", "path": vocabulary},
        "target": {"kind": "file", "path": vocabulary},
        "model": model,
        "objective": {"smoothing": 0.1},
        "training": training,
        "evaluation": {"report": 0},
    }
    return compose(train=((str(data / "train.src"), str(data / "train.tgt")),), settings=tables).settings


def write_vocabulary(lab: Path) -> None:
    """The peers' vocabulary as a tokenizer.json, so that all output layers have the same size."""
    listed = (lab / "data" / "m30k" / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n")
    pieces = ["<unk>", *(piece for piece in listed if piece not in ("</s>", "<unk>", "<pad>"))]
    model = {"type": "WordLevel", "vocab": {piece: number for number, piece in enumerate(pieces)}, "unk_token": "<unk>"}
    cut = {"type": "Split", "pattern": {"String": " "}, "behavior": "Removed", "invert": False}
    document = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": cut, "model": model}
    WORK.mkdir(parents=True, exist_ok=True)
    whole = document | {"post_processor": None, "decoder": None, "truncation": None, "padding": None}
    (WORK / "peers.tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False), "utf-8")


def train_dragoman(variant: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """The product as it is, with its data, batches, log and checkpoints; steps are timed after a warm-up."""
    warm_up, steps = arguments.warmup, arguments.warmup + arguments.steps
    settings = settings_of(variant, arguments.lab, steps, arguments.threads)
    run = WORK / f"peers-run-{variant}"
    tokens, parameters, loss = 0, 0, 0.0
    started_at = ended_at = 0.0
    for event in train_experiment(settings, run, fresh=True):
        if isinstance(event, Prepared):
            parameters = event.parameters
        elif isinstance(event, Stepped):
            ended_at, loss = time.perf_counter(), event.loss
            if event.step <= warm_up:
                started_at = ended_at
            else:
                tokens += event.target_tokens
    remove_runs(run)
    seconds = ended_at - started_at
    measured = {"tgt_tok_s": tokens / seconds, "tgt_tokens": tokens, "seconds": seconds, "steps": arguments.steps}
    return measured | {"params": parameters, "loss": loss, "torch": torch.__version__}


def measured(column: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """One measurement in a process of its own; its last result counts."""
    system, _, variant = column.partition("-")
    counts = ["--warmup", str(arguments.warmup), "--steps", str(arguments.steps)]
    if system == "dragoman":
        folders = ["--lab", str(arguments.lab), "--threads", str(arguments.threads)]
        command = [sys.executable, __file__, "--variant", variant, *folders, *counts]
    else:
        environment, script, *options = PEERS[column]
        python = arguments.lab / environment / "bin" / "python"
        command = [str(python), str(arguments.harness / "cols" / script), *options, *counts]
    started_at = time.monotonic()
    found = called(column, command, arguments)[-1]
    return found | {"whole_process_seconds": time.monotonic() - started_at}


def called(
    column: str, command: list[str], arguments: argparse.Namespace, settings: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """The results that a process prints, each in a line that begins with BENCH, with the most memory that it held."""
    threads = str(arguments.threads)
    variables = {"BENCH_LAB": str(arguments.lab), "BENCH_THREADS": threads, "OMP_NUM_THREADS": threads}
    environment = os.environ | variables | (settings or {})
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complaints:
        process = subprocess.Popen(command, stdout=said, stderr=complaints, env=environment)
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_of(process.pid))
            time.sleep(0.1)
        said.seek(0), complaints.seek(0)
        printed, complained = said.read(), complaints.read()
    lines = [line for line in printed.split("\n") if line.startswith("BENCH ")]
    if not lines:
        raise SystemExit(f"{column} gave no result:\n{(complained or printed)[-2000:]}")
    return [json.loads(line.removeprefix("BENCH ")) | {"peak_megabytes": peak} for line in lines]


def peak_of(process: int) -> float:
    """The most memory that a process held so far, in megabytes; what its parent held is not counted."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().split("\n")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmHWM")), 0.0)


def ratios(rounds: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The median of each round's ratio, the ratios themselves, and the goal where there is one."""
    found: dict[str, Any] = {}
    for name, (ours, theirs, goal) in GOALS.items():
        if ours in rounds and theirs in rounds:
            pairs = zip(rounds[ours], rounds[theirs], strict=True)
            each = [one["tgt_tok_s"] / other["tgt_tok_s"] for one, other in pairs]
            found[name] = {"median": statistics.median(each), "rounds": each, "goal": goal}
    return found


def result_of(rounds: dict[str, list[dict[str, Any]]], arguments: argparse.Namespace) -> dict[str, Any]:
    speeds = {column: statistics.median(one["tgt_tok_s"] for one in rows) for column, rows in rounds.items()}
    versions = {
        SYSTEMS[column.partition("-")[0]]: rows[0]["version"] for column, rows in rounds.items() if "version" in rows[0]
    }
    torches = {SYSTEMS[column.partition("-")[0]]: rows[0]["torch"] for column, rows in rounds.items()}
    result = {"kind": "peers", "set": "multi30k-en-de", "tokens_per_second": speeds, "ratios": ratios(rounds)}
    result["peak_megabytes"] = {column: max(one["peak_megabytes"] for one in rows) for column, rows in rounds.items()}
    result |= {"versions": versions, "torch": torches, "steps": arguments.steps, "rounds": rounds}
    return result | {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variant", choices=VARIANTS, help="measure this variant of dragoman alone, in this process")
    parser.add_argument("--harness", type=Path, help="folder of the peers' columns")
    parser.add_argument("--lab", type=Path, required=True, help="folder of the peers' environments and prepared data")
    others_too = f"in this order; also {', '.join(others())}; or transformers, for all of those"
    parser.add_argument("--columns", default=",".join(COLUMNS), help=others_too)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warmup", type=int, default=3, help="steps that are not timed")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--name", help="of the file in results/")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.lab = arguments.lab.resolve()
    write_vocabulary(arguments.lab)
    if arguments.variant:
        print("BENCH " + json.dumps(train_dragoman(arguments.variant, arguments)))
        return
    whole = arguments.columns == "transformers"
    columns = list(TRANSFORMERS) if whole else arguments.columns.split(",")
    name = arguments.name or ("peers-transformer" if whole else "peers-recurrent")
    refuse(columns, arguments)
    rounds: dict[str, list[dict[str, Any]]] = {column: [] for column in columns}
    for number in range(arguments.rounds):
        for column in columns:
            rounds[column].append(found := measured(column, arguments))
            rate, whole = found["tgt_tok_s"], found["whole_process_seconds"]
            print(f"round {number + 1} {column}: {rate:,.0f} tokens/s ({whole:.0f} s)", file=sys.stderr, flush=True)
        write_result(name, result_of({c: rows for c, rows in rounds.items() if rows}, arguments))
    result = result_of(rounds, arguments)
    print(json.dumps({name: result[name] for name in ("tokens_per_second", "ratios")}, indent=2))


def others() -> list[str]:
    return [column for column in (*PEERS, *(f"dragoman-{variant}" for variant in VARIANTS)) if column not in COLUMNS]


def refuse(columns: list[str], arguments: argparse.Namespace) -> None:
    """What cannot be measured is said before the first minute is spent."""
    if strange := set(columns) - {*COLUMNS, *others()}:
        raise SystemExit(
            f"Unknown columns: {', '.join(sorted(strange))}. Known are {', '.join((*COLUMNS, *others()))}."
        )
    for column in columns:
        system, _, variant = column.partition("-")
        if system == "dragoman":
            try:
                settings_of(variant, arguments.lab, arguments.steps, arguments.threads)
            except ConfigError as error:
                raise SystemExit(f"{column}: {error}") from error
        elif arguments.harness is None:
            raise SystemExit(f"{column} needs --harness, the folder of the peers' columns.")
        elif not (arguments.lab / PEERS[column][0] / "bin" / "python").exists():
            raise SystemExit(f"{column} needs the environment '{PEERS[column][0]}' in the folder --lab.")


if __name__ == "__main__":
    main()
