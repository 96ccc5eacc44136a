"""What each trick of training a Transformer is worth: the same training with it and without it.

The model, data and batches are those of `peers.py` (3 + 3 layers of 256, 4,096 tokens a batch). What can be changed
within a process changes at every step, with, without, with …; what belongs to a process (allocator, pages, threads,
compilation) is measured by processes that take turns. Target tokens a second, and the ratio with / without.

Padding-free batches are not part of dragoman:
they are measured in the careful plain loop of the harness, whose linear layers then see real tokens only.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import dragoman.experiment.training as training_module
import dragoman.nn.softmax as softmax_module
import dragoman.objectives.cross_entropy as objective_module
from dragoman.contracts import Batch, Output
from dragoman.experiment import train as train_experiment
from dragoman.nn import dot_product
from dragoman.nn.dropout import Dropout
from dragoman.nn.transformer import SelfAttention
from dragoman.training import fit as fit_module
from dragoman.training.events import Stepped
from peers import settings_of, write_vocabulary
from sets import WORK, machine, provenance, write_result
from speed import remove_runs

WARM_UP = 4
Switch = Callable[[bool], None]


def plain_products(on: bool, short: int = dot_product.SHORT) -> None:
    dot_product.SHORT = short if on else 0


def cheap_dice(on: bool, forward: Any = Dropout.forward, added: Any = Dropout.added) -> None:
    """Without: torch's own dropout."""
    Dropout.forward = forward if on else lambda self, x: F.dropout(x, self.p, self.training)  # type: ignore[method-assign]
    Dropout.added = added if on else lambda self, x, more: x + F.dropout(more, self.p, self.training)  # type: ignore[method-assign]


def chunked_loss(on: bool, largest: int = softmax_module.LARGEST_CHUNK) -> None:
    softmax_module.LARGEST_CHUNK = largest if on else 2**40


def real_tokens_only(on: bool, ours: Any = objective_module.real_tokens) -> None:
    """Without: all positions reach the output layer. What padding adds to the loss is wrong, and takes as long."""

    def every(output: Output, batch: Batch) -> tuple[Tensor, Tensor]:
        return output.hidden.flatten(0, 1), batch.truth().outputs.values.flatten()

    objective_module.real_tokens = ours if on else every


def one_matrix(on: bool, ours: Any = SelfAttention.project) -> None:
    """Without: queries, keys and values by three products, which are then joined: a copy more."""

    def apart(self: SelfAttention, vectors: Tensor, positions: Any, first: int) -> Tensor:
        layers = zip(self.of_all.weight.chunk(3), self.of_all.bias.chunk(3), strict=True)
        found = [self.apart(F.linear(vectors, weight, bias), 1)[:, :, 0] for weight, bias in layers]
        return torch.stack(found, 2)

    SelfAttention.project = ours if on else apart  # type: ignore[method-assign]


def fused_optimiser(on: bool) -> None:
    for group in OPTIMISERS[-1].param_groups:
        group["fused"], group["foreach"] = (True, False) if on else (False, True)


OPTIMISERS: list[torch.optim.Optimizer] = []
WITHIN: dict[str, Switch] = {
    "attention by plain products": plain_products,
    "dropout by cheap dice": cheap_dice,
    "loss in chunks": chunked_loss,
    "loss on real tokens only": real_tokens_only,
    "one matrix for query, key and value": one_matrix,
    "fused optimiser": fused_optimiser,
}
PROCESSES = ("freed memory kept", "large pages", "two threads", "torch.compile")
PADDING_FREE = "padding-free batches (plain loop)"


def watch_optimiser() -> None:
    build = fit_module.build_optimiser

    def building(*given: Any, **named: Any) -> torch.optim.Optimizer:
        OPTIMISERS.append(build(*given, **named))
        return OPTIMISERS[-1]

    fit_module.build_optimiser = building  # type: ignore[attr-defined]


def steps_of(arguments: argparse.Namespace, threads: int = 2, compiled: bool = False) -> Iterator[Stepped]:
    run = WORK / "tricks-run"
    settings = settings_of("transformer", arguments.lab, WARM_UP + arguments.steps, threads)
    settings = settings.changed(training=settings.training.changed(compile=compiled))
    for event in train_experiment(settings, run, fresh=True):
        if isinstance(event, Stepped):
            yield event
    remove_runs(run)


def within(switch: Switch, arguments: argparse.Namespace) -> dict[str, float]:
    """Both ways in one training, turn by turn; batches are of one size but for a few per cent."""
    tokens, seconds = {True: 0, False: 0}, {True: 0.0, False: 0.0}
    on, began = True, 0.0
    for event in steps_of(arguments):
        if event.step > WARM_UP:
            tokens[on] += event.target_tokens
            seconds[on] += time.perf_counter() - began
        on = not on
        switch(on)
        began = time.perf_counter()
    switch(True)
    return {"with": tokens[True] / seconds[True], "without": tokens[False] / seconds[False]}


def alone(trick: str, on: bool, arguments: argparse.Namespace) -> float:
    """Tokens a second in this process; large pages come from its environment."""
    if trick == "freed memory kept" and not on:
        training_module.keep_freed_memory = lambda: False  # type: ignore[attr-defined]
    speeds, began = [], 0.0
    threads = 1 if trick == "two threads" and not on else 2
    for event in steps_of(arguments, threads, compiled=trick == "torch.compile" and on):
        if event.step > WARM_UP:
            speeds.append(event.target_tokens / (time.perf_counter() - began))
        began = time.perf_counter()
    return statistics.median(speeds)  # a step that compiles is none


def by_processes(trick: str, arguments: argparse.Namespace) -> dict[str, float]:
    found: dict[str, list[float]] = {"with": [], "without": []}
    for turn in range(arguments.rounds):
        for how in ("with", "without") if turn % 2 else ("without", "with"):
            found[how].append(process(trick, how, arguments))
    return {how: statistics.median(speeds) for how, speeds in found.items()}


def process(trick: str, how: str, arguments: argparse.Namespace) -> float:
    variables = {"BENCH_LAB": str(arguments.lab), "BENCH_THREADS": "2", "OMP_NUM_THREADS": "2"}
    if trick == "large pages" and how == "with":
        variables["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    if trick == PADDING_FREE:
        options = "malloc,fused,chunk" + ",packed" * (how == "with")
        python, script = arguments.lab / "hf" / "bin" / "python", arguments.harness / "cols" / "train_plain.py"
        command = [str(python), str(script), "--impl", "fast", "--opts", options, "--steps", str(arguments.steps)]
    else:
        command = [sys.executable, __file__, "--lab", str(arguments.lab), "--alone", trick, "--how", how]
        command += ["--steps", str(arguments.steps)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | variables)
    lines = [line for line in ended.stdout.split("\n") if line.startswith("BENCH ")]
    if not lines:
        raise SystemExit(f"{trick} gave no result:\n{(ended.stderr or ended.stdout)[-2000:]}")
    return float(json.loads(lines[-1].removeprefix("BENCH "))["tgt_tok_s"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lab", type=Path, required=True, help="folder of the prepared data (see peers.py)")
    parser.add_argument("--harness", type=Path, help="folder of the plain loop, for padding-free batches")
    parser.add_argument("--only", default="", help="a part of a trick's name")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2, help="of processes")
    parser.add_argument("--alone", choices=PROCESSES, help=argparse.SUPPRESS)
    parser.add_argument("--how", choices=("with", "without"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.lab = arguments.lab.resolve()
    torch.set_num_threads(2)
    write_vocabulary(arguments.lab)
    if arguments.alone:
        print("BENCH " + json.dumps({"tgt_tok_s": alone(arguments.alone, arguments.how == "with", arguments)}))
        return
    watch_optimiser()
    rows: dict[str, dict[str, float]] = {}
    for name in (*WITHIN, *PROCESSES, *([PADDING_FREE] if arguments.harness else [])):
        if arguments.only in name:
            found = within(WITHIN[name], arguments) if name in WITHIN else by_processes(name, arguments)
            rows[name] = found | {"ratio": found["with"] / found["without"]}
            print(
                f"{name}: {found['with']:,.0f} with, {found['without']:,.0f} without: {rows[name]['ratio']:.2f}",
                flush=True,
            )
            result = {"kind": "tricks", "set": "multi30k-en-de", "tokens_per_second": rows, "steps": arguments.steps}
            write_result("tricks", result | {"machine": machine(), **provenance(), "date": time.strftime("%Y-%m-%d")})


if __name__ == "__main__":
    main()
