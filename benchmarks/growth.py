"""Time of a Transformer against the length of its sentences and the size of its batches, drawn.

The model is that of `peers.py` (3 + 3 layers of 256, 8,000 symbols) with random weights; sentences are random symbols,
all of a batch as long, sources as targets. A point is the median of several runs in one process; what is drawn should
be level, or rise as the arithmetic says: a symbol costs more in a long sentence only by what it attends to.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from dragoman.contracts import Batch, Request
from dragoman.data.collate import collate_pairs, collate_sources
from dragoman.devices import keep_freed_memory
from dragoman.models import build_model
from dragoman.models.encoder_decoder import EncoderDecoder, EncoderDecoderModel
from dragoman.objectives import build_objective
from dragoman.objectives.cross_entropy import CrossEntropy
from dragoman.regimes import Teacher, build_regime
from dragoman.search import Beam, search
from dragoman.training.learner import Learner
from peers import LAYERS
from sets import HERE, machine, provenance, write_result

SYMBOLS, START, END = 8001, 2, 3
LENGTHS = (8, 16, 32, 64, 128, 256)
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
TOKENS = (256, 512, 1024, 2048, 4096, 8192)
ANSWER = 16  # symbols of every answer


def model_of() -> EncoderDecoderModel:
    torch.manual_seed(1)
    vectors = {"width": 256, "dropout": 0.0, "scaled": True}
    parts = {"source": vectors, "target": vectors, "encoder": LAYERS, "decoder": LAYERS, "tie": "all"}
    return build_model(EncoderDecoder.model_validate(parts), SYMBOLS, SYMBOLS)


def rows(number: int, length: int) -> list[list[int]]:
    return torch.randint(4, SYMBOLS, (number, length)).tolist()


def batch_of(number: int, length: int) -> Batch:
    return collate_pairs(rows(number, length), rows(number, length))


def timed(work: Callable[[], Any], times: int) -> float:
    work()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def training(learner: Learner, number: int, length: int) -> float:
    """Milliseconds a thousand target symbols, END counted."""
    batch = batch_of(number, length)

    def step() -> None:
        learner.zero_grad(set_to_none=True)
        torch.stack([loss.total for loss in learner(batch, 1).values()]).sum().backward()

    return 1e6 * timed(step, 3) / (number * (length + 1))


@torch.inference_mode()
def decoding(model: EncoderDecoderModel, number: int, length: int, width: int) -> float:
    """Milliseconds a sentence, with answers of one length."""
    batch = collate_sources(rows(number, length))
    limits = torch.full((number,), ANSWER)
    request = Request(torch.full((number,), START), END, limits, forbidden=(0, START), min_length=limits)
    return 1e3 * timed(lambda: search(Beam(width=width), model.step, model.begin(batch), request, 1), 5) / number


def measure() -> dict[str, dict[str, dict[int, float]]]:
    model = model_of()
    learner = Learner(model.train(), build_regime(Teacher()), build_objective(CrossEntropy()))
    found: dict[str, dict[str, dict[int, float]]] = {
        "training by length": {"2,048 tokens": {one: training(learner, 2048 // one, one) for one in LENGTHS}},
        "training by batch": {"length 16": {one: training(learner, one // 16, 16) for one in TOKENS}},
    }
    model.eval()
    found["decoding by length"] = {
        f"beam {width}, batch {number}": {one: decoding(model, number, one, width) for one in LENGTHS}
        for width in (1, 5)
        for number in (1, 16)
    }
    found["decoding by batch"] = {
        f"beam {width}": {one: decoding(model, one, 16, width) for one in BATCHES} for width in (1, 5)
    }
    return found


AXES = {
    "training by length": ("symbols of a sentence", "ms a thousand target symbols"),
    "training by batch": ("tokens of a batch", "ms a thousand target symbols"),
    "decoding by length": ("symbols of the source", f"ms a sentence ({ANSWER} symbols of answer)"),
    "decoding by batch": ("sentences of a batch", "ms a sentence"),
}


def draw(found: dict[str, dict[str, dict[int, float]]], path: Path) -> None:
    from matplotlib.figure import Figure
    from matplotlib.ticker import ScalarFormatter

    figure = Figure(figsize=(10, 7), layout="constrained")
    for axes, (name, lines) in zip(figure.subplots(2, 2).flat, found.items(), strict=True):
        for label, points in lines.items():
            axes.plot(list(points), list(points.values()), marker="o", label=label)
        axes.set_title(name)
        axes.set_xlabel(AXES[name][0])
        axes.set_ylabel(AXES[name][1])
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.set_xticks(list(next(iter(lines.values()))))
        if name == "decoding by batch":
            axes.set_yscale("log", base=2)
            axes.yaxis.set_major_formatter(ScalarFormatter())
        if axes.get_yscale() == "linear":
            axes.set_ylim(0, 1.5 * axes.get_ylim()[1])  # room for the legend
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    keep_freed_memory()
    found = measure()
    result = {"kind": "growth", "milliseconds": found, "machine": machine(), **provenance()}
    write_result("growth", result | {"date": time.strftime("%Y-%m-%d")})
    draw(found, HERE.parent / "docs" / "pictures" / "growth.svg")
    for name, lines in found.items():
        for label, points in lines.items():
            shown = ", ".join(f"{one}: {value:.1f}" for one, value in points.items())
            print(f"{name}, {label}: {shown}")


if __name__ == "__main__":
    main()
