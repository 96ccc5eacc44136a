"""The settings of each contender: what the data decides for all, what a recipe brings, and what was given."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dragoman.comparison.folder import Folder
from dragoman.comparison.kind import Kind
from dragoman.comparison.ladder import OWN, Contender, settled
from dragoman.comparison.request import Request
from dragoman.config import Document, Table, dotted, flatten, merge, nest, read_sealed, validate, with_seal
from dragoman.data.readers.pair import Pair
from dragoman.data.readers.pairs import SPLITS, Pairs, SplitName, split_of
from dragoman.data.sides import sample_of
from dragoman.defaults.budget import Budget
from dragoman.defaults.choice import Choice, Given, as_table, as_toml
from dragoman.defaults.kinds import DEFAULTS
from dragoman.defaults.pairs import FEWEST, choose_settings, hold_out_of, hold_out_test_of, survey_pairs
from dragoman.errors import ConfigError, DataError
from dragoman.experiment import Experiment
from dragoman.experiment.choosing import decided as decided_by_data
from dragoman.experiment.settings import completed
from dragoman.preparation.corpora import REPORTED, AnyData, Preparing, silent
from dragoman.recipes import auto_of
from dragoman.runs import Run, without_limits
from dragoman.storage import write_atomically

READING = ("data", "source", "target")  # settings that the encoded data of pairs depends on
FEW = 20  # sequences, pictures, conversations or tracks of which some can be held out
MANY = 1_000  # of which a tenth is enough for the test
VALID, TEST, TEST_OF_FEW = 0.1, 0.1, 0.2


def likely(folder: Folder, data: AnyData, given: Table, request: Request, kind: Kind) -> Table:
    """What the data will decide, or much like it: enough to see whether given settings fit."""
    if folder.defaults.exists() and not request.fresh:
        return read_sealed(folder.defaults).table
    known = flatten(given)
    if kind.as_is:
        return {} if data.valid or "data.hold_out" in known else {"data": {"hold_out": VALID}}
    parted = [] if data.valid or "data.hold_out" in known else [Choice("data.hold_out", 0.1, "")]
    found = [*parted, *choose_settings(sample_of([Pair("a b c", "d e f", 1)]), known)]
    return as_table(one for one in found if is_shared(one, request.as_is))


def decided(folder: Folder, data: Pairs, given: Table, as_is: bool, preparing: Preparing) -> tuple[Table, list[Choice]]:
    """What the data decides for all contenders; a comparison that goes on keeps what it began with."""
    if folder.defaults.exists() and folder.has_begun:
        return read_sealed(folder.defaults).table, []
    sample = survey_pairs(data, {}, preparing)
    if sample is None:
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
    choices = [one for one in found if is_shared(one, as_is)]
    write_atomically(folder.defaults, with_seal(as_toml(choices)))
    return as_table(choices), choices


def parted(
    folder: Folder,
    settle: Callable[[Table], Experiment],
    given: Table,
    tested: Sequence[str],
    kind: Kind,
    preparing: Preparing,
    has_open: bool = False,
) -> tuple[Table, list[Choice]]:
    """What is held out, where every recipe keeps its own settings, and what the data decides for all where some recipe
    leaves it open; a comparison that goes on keeps what it began with. Whole conversations, pictures, sequences and
    tracks are held out, by a hash. `settle` returns the settings of a contender with what was chosen."""
    if folder.has_begun:
        return read_sealed(folder.defaults).table if folder.defaults.exists() else {}, []
    known = flatten(given)
    agreed = shared_choices(settle({}).data, known, kind, preparing) if has_open and kind.shared else []
    settings = settle(as_table(agreed))
    data = settings.data
    wanted: list[SplitName] = []
    wanted += [] if data.valid or "data.hold_out" in known else ["valid"]
    has_test = bool(tested) or bool(getattr(data, "test", ())) or "data.hold_out_test" in known
    wanted += [] if has_test else ["test"]
    choices = [*agreed, *(held_out(keys_of(settings, kind, preparing), wanted, kind) if wanted else ())]
    if choices:
        write_atomically(folder.defaults, with_seal(as_toml(choices)))
    return as_table(choices), choices


def shared_choices(data: AnyData, known: Mapping[str, Any], kind: Kind, preparing: Preparing) -> list[Choice]:
    """What all are measured on, as the training data says: one text or two, labels or numbers."""
    defaults = DEFAULTS[kind.name]
    survey = defaults.survey(data, known, preparing)
    found = [] if survey is None else defaults.choose(survey, known, Budget.of(known))
    return [one for one in found if one.key in kind.shared and one.key not in known]


def keys_of(settings: Experiment, kind: Kind, preparing: Preparing) -> set[str]:
    """By which conversations, pictures, sequences or tracks are told apart."""
    found: set[str] = set()
    for number, key in enumerate(kind.keys(settings), start=1):
        found.add(key)
        if number % REPORTED == 0:
            preparing(f"{kind.unit} looked at", number)
    return found


def held_out(keys: set[str], wanted: Sequence[SplitName], kind: Kind) -> list[Choice]:
    """A share for each part that is wanted, if all parts have something."""
    count = len(keys)
    every = {"valid": VALID, "test": TEST if count >= MANY else TEST_OF_FEW}
    shares = {name: every[name] if name in wanted else 0.0 for name in every}
    found = {split_of(key, shares["valid"], shares["test"]) for key in keys}
    if count < FEW or not {"train", *wanted} <= found:
        lacks = "test" if "test" in wanted else "valid"
        what = {"test": "for the test. Give test data", "valid": "to validate on. Give such data"}[lacks]
        which = f"The data is one of {kind.unit}, of which no part can be" if count == 1 else ""
        many = which or f"{count:,} {kind.unit} are too few to have some of them"
        raise DataError(f"{many} held out {what} with --{lacks}.")
    doing = {"valid": ("data.hold_out", "validate"), "test": ("data.hold_out_test", "test")}
    return [
        Choice(key, shares[name], f"no --{name}: some {shares[name] * count:,.0f} of {count:,} are kept to {what} on")
        for name, (key, what) in doing.items()
        if name in wanted
    ]


def reads(settings: Experiment) -> list[Any]:
    """All that the prepared data of a run depends on: those that are equal share it."""
    source = getattr(settings.model, "source", None)
    pictures = [getattr(source, name, None) for name in ("size", "fit")]
    return [settings.data, settings.source, settings.target, settings.conversation, *pictures]


def is_shared(choice: Choice, as_is: bool) -> bool:
    """Whether the data decides it for all; where recipes stay as they are, only what is measured, and on what."""
    if as_is:
        return choice.key.startswith(("data.hold_out", "evaluation."))
    return choice.key.partition(".")[0] not in OWN


def always_of(chosen: Table) -> Table:
    """What is the same in any case: the test data, and what is validated on; one page for all, in place of a report
    each."""
    held_out = {name: value for name, value in chosen.get("data", {}).items() if name.startswith("hold_out")}
    return {"evaluation": {"report": 0}, "data": held_out}


def agreed_of(chosen: Table, kind: Kind) -> Table:
    """What the data has decided for all contenders that keep their own settings."""
    return nest({dotted(key): value for key, value in flatten(chosen).items() if key in kind.shared})


def is_open(contender: Contender, kind: Kind) -> bool:
    """Whether the data decides what the recipe leaves open, for this contender alone."""
    return kind.opens and auto_of(contender.recipe, contender.scale) is True


def undecided_of(contender: Contender, chosen: Table, given: Table, kind: Kind) -> Given | None:
    """What is given of a contender that leaves the rest to the data, beside the kinds that its rung names."""
    if not is_open(contender, kind):
        return None
    recipe = merge(contender.document().table, agreed_of(chosen, kind), contender.changes)
    return Given(recipe, merge(always_of(chosen), given))


def as_begun(run: Run, settings: Experiment, undecided: Given | None) -> Experiment:
    """The settings of a contender, with all that the data has decided once it was begun."""
    if undecided is None or not run.checkpoints.exists():
        return settings
    return decided_by_data(run, settings, undecided, silent)[0]


def settings_of(
    contender: Contender,
    request: Request,
    chosen: Table,
    given: Table,
    data: AnyData,
    document: Document,
    kind: Kind,
) -> Experiment:
    """The whole config of a contender, but for what the data is to decide for it alone."""
    always = always_of(chosen)
    own = Document(contender.document().table, contender.recipe)
    if request.as_is or kind.as_is:
        recipe = without_limits(merge(own.table, agreed_of(chosen, kind), contender.changes), given)
        table = merge(recipe, always, given)
    else:
        table = settled(contender, merge(chosen, always), given)
    try:
        found = validate(Experiment, table, own, document)
        files = {name: getattr(data, name) for name in SPLITS if name in type(data).model_fields}
        return completed(found.changed(data=found.data.changed(**files)), is_open(contender, kind))
    except ConfigError as error:
        raise ConfigError(f"{contender.name}: {error}") from error
