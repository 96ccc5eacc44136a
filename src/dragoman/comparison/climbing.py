"""A comparison from beginning to end: one contender after the other is trained and answers, then all are judged."""

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import tomlkit

from dragoman.comparison.answering import Answered, Trained, answered, digest_of, trained
from dragoman.comparison.folder import Folder, accept, lend
from dragoman.comparison.items import is_held_out, read_test, tested_files
from dragoman.comparison.kind import Items, Kind
from dragoman.comparison.kinds import KINDS, kind_of, named_kind, no_ladder, refuse_other_measures
from dragoman.comparison.ladder import Contender, contenders
from dragoman.comparison.request import Request
from dragoman.comparison.settling import (
    READING,
    as_begun,
    decided,
    is_open,
    likely,
    parted,
    reads,
    settings_of,
    undecided_of,
)
from dragoman.comparison.texts import PAIRS
from dragoman.config import Table, merge, validate
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.pairs import Pairs
from dragoman.defaults.choice import Given
from dragoman.devices import is_out_of_memory
from dragoman.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.experiment import Experiment, train
from dragoman.inspection.report.facts import LONGEST
from dragoman.inspection.report.page import cut
from dragoman.preparation.corpora import AnyData, Preparing, silent
from dragoman.runs import Run, status_of
from dragoman.served import Evaluation
from dragoman.storage import append_line, make_folder
from dragoman.training.events import Chosen, Event, Finished, Warned
from dragoman.watching import Watch, unwatched


@dataclass(frozen=True)
class Began:
    """A contender has its turn."""

    number: int  # from 1
    total: int
    contender: Contender
    is_trained: bool  # by an earlier start
    to_train: int  # models behind it that are yet to be trained


@dataclass(frozen=True)
class Failed:
    """A contender could not be trained or measured; the others go on."""

    contender: Contender
    sentence: str
    exit_code: int


@dataclass(frozen=True)
class Climbed:
    """A contender that was trained and has answered."""

    contender: Contender
    settings: Experiment
    run: Run
    trained: Trained
    answered: Answered
    is_new: bool = True  # or the answers of an earlier start


@dataclass(frozen=True)
class Climb:
    """All that is known once everyone had a turn."""

    request: Request
    folder: Folder
    kind: Kind
    evaluation: Evaluation
    items: Items
    sources: int  # distinct ones in the test data
    data: AnyData
    tested: tuple[str, ...]  # files
    held_out: bool  # whether the test is a part of those of training
    settings: dict[str, Experiment]  # of every contender
    climbed: tuple[Climbed, ...]
    failed: tuple[Failed, ...]


Told = Event | Began | Climbed | Failed | Climb


def climb(request: Request, preparing: Preparing = silent, watch: Watch = unwatched) -> Iterator[Told]:
    """Train and question all contenders; what happens is told, and the last that is told is the Climb. A signal ends it
    with a Finished that names it; the same request goes on from there."""
    given, document = request.given()
    found = asked(request, given)
    kind = kind_of(found, given)
    given, tested = without_test(kind, given)
    data = validate(kind.config, given.get("data", {}), document)
    if not data.train and kind is PAIRS:
        raise ConfigError("There is nothing to train on: name a file of pairs, or --source and --target files.")
    folder = Folder(request.out)
    certain = {part: value for part, value in given.items() if part not in READING[1:]}  # which fit no matter what data
    guessed = likely(folder, data, certain, request, kind)
    first = {one.name: settings_of(one, request, guessed, certain, data, document, kind) for one in found}
    has_open = any(is_open(one, kind) for one in found)
    refuse_other_measures(kind, first, kind.shared if has_open else ())  # before anything is written or read
    if request.fresh and (aside := folder.set_aside(data)) is not None:
        yield Warned(f"The old comparison is now {aside}.")
    folder.refuse_strangers()
    make_folder(folder.runs)
    with Run(folder.path).lock():
        data = folder.with_standard_input(data)
        everyone = folder.with_earlier(found)
        folder.begin(everyone)
        made = partial(settings_of, request=request, given=given, data=data, document=document, kind=kind)
        if kind.as_is or not isinstance(data, Pairs):

            def settle(agreed: Table) -> Experiment:
                return made(found[0], chosen=merge(guessed, agreed))

            chosen, choices = parted(folder, settle, given, tested, kind, preparing, has_open)
        else:
            chosen, choices = decided(folder, data, given, request.as_is, preparing)
        if choices:
            told = [(one.key, one.value, one.reason) for one in choices]
            yield Chosen((*recognised(request, given, kind), *told), str(folder.defaults))
        left_open = {one.name: undecided_of(one, chosen, given, kind) for one in everyone}

        def complete(one: Contender) -> Experiment:
            return as_begun(folder.run(one.name), made(one, chosen=chosen), left_open[one.name])

        settings = {one.name: complete(one) for one in found}
        for one in found:
            if left_open[one.name] is None or folder.run(one.name).checkpoints.exists():  # else training refuses
                accept(folder.run(one.name), settings[one.name], folder.path)
        for one in everyone:
            if one.name not in settings and is_finished(folder, one):
                try:
                    earlier = complete(one)
                    refuse_other_measures(kind, {found[0].name: settings[found[0].name], one.name: earlier})
                    accept(folder.run(one.name), earlier, folder.path)
                    settings[one.name] = earlier
                except ConfigError as error:
                    yield Warned(f"{one.name}, of an earlier command, is not on the page: {cut(str(error), LONGEST)}")
        found = [one for one in everyone if one.name in settings]
        settings = {one.name: settings[one.name] for one in found}
        plain = next(iter(settings.values()))
        items, sources = read_test(kind, plain, tested, request.lines)
        evaluation = plain.evaluation
        if not kind.as_is:
            evaluation = validate(Evaluation, merge(chosen.get("evaluation", {}), given.get("evaluation", {})))
        digest = digest_of(items, kind)
        climbed: list[Climbed] = []
        failed: list[Failed] = []
        for number, one in enumerate(found, start=1):
            open_ones = [other for other in found[number:] if not is_finished(folder, other)]
            yield Began(number, len(found), one, is_finished(folder, one), len(open_ones))
            for event in turn(folder, one, settings, left_open[one.name], kind, (items, digest), preparing, watch):
                yield event
                if isinstance(event, Finished) and event.signal is not None:
                    return
                climbed += [event] if isinstance(event, Climbed) else []
                failed += [event] if isinstance(event, Failed) else []
        settings |= {one.contender.name: one.settings for one in climbed}
        test = tested_files(plain, tested), is_held_out(plain, tested)
        known = (items, sources, plain.data, *test, settings)
        yield Climb(request, folder, kind, evaluation, *known, tuple(climbed), tuple(failed))


def asked(request: Request, given: Table) -> list[Contender]:
    """The recipes that were named, or the ladder of the data."""
    if request.recipes:
        return contenders(request.recipes, request.scale)
    name = named_kind(given, request.train)
    if name not in KINDS:
        raise no_ladder(name)
    return contenders((), request.scale, name)


def recognised(request: Request, given: Table, kind: Kind) -> list[tuple[str, str, str]]:
    """What nobody has said, and a file looks like."""
    if request.recipes or kind is PAIRS or "kind" in given.get("data", {}):
        return []
    return [("data.kind", kind.name, f"{Path(str(request.train[0])).name} looks like it; its ladder is compared")]


def without_test(kind: Kind, given: Table) -> tuple[Table, tuple[str, ...]]:
    """Where a training knows of no test files, they are the comparison's own."""
    data = given.get("data", {})
    if "test" in kind.config.model_fields or "test" not in data:
        return given, ()
    corpora = [data["test"]] if isinstance(data["test"], str) else data["test"]
    files = [file for corpus in corpora for file in ([corpus] if isinstance(corpus, str) else corpus)]  # no two sides
    rest = {name: value for name, value in data.items() if name != "test"}
    return {**given, "data": rest}, tuple(files_of(files))


def is_finished(folder: Folder, contender: Contender) -> bool:
    return bool(status_of(folder.run(contender.name)).get("finished"))


def turn(
    folder: Folder,
    contender: Contender,
    settings: Mapping[str, Experiment],
    undecided: Given | None,
    kind: Kind,
    test: tuple[Items, str],
    preparing: Preparing,
    watch: Watch,
) -> Iterator[Told]:
    """Train one contender, or go on with it, and have it answer; what is wrong with it alone is told."""
    run, own = folder.run(contender.name), settings[contender.name]
    try:
        if not status_of(run).get("finished"):
            for name, other in settings.items():
                if undecided is None and name != contender.name and reads(other) == reads(own):
                    lend(folder.run(name), run)
            given = given_text(contender, own)
            for event in train(own, run.path, given, preparing=preparing, undecided=undecided):
                yield event
                if isinstance(event, Finished) and event.signal is not None:
                    return
            own = as_begun(run, own, undecided)
        kept = folder.answers(contender.name)
        before = file_stamp(kept)
        found = answered(run, own, *test, kept, watch, kind)
        if isinstance(found, int):
            yield Finished(trained(run).steps, "signal", found)
            return
        yield Climbed(contender, own, run, trained(run, kind.curve), found, before != file_stamp(kept))
    except (StorageError, DataError):
        raise  # all others would meet the same
    except DragomanError as error:
        yield Failed(contender, cut(str(error), LONGEST), error.exit_code)
    except (RuntimeError, MemoryError, ValueError, ArithmeticError) as error:
        if isinstance(error, MemoryError) or is_out_of_memory(error):
            yield Failed(contender, "Memory ran out. A smaller scale, width or batch may fit.", 5)
            return
        append_line(folder.path / "defects.jsonl", {"contender": contender.name, "traceback": traceback.format_exc()})
        said = cut(f"{type(error).__name__}: {error}", LONGEST)
        yield Failed(contender, f"A defect: {said} (see {folder.path / 'defects.jsonl'}).", 1)


def file_stamp(path: Path) -> int:
    """When it was written; 0 if it was not."""
    return path.stat().st_mtime_ns if path.is_file() else 0


def given_text(contender: Contender, settings: Experiment) -> str:
    """What is kept as given.toml in the run."""
    table = settings.model_dump(mode="json", exclude_none=True)
    return tomlkit.dumps({"recipe": contender.recipe, "scale": contender.scale or "", "settings": table})
