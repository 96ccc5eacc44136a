"""A trained model for other places: each kind has a file, which writes it and proves that it answers alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dragoman.errors import ConfigError, choose

Quantize = Literal["none", "int8"]
QUANTIZE: dict[str, Quantize] = {"none": "none", "int8": "int8"}


@dataclass(frozen=True)
class Wanted:
    """How a model is to be exported."""

    out: Path | None = None  # none: inside the run
    quantize: Quantize = "none"
    on: tuple[str, ...] = ()  # files with lines to check it on; none: the run's own validation data
    lines: int = 200  # of them, at most
    watch: Callable[[str, float], None] = lambda what, share: None  # what is being done, and how much of it is done
    licence: str = ""  # what the card says of it; nothing: not stated


@dataclass(frozen=True)
class Exported:
    """What was written, and what was proved of it."""

    to: str
    out: Path
    megabytes: float
    facts: Mapping[str, Any] = field(default_factory=dict)  # for programs
    sentences: Sequence[str] = ()  # the same for people


def export(run: Path, to: str, wanted: Wanted) -> Exported:
    """Write a run, or a model folder, in another form; nothing is left where the two do not agree."""
    kinds: dict[str, Callable[[Path, Wanted], Exported]] = {
        "ctranslate2": to_ctranslate2,
        "folder": to_folder,
        "onnx": to_onnx,
    }
    chosen = choose("kind of export", to, kinds)
    if wanted.licence and to != "folder":
        raise ConfigError(f"--licence is for the card that --to folder writes; --to {to} writes none. Leave it out.")
    return chosen(run, wanted)


def to_ctranslate2(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import ctranslate2

    return ctranslate2.export(run, wanted)


def to_onnx(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import onnx

    return onnx.export(run, wanted)


def to_folder(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import folder

    return folder.export(run, wanted)


def place_for(run: Path, wanted: Wanted, name: str) -> Path:
    """Where an export goes; what is there and is none is never written over."""
    out = run / "exports" / name if wanted.out is None else wanted.out
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not (out / "export.json").is_file()):
        raise ConfigError(f"{out} is there and is no export of dragoman (it has no export.json). Choose another --out.")
    return out


def size_of(folder: Path) -> float:
    """Megabytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
