"""A comparison from beginning to end: one contender after the other is trained and answers, then all are judged."""

import hashlib
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import tomlkit

from dragoman.comparison.answering import Answered, Items, Trained, answered, digest_of, trained
from dragoman.comparison.folder import Folder, accept, lend
from dragoman.comparison.ladder import OWN, Contender, contenders, settled
from dragoman.config import (
    Document,
    Table,
    dotted,
    flatten,
    merge,
    nest,
    parse_overrides,
    read_sealed,
    validate,
    with_seal,
)
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.pairs import SPLITS, Corpus, Pairs, Problems, read_split
from dragoman.data.sides import Sample, sample_of
from dragoman.defaults import FEWEST, Choice, as_table, as_toml, choose_settings, hold_out_of, hold_out_test_of
from dragoman.devices import is_out_of_memory
from dragoman.errors import ConfigError, DataError, DragomanError, StorageError
from dragoman.evaluation import Watch
from dragoman.experiment import Experiment, train
from dragoman.experiment.settings import completed
from dragoman.inspection.report.facts import LONGEST
from dragoman.inspection.report.page import cut
from dragoman.preparation import REPORTED, Preparing, silent
from dragoman.recipes import read_recipe, refuse_other_encodings
from dragoman.runs import Run, status_of
from dragoman.served import Evaluation, require_source
from dragoman.storage import append_line, make_folder, write_atomically
from dragoman.training.events import Chosen, Event, Finished, Warned
from dragoman.training.origin import without_limits

LINES = 10_000  # test sources that are answered at most
READING = ("data", "source", "target")  # settings that the encoded data depends on
WARMUP = 0.05  # of a budget in minutes


@dataclass(frozen=True)
class Request:
    """What is to be compared, on what, and how long each may train."""

    out: Path
    recipes: tuple[str, ...] = ()
    train: tuple[Corpus, ...] = ()
    valid: tuple[Corpus, ...] = ()
    test: tuple[Corpus, ...] = ()
    scale: str | None = None
    overrides: tuple[str, ...] = ()  # key=value, for all
    settings: Mapping[str, Any] = field(default_factory=dict)  # the same as values
    as_is: bool = False
    lines: int = LINES
    fresh: bool = False

    def given(self) -> tuple[Table, Document]:
        """Files and settings that were given, and where the latter stand."""
        splits = {"train": self.train, "valid": self.valid, "test": self.test}
        files = {
            name: [one if isinstance(one, str) else list(one) for one in corpora]
            for name, corpora in splits.items()
            if corpora
        }
        refuse_other_encodings(files, None)
        own = parse_overrides(list(self.overrides))
        named = nest({dotted(name): value for name, value in self.settings.items() if value is not None})
        return merge({"data": files} if files else {}, named, own.table), own


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
    evaluation: Evaluation
    items: Items
    sources: int  # distinct ones in the test data
    data: Pairs
    settings: dict[str, Experiment]  # of every contender
    climbed: tuple[Climbed, ...]
    failed: tuple[Failed, ...]


Told = Event | Began | Climbed | Failed | Climb


def refuse_conversations(given: Table) -> None:
    """What they are read by stands in settings that no ladder has."""
    data = given.get("data", {})
    if isinstance(data, dict) and data.get("kind") == "conversations":
        raise ConfigError(
            "A comparison of recipes is of pairs, and data.kind is 'conversations'. Train models of conversations one "
            "by one (`dragoman train hred`), and set finished runs side by side with `dragoman compare --table`."
        )


def climb(
    request: Request, preparing: Preparing = silent, watch: Watch = lambda what, done, total: None
) -> Iterator[Told]:
    """Train and question all contenders; what happens is told, and the last that is told is the Climb. A signal ends it
    with a Finished that names it; the same request goes on from there."""
    found = contenders(request.recipes, request.scale)
    for one in found:
        require_source(kind_of(one), f"A comparison, in which {one.name} would take part,")
    given, document = request.given()
    refuse_conversations(given)
    data = validate(Pairs, given.get("data", {}), document)
    if not data.train:
        raise ConfigError("There is nothing to train on: name a file of pairs, or --source and --target files.")
    folder = Folder(request.out)
    certain = {part: value for part, value in given.items() if part not in READING[1:]}  # which fit no matter what data
    for one in found:  # before anything is written or read
        settings_of(one, request, likely(folder, data, certain, request), certain, data, document)
    if request.fresh and (aside := folder.set_aside(data)) is not None:
        yield Warned(f"The old comparison is now {aside}.")
    folder.refuse_strangers()
    make_folder(folder.runs)
    with Run(folder.path).lock():
        data = folder.with_standard_input(data)
        everyone = folder.with_earlier(found)
        folder.begin(everyone)
        chosen, choices = decided(folder, data, given, request.as_is, preparing)
        if choices:
            yield Chosen(tuple((one.key, one.value, one.reason) for one in choices), str(folder.defaults))
        settings = {one.name: settings_of(one, request, chosen, given, data, document) for one in found}
        for one in found:
            accept(folder.run(one.name), settings[one.name], folder.path)
        for one in everyone:
            if one.name not in settings and is_finished(folder, one):
                try:
                    earlier = settings_of(one, request, chosen, given, data, document)
                    accept(folder.run(one.name), earlier, folder.path)
                    settings[one.name] = earlier
                except ConfigError as error:
                    yield Warned(f"{one.name}, of an earlier command, is not on the page: {cut(str(error), LONGEST)}")
        found = [one for one in everyone if one.name in settings]
        settings = {one.name: settings[one.name] for one in found}
        data = validate(Pairs, dict(next(iter(settings.values())).data))
        items, sources = read_test(data, request.lines)
        evaluation = validate(Evaluation, merge(chosen.get("evaluation", {}), given.get("evaluation", {})))
        digest = digest_of(items)
        climbed: list[Climbed] = []
        failed: list[Failed] = []
        for number, one in enumerate(found, start=1):
            open_ones = [other for other in found[number:] if not is_finished(folder, other)]
            yield Began(number, len(found), one, is_finished(folder, one), len(open_ones))
            for event in turn(folder, one, settings, (items, digest), preparing, watch):
                yield event
                if isinstance(event, Finished) and event.signal is not None:
                    return
                climbed += [event] if isinstance(event, Climbed) else []
                failed += [event] if isinstance(event, Failed) else []
        yield Climb(request, folder, evaluation, items, sources, data, settings, tuple(climbed), tuple(failed))


def kind_of(contender: Contender) -> str:
    """The kind of model that a recipe has; empty where it does not say."""
    model = read_recipe(contender.recipe, contender.scale).table.get("model", {})
    return str(model.get("kind", "")) if isinstance(model, dict) else ""


def is_finished(folder: Folder, contender: Contender) -> bool:
    return bool(status_of(folder.run(contender.name)).get("finished"))


def likely(folder: Folder, data: Pairs, given: Table, request: Request) -> Table:
    """What the data will decide, or much like it: enough to see whether given settings fit."""
    if folder.defaults.exists() and not request.fresh:
        return read_sealed(folder.defaults).table
    known = flatten(given)
    parted = [] if data.valid or "data.hold_out" in known else [Choice("data.hold_out", 0.1, "")]
    found = [*parted, *choose_settings(sample_of([Pair("a b c", "d e f", 1)]), known)]
    return as_table(warmed(one, known) for one in found if is_shared(one, request.as_is))


def decided(folder: Folder, data: Pairs, given: Table, as_is: bool, preparing: Preparing) -> tuple[Table, list[Choice]]:
    """What the data decides for all contenders; a comparison that goes on keeps what it began with."""
    if folder.defaults.exists() and folder.has_begun:
        return read_sealed(folder.defaults).table, []
    sample = Sample()
    for pair in read_split(data, "train", Problems()):
        sample.add(pair)
        if sample.size % REPORTED == 0:
            preparing("pairs looked at", sample.size)
    if not sample.size:
        raise DataError(
            f"There is no good pair in {' and '.join(data.files('train'))}, so there is nothing to compare on."
        )
    known = flatten(given)
    parted = [
        None if data.valid or "data.hold_out" in known else hold_out_of(sample),
        None if data.test or "data.hold_out_test" in known else hold_out_test_of(sample),
    ]
    if parted[1] is None and not data.has("test"):
        number = "1 pair is" if sample.size == 1 else f"{sample.size:,} pairs are"
        why = "too few" if sample.size < FEWEST else "too much alike"
        raise DataError(f"{number} {why} to hold some of them out for the test. Give test pairs with --test.")
    found = [*(one for one in parted if one is not None), *choose_settings(sample, known)]
    choices = [warmed(one, known) for one in found if is_shared(one, as_is)]
    write_atomically(folder.defaults, with_seal(as_toml(choices)))
    return as_table(choices), choices


def warmed(choice: Choice, given: Mapping[str, Any]) -> Choice:
    """Models are of different speeds: a warm-up in updates, from a guess at one of them, might outlast the minutes of
    the slowest."""
    if choice.key != "training.schedule.warmup" or not given.get("training.minutes"):
        return choice
    return Choice("training.schedule.warmup_share", WARMUP, "of the minutes, as some models make few updates in them")


def is_shared(choice: Choice, as_is: bool) -> bool:
    """Whether the data decides it for all; where recipes stay as they are, only what is measured, and on what."""
    if as_is:
        return choice.key.startswith(("data.hold_out", "evaluation."))
    return choice.key.partition(".")[0] not in OWN


def settings_of(
    contender: Contender, request: Request, chosen: Table, given: Table, data: Pairs, document: Document
) -> Experiment:
    """The whole config of a contender; the test data is the same in any case, and so is what is validated on."""
    held_out = {name: value for name, value in chosen.get("data", {}).items() if name.startswith("hold_out")}
    always: Table = {"evaluation": {"report": 0}, "data": held_out}  # one page for all, in place of a report each
    own = Document(contender.document().table, contender.recipe)
    if request.as_is:
        recipe = without_limits(merge(own.table, contender.changes), given)
        table = merge(recipe, always, given)
    else:
        table = settled(contender, merge(chosen, always), given)
    try:
        found = validate(Experiment, table, own, document)
        files = {name: getattr(data, name) for name in SPLITS}
        return completed(found.changed(data=found.data.changed(**files)))
    except ConfigError as error:
        raise ConfigError(f"{contender.name}: {error}") from error


def read_test(data: Pairs, lines: int) -> tuple[Items, int]:
    """The test sources with their references: all, or as many of them, drawn by a key."""
    if not data.has("test"):
        raise ConfigError("There is no test data any more: give --test as when the comparison was begun, or --fresh.")
    problems = Problems()
    items, sources = drawn(read_split(data, "test", problems), lines)
    if not items:
        summary = f"\n{problems.summary()}" if problems.count else ""
        raise DataError(f"There is no good pair to test on in {' and '.join(data.files('test'))}.{summary}")
    return items, sources


def drawn(pairs: Iterable[Pair], most: int) -> tuple[Items, int]:
    """The sources of the smallest hashes with all their references, in the order of the file, and how many different
    ones there are. Only those drawn so far are held: one that is put out by smaller hashes never comes back."""
    known: set[int] = set()  # hashes: of texts only those that are drawn are kept
    chosen: dict[int, tuple[str, list[str]]] = {}
    largest: list[int] = []  # a heap of the negated hashes of those that are chosen
    for pair in pairs:
        number = int.from_bytes(hashlib.blake2b(pair.source.encode("utf-8", "surrogatepass"), digest_size=8).digest())
        if number in chosen:
            chosen[number][1].append(pair.target)
        elif number not in known and (len(chosen) < most or number < -largest[0]):
            chosen[number] = pair.source, [pair.target]
            heappush(largest, -number)
            if len(chosen) > most:
                del chosen[-heappop(largest)]
        known.add(number)
    return [(source, tuple(targets)) for source, targets in chosen.values()], len(known)


def turn(
    folder: Folder,
    contender: Contender,
    settings: Mapping[str, Experiment],
    test: tuple[Items, str],
    preparing: Preparing,
    watch: Watch,
) -> Iterator[Told]:
    """Train one contender, or go on with it, and have it answer; what is wrong with it alone is told."""
    run, own = folder.run(contender.name), settings[contender.name]
    try:
        if not status_of(run).get("finished"):
            for name, other in settings.items():
                if name != contender.name and all(getattr(other, part) == getattr(own, part) for part in READING):
                    lend(folder.run(name), run)
            for event in train(own, run.path, given_text(contender, own), preparing=preparing):
                yield event
                if isinstance(event, Finished) and event.signal is not None:
                    return
        kept = folder.answers(contender.name)
        before = file_stamp(kept)
        found = answered(run, own, *test, kept, watch)
        if isinstance(found, int):
            yield Finished(trained(run).steps, "signal", found)
            return
        yield Climbed(contender, own, run, trained(run), found, before != file_stamp(kept))
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
