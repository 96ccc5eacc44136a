"""What every kind of data has in common when it is made ready: its hashes, the tokenizers and facts that it taught, and
splits that are encoded once and found again."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from dragoman.data.captioning import Captioning
from dragoman.data.encoding import Counts
from dragoman.data.labelling import Labelling
from dragoman.data.readers.captions import Captions
from dragoman.data.readers.clips import Clips
from dragoman.data.readers.formats import Wanted
from dragoman.data.readers.frames import Frames
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.labelled import Labelled
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import SPLITS, Pairs, SplitName, fingerprint, quick_signature
from dragoman.data.readers.questions import Questions
from dragoman.data.readers.standard_input import NAME, names_standard_input, spool, standing_in
from dragoman.data.readers.tagged import Tagged
from dragoman.data.readers.texts import Texts, refuse_bad
from dragoman.data.scales import Scale
from dragoman.data.store import Store
from dragoman.data.survey import Summary, finding
from dragoman.data.tokenizers import Tokenizer
from dragoman.data.tracking import Tracking
from dragoman.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.runs import FORMAT_VERSION, Run
from dragoman.storage import make_folder, read_record, write_atomically, write_record

SIDES = ("source", "target")
REPORTED = 10_000  # lines between two reports
RESTORE = " Restore it from a copy, or give --fresh to set the run aside and begin anew."
TRAINED: tuple[SplitName, ...] = ("train", "valid")  # splits that are encoded

AnyData = Pairs | Texts | Labelled | Tagged | Questions | Captions | Frames | Clips | Futures
Preparing = Callable[[str, int], None]  # told what is made ready before the training, and how much of it is


@dataclass(frozen=True)
class Corpora:
    """The encoded data of a run, and what its files have taught: tokenizers of the sides that are texts, labels, the
    scale of numbers."""

    train: Store
    valid: Store | None
    tokenizers: Mapping[str, Tokenizer]  # none of tracks, which are numbers
    summary: Mapping[str, Summary]  # what was found in each split
    formats: tuple[str, ...]  # how the files are read
    labels: Labelling | None = None  # of a model that only reads
    scale: Scale | None = None  # of numbers
    captions: Captioning | None = None  # of a model that describes pictures
    tracking: Tracking | None = None  # of tracks that are gone on with
    wanted: Wanted | None = None  # how files of conversations, or of several source columns, are read

    @property
    def read(self) -> int:
        """Symbols that a model may read; or numbers a step; 0 of pictures."""
        return size_of(self.tokenizers, "source") if self.scale is None else self.scale.size

    @property
    def answers(self) -> int:
        """Symbols, or labels, that a model chooses from."""
        return size_of(self.tokenizers, "target") if self.labels is None else self.labels.size


def size_of(tokenizers: Mapping[str, Tokenizer], side: str) -> int:
    """Symbols of a side; 0: it is no text."""
    return tokenizers[side].size if side in tokenizers else 0


def silent(what: str, done: int) -> None:
    """Nobody watches the preparation."""


def known_data(run: Run) -> dict[str, Any]:
    """What is known of the data since the run was begun."""
    if not run.data_record.exists():
        return {}
    try:
        record = read_record(run.data_record)
        if record.get("format_version", FORMAT_VERSION) != FORMAT_VERSION:
            raise StorageError(
                f"{run.data_record} has format {record['format_version']}, and this version of dragoman reads "
                f"{FORMAT_VERSION}. Use the version that began the run."
            )
        for name in ("train", "valid"):
            if name in record and not isinstance(record[name]["sha256"], str):
                raise TypeError
        if not isinstance(record.get("tokenizers", {}), dict):
            raise TypeError
    except (KeyError, TypeError) as error:
        raise StorageError(f"{run.data_record} is damaged: it does not say what was trained on.{RESTORE}") from error
    except StorageError as error:
        raise StorageError(f"{error}{RESTORE}") from error
    return record


def data_record(run: Run, data: AnyData) -> dict[str, Any]:
    """The hashes of the data, by which a changed file is noticed; unchanged files are not read again."""
    before = known_data(run)
    record: dict[str, Any] = {}
    hashed = cache(fingerprint)  # what is held out lies in the files of training
    for name in SPLITS:
        files = data.files(name)
        if not files:
            if name in before and name != "test":
                raise ConfigError(f"{run.path} was begun with {name} data. Give it again, or choose another --out.")
            continue
        old = before.get(name, {})
        quick = quick_signature(files)
        same = old.get("quick") == quick and old.get("files") == list(files)
        digest = old["sha256"] if same else hashed(files)
        if old and old["sha256"] != digest and name != "test":  # of which no number of the training depends
            if old.get("files") != list(files):
                raise DataError(
                    f"{run.path} was begun with other {name} data: {' and '.join(old.get('files', []))} → "
                    f"{' and '.join(files)}. Choose another --out, or give --fresh to set the old run aside."
                )
            raise DataError(
                f"{' and '.join(files)} changed since {run.path} was begun (sha256 {old['sha256'][:12]}… → "
                f"{digest[:12]}…). Restore the data, choose another --out, or give --fresh."
            )
        record[name] = {"files": list(files), "sha256": digest, "quick": quick}
    return record


def with_standard_input(run: Run, data: AnyData) -> AnyData:
    """Standard input is copied into the run; once that has been made ready, the copy is the data."""
    splits = [name for name in SPLITS if name in type(data).model_fields]
    if not names_standard_input([corpus for name in splits for corpus in getattr(data, name)]):
        return data
    copy = run.path / NAME
    if not (copy.exists() and run.data_record.exists()):
        spool(copy)
    return data.changed(**{name: standing_in(getattr(data, name), copy) for name in splits})


def begin(run: Run, given: Mapping[str, Tokenizer] | None = None) -> None:
    """A folder for what the data teaches, with the tokenizers that are given."""
    if not run.data_record.exists():  # an earlier preparation broke off; its data or settings may have been mended
        shutil.rmtree(run.tokenizers, ignore_errors=True)
    make_folder(run.tokenizers)
    for side, tokenizer in (given or {}).items():
        write_atomically(run.tokenizers / f"{side}.json", tokenizer.as_json())


def finish(run: Run, known: dict[str, Any], stores: Mapping[SplitName, Store]) -> None:
    """Write down what is known of the data, by which the next start finds it."""
    for name, store in stores.items():
        known[name]["counts"] = vars(store.counts)
    write_record(run.data_record, {"format_version": FORMAT_VERSION, **known})


Fact = TypeVar("Fact", Labelling, Scale, Tracking)  # what files teach beside tokenizers


def known_fact(path: Path, digest: str, load: Callable[[Path], Fact]) -> Fact:
    """What an earlier start has learned, whole."""
    try:
        found = load(path)
    except DragomanError as error:
        raise StorageError(f"{error}{RESTORE}") from error
    if found.hash != digest:
        raise StorageError(f"{path} is damaged: it has changed since the run was begun.{RESTORE}")
    return found


def prepare_tokenizer(
    run: Run, side: str, learn: Callable[[], Tokenizer], digest: str | None, report: Callable[[str], None]
) -> Tokenizer:
    """The tokenizer of a side, found or learned; one that is damaged is learned again, if that gives the same one."""
    path = run.tokenizers / f"{side}.json"
    found = intact_tokenizer(path, digest)
    if found is not None:
        return found
    tokenizer = learn()
    if digest not in (None, tokenizer.hash):
        raise StorageError(
            f"{path} is damaged or missing, and learned again it is not what it was, perhaps since dragoman or the "
            f"library tokenizers has another version.{RESTORE}"
        )
    write_atomically(path, tokenizer.as_json())
    if digest is not None:
        report(f"{path} was damaged or missing. It was learned again from the same data, and is what it was.")
    return tokenizer


def intact_tokenizer(path: Path, digest: str | None) -> Tokenizer | None:
    """The tokenizer in a file, if it is the one that is known by its hash."""
    if not path.exists():
        return None
    try:
        tokenizer = Tokenizer.load(path)
    except DragomanError:
        return None
    return tokenizer if digest in (None, tokenizer.hash) else None


def bad_lines_of(run: Run, name: SplitName) -> Problems:
    return Problems(run.bad_lines if name == "train" else run.bad_lines.with_stem(f"bad_lines.{name}"))


def found_store(
    run: Run, name: SplitName, signature: str, report: Callable[[str], None], is_known: bool = True
) -> Store | None:
    """The encoded examples of an earlier start, if they are whole and of the same data and settings; else there is
    room for new ones."""
    folder = run.stores / name
    if is_known and (store := Store.open(folder, signature)) is not None:
        return store
    if folder.exists():
        report(f"{folder} was damaged, or is of another version of dragoman. It is encoded anew from the same data.")
    make_folder(run.stores)
    return None


Judge = Callable[[Counts], None]  # raises where what was encoded is not to be trained on
Build = Callable[[Path, str, Problems, Judge], Store]  # folder, signature, what is wrong, and who judges it


def prepare_split(
    run: Run,
    name: SplitName,
    depends_on: Sequence[Any],
    summary: dict[str, Summary],
    report: Callable[[str], None],
    build: Build,
    judge: Callable[[Counts, Problems], None],
) -> Store:
    """The encoded examples of a split, found or made; what is wrong is counted on the way."""
    signature = "/".join(map(str, depends_on))
    if (store := found_store(run, name, signature, report, name in summary)) is not None:
        return store
    problems = bad_lines_of(run, name)
    with closing(problems):
        store = build(run.stores / name, signature, problems, lambda counts: judge(counts, problems))
    summary[name] = summary_of(store.counts, problems)
    return store


def judge_examples(
    counts: Counts, problems: Problems, max_bad: float, nothing_left: Callable[[Counts, Problems], DataError]
) -> None:
    """Nothing is trained on nothing, nor where too much is bad."""
    if counts.pairs == 0:
        raise nothing_left(counts, problems)
    refuse_bad(problems, max_bad)


def summary_of(counts: Counts, problems: Problems) -> Summary:
    findings = [
        finding(reason, count, problems.lines, problems.places[reason])
        for reason, count in problems.reasons.most_common()
    ]
    return {
        "lines": counts.lines,
        "documents": counts.documents,
        "characters": counts.characters,
        "findings": findings,
        "filtered": {},
    }
