"""A trained model for other places: each kind has a file, which writes it and proves that it answers alike."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.errors import ConfigError, StorageError, choose
from dragoman.storage import read_record

if TYPE_CHECKING:
    from dragoman.served import Served

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
    equal: float | None = None  # share of greedy answers that must stay the same; none: see agreement.py


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
    chosen = choose("kind of export", to, KINDS)
    if wanted.licence and to != "folder":
        raise ConfigError(f"--licence is for the card that --to folder writes; --to {to} writes none. Leave it out.")
    if wanted.equal is not None and wanted.quantize == "none":
        raise ConfigError("--equal is for answers that rounding may change: say --quantize int8 too, or leave it out.")
    refuse_pictures(run)
    return chosen(run, wanted)


def refuse_pictures(run: Path) -> None:
    from dragoman.pipeline import model_folder
    from dragoman.pipeline.loading import read_folder

    if read_folder(model_folder(run))[0].work == "captions":
        raise ConfigError(
            "This model describes pictures, which no other form holds yet. It answers by `dragoman predict`; RUN/model "
            "is a folder of its own, which can be copied."
        )


def refuse_ngrams(settings: "Served", what: str) -> None:
    """Other engines have no hash for the n-grams of the last tokens."""
    ngrams = getattr(settings.model, "ngrams", None)
    if ngrams is not None and ngrams.longest > 1:
        raise ConfigError(
            f"{what} has no vectors of n-grams, and this model has (model.ngrams.longest = {ngrams.longest}). Export "
            "it with --to folder, or train with model.ngrams.longest=1."
        )


def to_ctranslate2(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import ctranslate2

    return ctranslate2.export(run, wanted)


def to_onnx(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import onnx

    return onnx.export(run, wanted)


def to_folder(run: Path, wanted: Wanted) -> Exported:
    from dragoman.export import folder

    return folder.export(run, wanted)


KINDS: dict[str, Callable[[Path, Wanted], Exported]] = {
    "ctranslate2": to_ctranslate2,
    "folder": to_folder,
    "onnx": to_onnx,
}


def place_for(run: Path, wanted: Wanted, name: str) -> Path:
    """Where an export goes; what is there and is none, or is what is exported, is never written over."""
    out = run / "exports" / name if wanted.out is None else wanted.out
    if out.resolve() == Path.cwd() or out.name in ("", ".."):
        raise ConfigError(f"--out {out} is a folder that is in use. Name a folder inside it.")
    again = name == "folder" and out.resolve() == run.resolve()  # a folder of ours is replaced by the same
    if (run / "model").resolve().is_relative_to(out.resolve()) and not again:
        raise ConfigError(f"--out {out} holds the model that is to be exported. Choose another --out.")
    if out.is_file() or (out.is_dir() and any(out.iterdir()) and not is_ours(out / "export.json")):
        raise ConfigError(f"{out} is there and is no export of dragoman (by its export.json). Choose another --out.")
    return out


def is_ours(record: Path) -> bool:
    """Whether an export of dragoman says so itself."""
    try:
        return read_record(record).get("to") in KINDS
    except StorageError:
        return False


def size_of(folder: Path) -> float:
    """Megabytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
