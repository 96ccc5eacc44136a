"""Where a model lies, and whether what lies there belongs together."""

from collections.abc import Mapping
from pathlib import Path

from dragoman.data.tokenizers import Tokenizer
from dragoman.errors import ConfigError, StorageError, nearest
from dragoman.runs import FORMAT_VERSION


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


def model_folder(path: Path) -> Path:
    """RUN/model, or the folder itself when it is one."""
    for folder in (path / "model", path):
        if (folder / "config.toml").is_file() and (folder / "model.safetensors").is_file():
            return folder
    if (path / "config.toml").is_file():
        missing = [name for name in ("config.toml", "model.safetensors") if not (path / "model" / name).is_file()]
        raise ConfigError(
            f"{path} holds a run that has no model yet (model/{missing[0]} is missing). Train it until its first "
            "validation, or copy the whole folder again."
        )
    raise ConfigError(f"{path} {no_run(path)}")


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
    return "is no run of dragoman: it has no model/config.toml. `dragoman runs` lists runs."
