"""The training data of a run: its settings, whether its files are still what they were, and the baselines kept from an
earlier time."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from dragoman.baselines.clock import OutOfTimeError, timed, within
from dragoman.baselines.predicted import Baselines, Found, Predicted, Skipped
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
MOST = 100_000  # examples that are read
LETTERS = 2**27  # of all of them together
SECONDS, REPORT_SECONDS = 60.0, 600.0  # that baselines may take beside an evaluation or a comparison, and in a report
Item = TypeVar("Item")
VERSION = 2  # of what is kept
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
class Bounded(Generic[Item]):
    """Examples that baselines may be trained on, evenly spread among all that were read."""

    items: list[Item]
    read: int

    def trained(self, found: Iterable[Predicted | Skipped]) -> Baselines:
        """Baselines of these examples; the titles say so where they were trained on fewer than were read."""
        for one in found:
            if isinstance(one, Predicted):
                used = len(self.items) if one.examples is None else one.examples
                part = f", trained on {used:,} of {self.read:,} examples" if used < self.read else ""
                yield replace(one, title=f"{one.title}{part}", examples=used)
            else:
                yield one


@dataclass(frozen=True)
class Known:
    """The training data of a run, and the hash of what it held."""

    data: AnyData
    settings: Mapping[str, Any]  # all of the run
    sha256: str
    examples: int

    def bounded(
        self, examples: Iterable[Item], size: Callable[[Item], int], most: int = MOST, largest: int = LETTERS
    ) -> Bounded[Item]:
        """All of them, or evenly spread ones, so that a large corpus takes no longer and no more memory. Whenever those
        that are kept are larger than `largest`, every second of them goes."""
        kept: list[Item] = []
        every, total, read = max(1, -(-self.examples // most)), 0, 0
        for read, one in enumerate(timed(examples), start=1):
            if (read - 1) % every == 0:
                kept.append(one)
                total += size(one)
            while total > largest and len(kept) > 1:
                kept, every = kept[::2], 2 * every
                total = sum(map(size, kept))
        if not kept:
            raise DataError("no example of the training data can be read.")
        return Bounded(kept, read)


def training_data(run: Run) -> Known:
    """A sentence in a DataError where files are missing or have changed."""
    table = read_sealed(run.config).table
    data = validate(DATA[table["data"].get("kind", "pairs")], table["data"])
    record = read_record(run.data_record).get("train") or {}
    files, before = data.files("train"), record.get("sha256", "")
    if record.get("quick") != quick_signature(files) and fingerprint(files) != before:
        raise DataError(f"{' and '.join(files)} changed since the run began.")
    return Known(data, table, before, int(record.get("counts", {}).get("pairs", 0)))


Compute = Callable[[Known | None], Iterable[Predicted | Skipped]]  # without training data what needs none


@dataclass(frozen=True)
class Beside:
    """Baselines of one run, each computed once per test and kept in its folder."""

    run: Run | None
    seconds: float = SECONDS  # that computing them may take

    def found(self, test: object, compute: Compute) -> Found:
        """`test` is all that predictions depend on beside the training data, as JSON."""
        known, note = self.known()
        if known is None or self.run is None:
            return self.computed(compute, None, note)
        facts = [VERSION, known.sha256, known.data.model_dump(mode="json"), test]
        key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        path = self.run.baselines / f"{key[:16]}.json"
        return self.kept(path, key) or self.computed(compute, known, "", partial(self.keep, path, key))

    def known(self) -> "tuple[Known | None, str]":
        """The training data, or why there is none."""
        if self.run is None:
            return None, "Skipped baselines from training data: a model folder alone does not name it. Name the run."
        try:
            return training_data(self.run), ""
        except (DragomanError, KeyError) as error:
            return None, f"Skipped baselines from training data, which is missing or has changed: {first_line(error)}"

    def computed(
        self, compute: Compute, known: Known | None, note: str, keep: Callable[[Found], None] = lambda found: None
    ) -> Found:
        """As many as can be computed in time, with sentences of the others; all of them are kept."""
        predicted, notes = [], [note] if note else []
        try:
            with within(self.seconds):
                for one in compute(known):
                    if isinstance(one, Predicted):
                        predicted.append(one)
                    else:
                        notes.append(one.sentence())
            keep(Found(tuple(predicted), " ".join(notes)))
        except DragomanError as error:
            notes.append(f"Skipped the {'other ' if predicted else ''}baselines: {first_line(error)}")
        except OutOfTimeError:
            notes.append(self.late(bool(predicted)))
        return Found(tuple(predicted), " ".join(notes))

    def late(self, others: bool) -> str:
        hint = self.run is not None and self.seconds < REPORT_SECONDS
        more = f" `dragoman report {self.run.path}` gives them more time." if hint and self.run is not None else ""
        which = "other baselines" if others else "baselines"
        return f"Skipped the {which}: they take more than {max(0.0, self.seconds):.0f} s.{more}"

    def kept(self, path: Path, key: str) -> Found | None:
        try:
            record = read_record(path, LARGEST) if path.is_file() else {}
            if record.get("key") == key:
                return Found(tuple(Predicted(**one) for one in record["predicted"]), record["note"])
        except (StorageError, TypeError, KeyError):
            pass  # what is damaged is computed anew
        return None

    def keep(self, path: Path, key: str, found: Found) -> None:
        """A folder that nobody may write into costs the time of the next computation, and nothing else."""
        record = {"key": key, "predicted": [vars(one) for one in found.predicted], "note": found.note}
        try:
            make_folder(path.parent)
            write_record(path, record)
            for old in sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
                old.unlink()
        except (StorageError, OSError):
            return


def first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
