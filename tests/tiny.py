"""Trainings of a model with 20,000 weights, and what they leave on disk."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.experiment import Experiment, train
from dragoman.recipes import compose
from dragoman.training.events import Event
from dragoman.weights import read_tensors

# 600 pairs in batches of 50: an epoch has exactly 12.
TINY = {
    "training.threads": 1,
    "training.device": "cpu",
    "training.batching.sentences": 50,
    "training.schedule.kind": "constant",
    "training.steps": 20,
    "training.save_every": 5,
    "training.validate_every": 10,
    "training.log_every": 2,
    "training.keep": 3,
    "evaluation.report": 0,
    "model.decoder.dropout": 0.2,
}
# Beside TINY, a Transformer with everything that drops.
LAYERS = {"kind": "transformer", "heads": 2, "layers": 1, "feed_forward": 24, "dropout": 0.2, "attention_dropout": 0.1}
TRANSFORMER = {
    **{f"model__{part}__{name}": value for part in ("encoder", "decoder") for name, value in LAYERS.items()},
    "model__tie": "target",
    "model__target__scaled": True,
}
CLOCK = ("seconds", "tokens_per_second", "spent", "validation_seconds")


@dataclass(frozen=True)
class Corpus:
    """Files of pairs."""

    train: Path
    valid: Path


def tiny(corpus: Corpus, valid: bool = True, recipe: str = "g2p", **settings: Any) -> Experiment:
    """training__steps=10 is the setting training.steps."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    files = (str(corpus.valid),) if valid else ()
    return compose(recipe, "tiny", (str(corpus.train),), files, settings=TINY | own).settings


def words(corpus: Corpus, out: Path, **settings: Any) -> list[str]:
    """The same as a command."""
    own = {name.replace("__", "."): value for name, value in settings.items()}
    pairs = [f"{name}={value}" for name, value in (TINY | own).items()]
    return [
        "train",
        "g2p",
        str(corpus.train),
        "--valid",
        str(corpus.valid),
        "--scale",
        "tiny",
        "--out",
        str(out),
        *pairs,
    ]


def run_until(settings: Experiment, out: Path, stop: Callable[[Event], bool]) -> list[Event]:
    """Train, and break off right after an event, as a crash would."""
    events = []
    training = train(settings, out)
    for event in training:
        events.append(event)
        if stop(event):
            break
    training.close()
    return events


def run_all(settings: Experiment, out: Path, **options: Any) -> list[Event]:
    return list(train(settings, out, **options))


def bits(out: Path, step: int) -> dict[str, str]:
    """A hash of every tensor of a checkpoint, the optimiser's too."""
    folder = out / "checkpoints" / f"step-{step}"
    return {
        f"{kind}.{name}": hashlib.sha256(tensor.numpy().tobytes()).hexdigest()
        for kind in ("model", "optimiser")
        for name, tensor in sorted(read_tensors(folder / f"{kind}.safetensors").items())
    }


def metrics(out: Path) -> list[dict[str, Any]]:
    """The log without what the clock says."""
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{name: value for name, value in record.items() if name not in CLOCK} for record in records]


def state(out: Path, step: int) -> dict[str, Any]:
    record = json.loads((out / "checkpoints" / f"step-{step}" / "state.json").read_text())
    return {name: value for name, value in record.items() if name not in CLOCK}


def of_kind(events: list[Event], kind: type[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]
