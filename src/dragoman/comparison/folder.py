"""The folder of a comparison, and what may go on in it.

OUT/
  comparison.json   what is compared                defaults.toml   settings chosen from the data, for all
  runs/NAME/        an ordinary run a contender     answers/        NAME.json: its answers to the test data, kept
  report.html       the page                        report.json     the same for programs
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path

from dragoman.comparison.ladder import Contender
from dragoman.config import difference, read_sealed, validate
from dragoman.data.readers.pairs import SPLITS, Pairs
from dragoman.data.readers.standard_input import NAME, names_standard_input, spool, standing_in
from dragoman.errors import ConfigError, StorageError
from dragoman.experiment import Experiment
from dragoman.experiment.accepting import refuse_inside
from dragoman.preparation.corpora import AnyData, data_record
from dragoman.runs import FORMAT_VERSION, LIMITS, Run
from dragoman.storage import is_utf8, make_folder, read_record, write_record

LENT = ("environment.json", "data.json", "tokenizers", "data")  # of a run, to one that reads the same data


class Folder:
    """A comparison by the names of its parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.record = path / "comparison.json"
        self.defaults = path / "defaults.toml"
        self.page = path / "report.html"
        self.facts = path / "report.json"
        self.runs = path / "runs"

    def run(self, name: str) -> Run:
        return Run(self.runs / name)

    def answers(self, name: str) -> Path:
        return self.path / "answers" / f"{name}.json"

    @property
    def has_begun(self) -> bool:
        """Whether data was made ready for any contender."""
        return any(path.is_dir() and Run(path).has_begun for path in self.runs.glob("[!.]*"))

    def refuse_strangers(self) -> None:
        """A folder with other things in it is never written into, nor renamed."""
        if not is_utf8(self.path):
            raise ConfigError(
                f"The name of {self.path} is not UTF-8: no model could be read there. Choose another --out."
            )
        if self.record.is_file() or not self.path.exists():
            return
        if not self.path.is_dir():
            raise ConfigError(f"{self.path} is a file, not a folder. Choose another --out.")
        if strangers := sorted(path.name for path in self.path.iterdir() if not path.name.startswith((".", "stdin."))):
            raise ConfigError(
                f"{self.path} is no comparison, and holds {', '.join(strangers[:3])} (a comparison has a "
                "comparison.json). Choose another --out."
            )

    def set_aside(self, data: AnyData) -> Path | None:
        """Make room for a fresh comparison; the old one is kept under another name."""
        self.refuse_strangers()
        refuse_inside(Run(self.path), data)
        if not self.path.exists():
            return None
        path = self.path.resolve()
        names = (path.with_name(f"{path.name}.old-{number}") for number in count(1))
        with Run(path).lock():  # never from under a trainer
            return path.rename(next(name for name in names if not name.exists()))

    def begin(self, contenders: Sequence[Contender]) -> None:
        record = {"format_version": FORMAT_VERSION, "contenders": [asdict(one) for one in contenders]}
        write_record(self.record, record)

    def with_earlier(self, found: Sequence[Contender]) -> list[Contender]:
        """What an earlier command named stays, in its order, when this one names others or fewer."""
        own = {one.name: one for one in found}
        rows = read_record(self.record)["contenders"] if self.record.is_file() else []
        earlier = [Contender(**row) for row in rows if isinstance(row, dict)]
        if all(one.name in own for one in earlier):
            return list(found)
        return [*(own.pop(one.name, one) for one in earlier), *own.values()]

    def with_standard_input(self, data: AnyData) -> AnyData:
        """Standard input is copied here; once it has been made ready, the copy is the data."""
        splits = [name for name in SPLITS if name in type(data).model_fields]
        if not names_standard_input([corpus for name in splits for corpus in getattr(data, name)]):
            return data
        copy = self.path / NAME
        if not (copy.exists() and self.has_begun):
            spool(copy)
        return data.changed(**{name: standing_in(getattr(data, name), copy) for name in splits})


def accept(run: Run, settings: Experiment, out: Path) -> None:
    """Refuse a contender that was begun with other settings, another budget or other data; finished ones too."""
    if not run.exists or not run.has_begun:
        return
    document = read_sealed(run.config)
    before = validate(Experiment, document.table, document)
    changes = difference(before, settings)
    changes += [
        f"training.{name}: {getattr(before.training, name)} → {getattr(settings.training, name)}"
        for name in (*LIMITS, "patience")
        if getattr(before.training, name) != getattr(settings.training, name)
    ]
    old, new = before.data, settings.data
    if isinstance(old, Pairs) and isinstance(new, Pairs) and old.holds_out_test != new.holds_out_test:
        told = [f"{one.hold_out_test:g} held out" if one.holds_out_test else "files" for one in (old, new)]
        changes.append(f"data.test: {told[0]} → {told[1]}")
    if changes:
        listed = "\n".join(f"  {change}" for change in changes)
        raise ConfigError(
            f"{run.path} was trained with other settings:\n{listed}\n"
            f"Give the same ones to go on with {out}, another --out to compare anew, or --fresh to set it aside."
        )
    data_record(run, settings.data)  # which refuses data that has changed


def lend(lender: Run, run: Run) -> None:
    """Give a new run the vocabularies and the encoded data of one that reads the same: nothing is made twice, and where
    the disk can link files, nothing is there twice."""
    if run.path.exists() or not all((lender.path / name).exists() for name in LENT):
        return
    draft = run.path.with_name(f".draft-{run.path.name}")
    shutil.rmtree(draft, ignore_errors=True)
    make_folder(draft)
    try:
        for name in (*LENT, *(path.name for path in lender.path.glob("bad_lines*.jsonl"))):
            place = lender.path / name
            if place.is_dir():
                shutil.copytree(place, draft / name, copy_function=link)
            else:
                shutil.copy2(place, draft / name)
        draft.rename(run.path)
    except OSError as error:
        raise StorageError(f"Cannot copy the data of {lender.path} to {run.path}: {error.strerror}.") from error


def link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
