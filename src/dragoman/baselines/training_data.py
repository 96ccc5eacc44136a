"""The training data of a run: its settings, whether its files are still what they were, and the baselines kept from an
earlier time."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from dragoman.baselines.clock import OutOfTimeError, timed, within
from dragoman.baselines.predicted import Found, Predicted
from dragoman.config import read_sealed, validate
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.pairs import Conversations, Pairs, fingerprint, quick_signature
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts
from dragoman.errors import DataError, DragomanError, StorageError
from dragoman.runs import Run
from dragoman.storage import make_folder, read_record, write_record

AnyData = Pairs | Labelled | Tagged | Texts | Questions | Captions | Frames | Clips | Futures
DATA: dict[str, type[AnyData]] = {
    "pairs": Pairs,
    "conversations": Conversations,
    "labelled": Labelled,
    "tagged": Tagged,
    "texts": Texts,
    "questions": Questions,
    "captions": Captions,
    "frames": Frames,
    "clips": Clips,
    "tracks": Futures,
}
MOST = 100_000  # examples that are learned from
Item = TypeVar("Item")
VERSION = 1  # of what is kept
KEPT = 8  # results that stay in a run folder
LARGEST = 256_000_000  # bytes of one of them


def run_around(path: Path) -> Run | None:
    """The run that a model belongs to: the folder itself, or the one that it lies in (RUN/model, RUN/averaged)."""
    for folder in (path, path.parent):
        run = Run(folder)
        if run.exists and run.data_record.is_file():
            return run
    return None


@dataclass(frozen=True)
class Known:
    """The training data of a run, and the hash of what it held."""

    data: AnyData
    settings: Mapping[str, Any]  # all of the run
    sha256: str
    examples: int

    def bounded(self, examples: Iterator[Item], most: int = MOST) -> list[Item]:
        """All of them, or evenly spread ones up to a bound, so that a large corpus takes no longer."""
        return list(islice(timed(examples), 0, None, self.every(most)))

    def every(self, most: int = MOST) -> int:
        return max(1, -(-self.examples // most))


def training_data(run: Run) -> Known:
    """A sentence in a DataError where files are missing or have changed."""
    table = read_sealed(run.config).table
    data = validate(DATA[table["data"].get("kind", "pairs")], table["data"])
    record = read_record(run.data_record).get("train") or {}
    files, before = data.files("train"), record.get("sha256", "")
    if record.get("quick") != quick_signature(files) and fingerprint(files) != before:
        raise DataError(f"{' and '.join(files)} changed since the run began.")
    return Known(data, table, before, int(record.get("counts", {}).get("pairs", 0)))


Compute = Callable[[Known | None], list[Predicted]]  # without training data what needs none


@dataclass(frozen=True)
class Beside:
    """Baselines of one run, each computed once per test and kept in its folder."""

    run: Run | None
    seconds: float = math.inf  # that computing them may take

    def found(self, test: object, compute: Compute) -> Found:
        """`test` is all that predictions depend on beside the training data, as JSON."""
        known, note = self.known()
        predicted: list[Predicted] = []
        try:
            predicted = compute(None) if known is None else self.predicted(known, test, compute)
        except DragomanError as error:
            note = f"Skipped the baselines: {first_line(error)}"
        except OutOfTimeError:
            more = "" if self.run is None else f" `dragoman report {self.run.path}` computes them."
            note = f"Skipped the baselines: they take more than {max(0.0, self.seconds):.0f} s.{more}"
        return Found(tuple(predicted), 0 if known is None else known.examples, note)

    def known(self) -> "tuple[Known | None, str]":
        """The training data, or why there is none."""
        if self.run is None:
            return None, "Skipped baselines from training data: a model folder alone does not name it. Name the run."
        try:
            return training_data(self.run), ""
        except (DragomanError, KeyError) as error:
            return None, f"Skipped baselines from training data, which is missing or has changed: {first_line(error)}"

    def predicted(self, known: Known, test: object, compute: Compute) -> list[Predicted]:
        assert self.run is not None  # noqa: S101 (asked before)
        facts = [VERSION, known.sha256, known.data.model_dump(mode="json"), test]
        key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        path = self.run.baselines / f"{key[:16]}.json"
        try:
            record = read_record(path, LARGEST) if path.is_file() else {}
            if record.get("key") == key:
                return [Predicted(**one) for one in record["predicted"]]
        except (StorageError, TypeError, KeyError):
            pass  # what is damaged is computed anew
        with within(self.seconds):
            found = compute(known)
        if known.every() > 1:
            part = f", trained on one in {known.every()} of {known.examples:,} examples"
            found = [replace(one, title=f"{one.title}{part}") for one in found]
        self.keep(path, {"key": key, "predicted": [vars(one) for one in found]})
        return found

    def keep(self, path: Path, record: dict[str, Any]) -> None:
        """A folder that nobody may write into costs the time of the next computation, and nothing else."""
        try:
            make_folder(path.parent)
            write_record(path, record)
            for old in sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
                old.unlink()
        except (StorageError, OSError):
            return


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
