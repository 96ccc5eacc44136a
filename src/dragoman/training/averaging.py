"""Means of weights: a moving one during training, and a uniform one over checkpoints."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from dragoman.data.order import Batching
from dragoman.data.store import Store
from dragoman.errors import ConfigError, StorageError
from dragoman.evaluation.validation import validation_loss
from dragoman.pipeline import Pipeline, model_folder
from dragoman.pipeline.loading import CAPTIONS, COLUMNS, CONVERSATIONS
from dragoman.runs import Run, read_metadata
from dragoman.storage import read_json, write_atomically
from dragoman.training.checkpoints import find_damage, steps_in
from dragoman.weights import first_mismatch, read_tensors, weight_bytes

PREFIX = "average."  # of the moving average among the tensors of a checkpoint


class MovingAverage:
    """mean ← d mean + (1 − d) weights, with d = min(decay, (1 + n) / (10 + n)) at the n-th update, so that the initial
    weights are forgotten soon (Polyak & Juditsky 1992; the warm-up is TensorFlow's)."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, _ in model.named_parameters()]
        self.weights = list(model.parameters())
        self.means = [weight.detach().clone() for weight in self.weights]

    def update(self, number: int) -> None:
        """Take the weights in, after `number` updates before this one."""
        decay = min(self.decay, (1 + number) / (10 + number))
        torch._foreach_lerp_(self.means, [weight.detach() for weight in self.weights], 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model has the mean for its weights within; tensors change hands, and nothing is copied."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def swap(self) -> None:
        for number, weight in enumerate(self.weights):
            weight.data, self.means[number] = self.means[number], weight.data

    def tensors(self) -> dict[str, Tensor]:
        return {PREFIX + name: mean for name, mean in zip(self.names, self.means, strict=True)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        for name, mean in zip(self.names, self.means, strict=True):
            mean.copy_(tensors[PREFIX + name].detach())


def mean_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The uniform mean of the weights of checkpoints, summed in double precision, one of them in memory at a time."""
    total: dict[str, Tensor] = {}
    kinds: dict[str, torch.dtype] = {}
    for folder in folders:
        if damage := find_damage(folder):
            raise StorageError(f"{folder} cannot be averaged: {damage}. Leave it out with --steps.")
        weights = read_tensors(folder / "model.safetensors")
        if not total:
            total = {name: torch.zeros_like(weight, dtype=torch.float64) for name, weight in weights.items()}
            kinds = {name: weight.dtype for name, weight in weights.items()}
        found, wanted = ({name: tuple(tensor.shape) for name, tensor in some.items()} for some in (weights, total))
        if found != wanted:
            raise StorageError(
                f"{folder} cannot be averaged with {folders[0]}: {first_mismatch(found, wanted)}. "
                "Only checkpoints of one model have a mean."
            )
        for name, weight in weights.items():
            total[name] += weight
    return {name: (tensor / len(folders)).to(kinds[name]) for name, tensor in total.items()}


@dataclass(frozen=True)
class Averaged:
    """A model made of checkpoints, and how it compares; losses are on the run's validation data, if it has any."""

    steps: tuple[int, ...]
    out: Path
    best_loss: float | None  # of RUN/model
    loss: float | None


def average_run(path: Path, last: int | None = None, steps: Sequence[int] = (), out: Path | None = None) -> Averaged:
    """Average checkpoints of a run into a model folder, and measure it against the run's best model."""
    run = Run(path)
    if not run.exists or not run.checkpoints.is_dir():
        raise ConfigError(f"{path} is no run with checkpoints. `dragoman runs` lists runs.")
    model_folder(path)  # what is not in the weights is copied from there
    chosen = chosen_steps(run, last, steps)
    folder = path / "averaged" if out is None else out
    refuse_others(folder, run)
    weights = mean_weights([run.checkpoints / f"step-{step}" for step in chosen])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(run.model.iterdir()):
            if file.is_file() and file.suffix in (".toml", ".json") and not file.name.startswith("."):
                write_atomically(folder / file.name, file.read_bytes())
    except OSError as error:
        raise StorageError(f"Cannot write {folder}: {error.strerror}.") from error
    best = read_metadata(run.model / "model.safetensors")
    told = ("format_version", CAPTIONS, COLUMNS, CONVERSATIONS)  # what weights know beside the hashes of files
    kept = {name: value for name, value in best.items() if name in told or name.endswith(".json")}
    metadata = {**kept, "step": str(max(chosen)), "averaged": ",".join(map(str, chosen))}
    write_atomically(folder / "model.safetensors", weight_bytes(weights, metadata))
    return Averaged(tuple(chosen), folder, measured_loss(run, run.model), measured_loss(run, folder))


def chosen_steps(run: Run, last: int | None, steps: Sequence[int]) -> list[int]:
    """The checkpoints that are asked for, oldest first; without a wish, all but the one before the first update."""
    there = sorted(step for step in steps_in(run.checkpoints) if step > 0)
    listed = f"{run.path} keeps {len(there)} (steps {', '.join(map(str, there)) or 'none'})"
    more = "Train with a larger training.keep, and a smaller training.save_every, to have more of them."
    if steps:
        if missing := [step for step in steps if step not in there]:
            raise ConfigError(f"There is no checkpoint of step {', '.join(map(str, missing))}: {listed}. {more}")
        return sorted(set(steps))
    if last is not None and last < 1:
        raise ConfigError(f"--last must be at least 1, not {last}.")
    if len(there) < (2 if last is None else last):
        raise ConfigError(f"A mean of {last or 'two or more'} checkpoints needs that many: {listed}. {more}")
    return there if last is None else there[-last:]


def refuse_others(folder: Path, run: Run) -> None:
    """A mean overwrites an earlier mean, and nothing else."""
    weights = folder / "model.safetensors"
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() and not (weights.is_file() and "averaged" in read_metadata(weights)):
        kind = "the best model of the run" if folder.resolve() == run.model.resolve() else "something else"
        raise ConfigError(f"{folder} holds {kind}, which is not overwritten. Choose another --out.")


def measured_loss(run: Run, folder: Path) -> float | None:
    """Validation loss of a model folder, on the validation data as the run has encoded it."""
    valid = run.stores / "valid"
    facts = read_json(valid / "store.json") if (valid / "store.json").is_file() else {}
    store = Store.open(valid, str(facts.get("signature", "")))
    if store is None:
        return None
    values = validation_loss(Pipeline.load(folder), store, Batching(), lambda: False)
    return None if values is None else values["loss"]
