"""Where a model lies, and whether what lies there belongs together."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.config import read_sealed, validate
from dragoman.data.labelling import Labelling
from dragoman.data.tokenizers import Tokenizer
from dragoman.errors import ConfigError, StorageError, nearest
from dragoman.heads import Pretraining
from dragoman.models import EncoderOnly, Model, ModelConfig, build_model
from dragoman.pipeline.engine import RECORD, as_table
from dragoman.runs import FORMAT_VERSION, read_header, read_metadata
from dragoman.served import Served
from dragoman.storage import read_record
from dragoman.weights import load_weights

MODEL_FILES = ("config.toml", "model.safetensors", "source.json", "target.json")
LABELS = "labels.json"  # of a model that only reads; beside the others all that is ever read of a folder
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class Unread:
    """A model whose weights were not needed yet."""

    folder: Path
    config: ModelConfig
    source_size: int
    target_size: int
    device: torch.device

    def read(self) -> Model:
        weights = self.folder / "model.safetensors"
        if not weights.is_file():
            raise ConfigError(
                f"{self.folder} is a model for CTranslate2, which gives answers and their scores. Alignments, heads, "
                "traces and other searches need torch: name the run that it was exported from."
            )
        with torch.inference_mode(False):  # a search may be the first to need them
            with torch.device("meta"):  # sizes are compared with the file before anything is allocated
                model = build_model(self.config, self.source_size, self.target_size)
            load_weights(model, weights)
            return model.to(self.device).eval()


def read_folder(folder: Path) -> tuple[Served, Tokenizer, Tokenizer]:
    """Settings and tokenizers of a model folder, or of an export."""
    document = read_sealed(folder / "config.toml")
    settings = validate(Served, document.table, document)
    weights, record = folder / "model.safetensors", folder / RECORD
    if weights.exists() or not record.is_file():
        metadata = read_metadata(weights)
    else:
        metadata = as_table(folder, read_record(record), "tokenizers")
    refuse_newer(folder, metadata)
    if weights.exists():
        refuse_layers(folder, settings.model)
    source, target = (tokenizer_of(folder, side, metadata) for side in ("source", "target"))
    return settings, source, target


def refuse_newer(folder: Path, metadata: Mapping[str, str]) -> None:
    found = metadata.get("format_version", str(FORMAT_VERSION))
    if found != str(FORMAT_VERSION):
        raise StorageError(
            f"{folder} has format {found}, and this version of dragoman reads {FORMAT_VERSION}. "
            "Use the version of dragoman that trained it, or a newer one."
        )


def tokenizer_of(folder: Path, side: str, metadata: Mapping[str, str]) -> Tokenizer:
    """The tokenizer that the weights were trained with, which say what it hashes to."""
    path = folder / f"{side}.json"
    tokenizer = Tokenizer.load(path)
    if tokenizer.hash != metadata.get(f"{side}.json", tokenizer.hash):
        raise StorageError(
            f"{path} is damaged, or is not the tokenizer that model.safetensors was trained with. "
            "Copy the whole model folder again."
        )
    return tokenizer


def read_labels(folder: Path, model: ModelConfig) -> Labelling | None:
    """The labels that the weights of a model that only reads were trained with, which say what they hash to."""
    if not isinstance(model, EncoderOnly) or isinstance(model.head, Pretraining):
        return None
    path = folder / LABELS
    labels = Labelling.load(path)
    if labels.hash != read_metadata(folder / "model.safetensors").get(LABELS, labels.hash):
        raise StorageError(
            f"{path} is damaged, or has not the labels that model.safetensors was trained with. Copy the whole model "
            "folder again."
        )
    return labels


def model_folder(path: Path) -> Path:
    """RUN/model, or the folder itself when it is one."""
    for folder in (path / "model", path):
        if holds(folder, "config.toml") and holds(folder, "model.safetensors"):
            refuse_strange(path, folder)
            return folder
    if (path / "config.toml").is_file():
        missing = [name for name in ("config.toml", "model.safetensors") if not (path / "model" / name).is_file()]
        raise ConfigError(
            f"{path} holds a run that has no model yet (model/{missing[0]} is missing). Train it until its first "
            "validation, or copy the whole folder again."
        )
    raise ConfigError(f"{path} {no_run(path)}")


def export_folder(path: Path) -> Path:
    """A folder for another engine, as safe to read as one of ours."""
    refuse_strange(path, path)
    return path


def holds(folder: Path, name: str) -> bool:
    """Whether there is anything of that name."""
    try:
        return (folder / name).exists()
    except OSError as error:  # the folder may not be entered
        raise StorageError(f"Cannot read {folder}: {error.strerror}.") from error


def refuse_strange(path: Path, folder: Path) -> None:
    """The path that was given may lead over links; below it, no link leads to what else is on the machine."""
    places = [(folder, path), *((folder / name, folder) for name in (*MODEL_FILES, LABELS))]
    for place, around in places:
        real, inside = Path(os.path.realpath(place)), Path(os.path.realpath(around))
        if not real.is_relative_to(inside):
            raise ConfigError(
                f"{place} is a link that leads out of {around}, and what a model folder does not hold itself is never "
                "read. Put what it leads to in its place, or name the folder that holds the files."
            )
    for name in (*MODEL_FILES, LABELS):
        if holds(folder, name) and not (folder / name).is_file():
            raise StorageError(
                f"{folder / name} is no plain file but a folder, a pipe or a device. Copy the whole model folder again."
            )


def refuse_layers(folder: Path, model: ModelConfig) -> None:
    """A layer has a tensor at least: a config that asks for more layers than that is refused before they are made."""
    path = folder / "model.safetensors"
    tensors = read_header(path).count(b'"data_offsets"')
    for part in (part for part in ("encoder", "decoder") if hasattr(model, part)):
        layers = getattr(model, part).layers
        if layers > tensors:
            raise StorageError(
                f"{path} does not fit its config: model.{part}.layers = {layers:,}, and it holds {tensors:,} tensors "
                "in all. Copy the whole model folder again."
            )


def no_run(path: Path) -> str:
    """Why a path is no run, and what to give instead."""
    if not path.exists():
        folders = [entry.name for entry in path.parent.iterdir() if entry.is_dir()] if path.parent.is_dir() else []
        return (
            f"is no run of dragoman: there is no such folder.{nearest(path.name, folders)} `dragoman runs` lists runs."
        )
    if path.is_file():
        return "is no run of dragoman but a file. Name the run folder first, which `dragoman train` made, then files."
    inside = sorted(entry.name for entry in path.iterdir() if (entry / "model" / "config.toml").is_file())
    if inside:
        return f"is no run of dragoman but a folder of runs. Name one of them: {', '.join(inside[:5])}."
    if pickled := sorted(entry.name for entry in path.iterdir() if entry.suffix in PICKLED):
        return f"is no run of dragoman. It holds {pickled[0]}, and pickled weights are never loaded: they may run code."
    return "is no run of dragoman: it has no model/config.toml. `dragoman runs` lists runs."
