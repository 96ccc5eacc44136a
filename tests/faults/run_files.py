"""One small training that was broken off, its files, and what must come out when it goes on."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from dragoman.pipeline import Pipeline
from dragoman.training.events import Saved
from tiny import Corpus, bits, run_all, run_until, tiny

SOURCES = ["abc", "gfe", "", "dada"]
STEPS = 8
SETTINGS = {"training__steps": STEPS, "training__save_every": 2, "training__validate_every": 4, "training__keep": 2}


@dataclass(frozen=True)
class Broken:
    """A run that was broken off behind step 6 of 8, and what it ends with."""

    folder: Path
    corpus: Corpus
    bits: dict[str, str]
    answers: list[tuple[str, float]]  # of the model that its first validation left

    def copied(self, place: Path) -> Path:
        shutil.copytree(self.folder, place)
        return place


def broken_off(corpus: Corpus, place: Path) -> Broken:
    run_all(tiny(corpus, **SETTINGS), place / "whole")
    run_until(tiny(corpus, **SETTINGS), place / "broken", lambda event: event == Saved(6))
    return Broken(place / "broken", corpus, bits(place / "whole", STEPS), answers(place / "broken"))


def answers(folder: Path) -> list[tuple[str, float]]:
    return [(answer.text, answer.score) for answer in Pipeline.load(folder, "cpu").predict(SOURCES)]


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")


def digest_of(folder: Path) -> str:
    """Of all files and their names: by this nothing was touched."""
    content = b"".join(str(path).encode() + path.read_bytes() for path in files_of(folder))
    return hashlib.sha256(content).hexdigest()
