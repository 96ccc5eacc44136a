"""Where a model lies, and whether what lies there belongs together."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch

from dragoman.config import read_sealed, validate
from dragoman.data.captioning import Captioning
from dragoman.data.labelling import Labelling
from dragoman.data.readers.formats import Wanted
from dragoman.data.scales import Scale
from dragoman.data.tokenizers import Tokenizer
from dragoman.data.tracking import Tracking
from dragoman.errors import ConfigError, StorageError, nearest
from dragoman.frontends import ImageGrid
from dragoman.heads import Pretraining
from dragoman.models import (
    EncoderDecoder,
    EncoderOnly,
    Forecaster,
    Model,
    ModelConfig,
    Sizes,
    build_model,
    text_sides,
)
from dragoman.pipeline.engine import RECORD, as_table
from dragoman.runs import FORMAT_VERSION, read_header, read_metadata
from dragoman.served import Served
from dragoman.storage import read_record
from dragoman.weights import load_weights

MODEL_FILES = ("config.toml", "model.safetensors", "source.json", "target.json")
LABELS = "labels.json"  # of a model that only reads
SCALE = "scale.json"  # of one that reads or writes numbers
TRACKS = "tracks.json"  # of one that goes on with tracks
FURTHER = (LABELS, SCALE, TRACKS)  # beside the others all that is ever read of a folder
CAPTIONS = "captions"  # what the weights know of captions, beside the hashes of tokenizers
COLUMNS = "columns"  # of those of a source, where there are several
CONVERSATIONS = "conversations"  # and of the names of fields in files of conversations, where they were set
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True)
class Unread:
    """A model whose weights were not needed yet."""

    folder: Path
    config: ModelConfig
    source_size: int
    target_size: int
    device: torch.device
    sizes: Sizes | None = None  # of tracks

    def read(self) -> Model:
        weights = self.folder / "model.safetensors"
        if not weights.is_file():
            raise ConfigError(
                f"{self.folder} is a model for CTranslate2, which gives answers and their scores. Alignments, heads, "
                "traces and other searches need torch: name the run that it was exported from."
            )
        with torch.inference_mode(False):  # a search may be the first to need them
            with torch.device("meta"):  # sizes are compared with the file before anything is allocated
                model = build_model(self.config, self.source_size, self.target_size, self.sizes)
            load_weights(model, weights)
            return model.to(self.device).eval()


def read_folder(folder: Path) -> tuple[Served, dict[str, Tokenizer]]:
    """Settings and tokenizers of a model folder, or of an export; those of the sides that are texts."""
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
    found = {side: tokenizer_of(folder, side, metadata) for side in text_sides(settings.model)}
    if "source" in found:
        read = found["source"].of_conversations(settings.conversation)
        found["source"] = read.with_letters(getattr(settings.model, "letters", 0))
    return settings, found


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


def read_scale(folder: Path) -> Scale | None:
    """The scale of numbers that the weights were trained with, which say what it hashes to."""
    known = read_metadata(folder / "model.safetensors").get(SCALE)
    if known is None:
        return None
    path = folder / SCALE
    scale = Scale.load(path)
    if scale.hash != known:
        raise StorageError(
            f"{path} is damaged, or is not the scale of numbers that model.safetensors was trained with. Copy the "
            "whole model folder again."
        )
    return scale


def read_captioning(folder: Path, model: ModelConfig) -> Captioning | None:
    """What the weights of a model that describes pictures know of the captions that they were trained with."""
    if not isinstance(model, EncoderDecoder) or not isinstance(model.source, ImageGrid):
        return None
    return Captioning.from_json(read_metadata(folder / "model.safetensors").get(CAPTIONS, ""))


def read_wanted(folder: Path) -> Wanted:
    """How files of conversations, or of several source columns, are read, as the run's own were; an export has none."""
    weights = folder / "model.safetensors"
    known = read_metadata(weights) if weights.is_file() else {}
    return Wanted.from_json(known.get(COLUMNS) or known.get(CONVERSATIONS, ""))


def read_tracking(folder: Path, model: ModelConfig) -> Tracking | None:
    """What a model of tracks was told of them; the weights say what it hashes to."""
    if not isinstance(model, Forecaster):
        return None
    path = folder / TRACKS
    tracking = Tracking.load(path)
    if tracking.hash != read_metadata(folder / "model.safetensors").get(TRACKS, tracking.hash):
        raise StorageError(
            f"{path} is damaged, or is not what model.safetensors was trained with. Copy the whole model folder again."
        )
    return tracking


def sizes_of(tracking: Tracking) -> Sizes:
    """Numbers a step, for a model of tracks to be built."""
    neighbour = tracking.neighbours_width if tracking.neighbours else 0
    return Sizes(tracking.source_width, len(tracking.predicts), len(tracking.context), neighbour)


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
    places = [(folder, path), *((folder / name, folder) for name in (*MODEL_FILES, *FURTHER))]
    for place, around in places:
        real, inside = Path(os.path.realpath(place)), Path(os.path.realpath(around))
        if not real.is_relative_to(inside):
            raise ConfigError(
                f"{place} is a link that leads out of {around}, and what a model folder does not hold itself is never "
                "read. Put what it leads to in its place, or name the folder that holds the files."
            )
    for name in (*MODEL_FILES, *FURTHER):
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
