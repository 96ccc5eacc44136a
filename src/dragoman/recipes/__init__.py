"""Recipes: one TOML a paper or task, and how a recipe, a scale and the user's own settings become one config."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from pydantic import Field

from dragoman.complaints import READS_LETTERS, of_another_kind
from dragoman.config import (
    Config,
    Document,
    Table,
    dotted,
    flatten,
    merge,
    nest,
    parse_overrides,
    read_toml,
    validate,
)
from dragoman.data.readers.pairs import Corpus
from dragoman.data.tokenizers.tokenizer import WHOLE_WORDS
from dragoman.defaults.choice import Given
from dragoman.errors import ConfigError, unknown
from dragoman.experiment import Experiment
from dragoman.runs import without_limits
from dragoman.storage import is_utf8
from dragoman.training.body import PARTS_OF_A_BODY, refuse_other_body, upon_body, value_at
from dragoman.training.origin import origin_of, refuse_other_model

FOLDER = Path(__file__).parent
SCALES = "scales"  # the table of a recipe that holds a table of changes for each scale
LADDER = "ladder"  # the tables of a recipe that say where it stands in a comparison
AUTO = "auto"  # true: the data decides what a recipe leaves open; or a list of settings that it decides too
PRETRAINED = "pretrained"  # the table of a recipe that holds what changes where another run's body is taken (--from)


@dataclass(frozen=True)
class Composed:
    """A complete config, and the settings as they were given."""

    settings: Experiment
    given: str
    undecided: Given | None = None  # where the data decides what is not given: without a recipe, or with one of a task


def recipe_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def recipe_title(name: str) -> str:
    """The first comment line of a recipe."""
    return (FOLDER / f"{name}.toml").read_text("utf-8").split("\n")[0].lstrip("# ")


def recipe_path(name: str) -> Path:
    """A file of the user's own, or a recipe that comes with dragoman."""
    if name.endswith(".toml"):
        return Path(name)
    if name not in recipe_names():
        raise unknown("recipe", name, recipe_names())
    return FOLDER / f"{name}.toml"


def read_recipe(name: str, scale: str | None, pretrained: bool = False) -> Document:
    """A recipe at one of its scales, and as it is for a body that has learned to read."""
    document = read_toml(recipe_path(name))
    table = {part: value for part, value in document.table.items() if part not in (AUTO, LADDER, PRETRAINED)}
    changes = document.table.get(PRETRAINED, {})
    if not isinstance(changes, dict):
        raise ConfigError(f"{document.where((PRETRAINED,))}: [pretrained] is a table of settings.")
    if pretrained:
        table = merge(table, changes)
    scales = table.pop(SCALES, {})
    if not isinstance(scales, dict) or not all(isinstance(changes, dict) for changes in scales.values()):
        raise ConfigError(f"{document.where((SCALES,))}: a scale is a table of settings, [scales.tiny] for one.")
    scales = {each: {key: value for key, value in table.items() if key != AUTO} for each, table in scales.items()}
    if scale is not None and scale not in scales:
        if not scales:
            raise ConfigError(f"The recipe {name} has one scale only; leave --scale {scale} out.")
        raise unknown(f"scale of {name}", scale, scales)
    return Document(merge(table, scales.get(scale, {})), document.name, document.lines)


def auto_of(name: str, scale: str | None = None) -> bool | tuple[str, ...]:
    """Whether the data decides what a recipe leaves open, or the settings that the data decides besides, in place of
    those of the recipe; what a scale says comes before what the recipe says."""
    document = read_toml(recipe_path(name))
    table, own = document.table, document.table.get(SCALES, {}).get(scale, {})
    path, auto = ((SCALES, scale or "", AUTO), own[AUTO]) if AUTO in own else ((AUTO,), table.get(AUTO, False))
    if isinstance(auto, bool):
        return auto
    where = document.where(path)
    if not isinstance(auto, list) or not all(isinstance(one, str) for one in auto):
        raise ConfigError(f"{where}: auto is true, false or a list of settings, not {auto!r}.")
    known = flatten(read_recipe(name, scale).table)
    for setting in auto:
        if setting not in known:
            raise unknown("setting of this recipe", setting, known, where=where)
    return tuple(auto)


class Rung(Config):
    """Where a recipe stands in a comparison, and under which name: `[ladder]`, or `[[ladder]]` for each variant."""

    rung: float = 0.0
    """Its place: lower ones come first, equal ones in the order of the file."""
    title: str = ""
    """What it adds to the one before it, in a few words."""
    name: str = ""
    """Of its run folder; the recipe's own where there is one rung only, else with the title behind it."""
    scale: str = ""
    """The scale that it is compared at, where no other is asked for; empty: the recipe as it is."""
    settings: Table = Field({})
    """Changes to the recipe; in a comparison they win over what the data decides."""
    scales: dict[str, Table] = Field({})
    """Further changes at a scale of the recipe, by its name."""


def read_rungs(recipe: str) -> list[Rung]:
    """The rungs that a recipe provides, if any, lowest first, each with its name."""
    document = read_toml(recipe_path(recipe))
    found = document.table.get(LADDER, [])
    listed = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in listed):
        raise ConfigError(
            f"{document.where((LADDER,))}: a rung is a table, [ladder] or [[ladder]], with rung and title."
        )
    rungs = [validate(Rung, one, Document(one, f"{document.where((LADDER,))}, [[{LADDER}]]")) for one in listed]
    stem = Path(recipe).name.removesuffix(".toml")
    named = [
        one if one.name else one.changed(name=stem if len(rungs) == 1 else f"{stem}-{slug(one.title)}") for one in rungs
    ]
    return sorted(named, key=lambda one: one.rung)


def slug(title: str) -> str:
    """A title as a part of a file name."""
    return "-".join(re.findall(r"\w+", title.lower()))


def compose(
    recipe: str | None = None,
    scale: str | None = None,
    train: tuple[Corpus, ...] = (),
    valid: tuple[Corpus, ...] = (),
    overrides: list[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    test: tuple[Corpus, ...] = (),
    start: str | None = None,
    out: Path | None = None,
) -> Composed:
    """Recipe, then files, then settings; the later wins. `start` is a run whose settings stand in for a recipe; the run
    in `out` has a record of them if it was started so."""
    if scale is not None and recipe is None:
        raise ConfigError(f"--scale {scale} needs a recipe.")
    splits = {"train": train, "valid": valid, "test": test}
    files = {
        name: [corpus if isinstance(corpus, str) else list(corpus) for corpus in corpora]
        for name, corpora in splits.items()
        if corpora
    }
    refuse_other_encodings(files, start)
    own = parse_overrides(overrides or [])
    named = nest({dotted(name): value for name, value in (settings or {}).items() if value is not None})
    given = merge(named, own.table)
    if files:  # which are there whatever kind of data they are said to hold
        given = {"data": {**files, **given.get("data", {})}, **{k: v for k, v in given.items() if k != "data"}}
    documents = (Document(named, "settings"), own)
    begin = start or start_in(given)
    base = Document({}) if recipe is None else read_recipe(recipe, scale, bool(begin))
    auto = True if recipe is None else auto_of(recipe, scale)
    open_, listed = bool(auto), auto if isinstance(auto, tuple) else ()
    refuse_start(base)
    if begin:
        chosen = {} if recipe is None else {"recipe": recipe, "scale": scale or ""}
        text = tomlkit.dumps({"from": begin, **chosen, "settings": given})
        if recipe is None:
            return Composed(started(begin, out, given, *documents), text)
        experiment, table = with_body(base, begin, out, given, *documents)
        return Composed(experiment, text, Given(table, given, PARTS_OF_A_BODY, listed) if open_ else None)
    both = Given(base.table, given, listed=listed)
    experiment = possible(both, base, *documents) if open_ else validate(Experiment, both.whole, base, *documents)
    text = tomlkit.dumps({"recipe": recipe or "", "scale": scale or "", "settings": both.table})
    return Composed(experiment, text, both if open_ else None)


def possible(given: Given, *documents: Document) -> Experiment:
    """The settings but for those of parts whose kind the data is to choose: whether they fit is known then. Where
    letters are read and the data is to choose the tokenizer, it will be one of whole words."""
    table, known = given.whole, flatten(given.whole)
    while True:
        try:
            return validate(Experiment, table, *documents)
        except ConfigError as error:
            later = [key for key in of_another_kind(str(error)) if f"{key.rpartition('.')[0]}.kind" not in known]
            words = (
                {"source.kind": WHOLE_WORDS[0]} if READS_LETTERS in str(error) and "source.kind" not in known else {}
            )
            fewer = {key: value for key, value in (known | words).items() if key not in later}
            if fewer == known:
                raise
            known = fewer
            table = nest({dotted(key): value for key, value in known.items()})


def refuse_other_encodings(files: Mapping[str, list[Any]], start: str | None) -> None:
    """A config holds these names, and is UTF-8."""
    corpora = [corpus for split in files.values() for corpus in split]
    names = [name for corpus in corpora for name in ([corpus] if isinstance(corpus, str) else corpus)]
    for name in (*names, start or ""):
        if not is_utf8(name):
            raise ConfigError(
                f"The name of {name} is not UTF-8, and cannot stand in a config. Rename it, or make a link."
            )


def refuse_start(recipe: Document) -> None:
    """The config of a run that was started from another is a recipe but for this."""
    if begin := start_in(recipe.table):
        raise ConfigError(
            f"{recipe.where(('training', 'start'))}: training.start = '{begin}' is no setting of a recipe. Delete it "
            f"to train anew, or leave the recipe out and give --from {begin}."
        )


def start_in(table: Mapping[str, Any]) -> str:
    training = table.get("training", {})
    return str(training.get("start", "")) if isinstance(training, Mapping) else ""


def with_body(
    recipe: Document, begin: str, out: Path | None, given: Table, *documents: Document
) -> tuple[Experiment, Table]:
    """A recipe, but for tokenizer, frontend and encoder, which are those of the run that is started from; and the same
    as a table."""
    training = given.get("training", {})
    if value_at(recipe.table, "model", "kind") != "encoder_only":
        raise ConfigError(
            f"--from {begin} with a recipe puts a new head on what that run has learned to read, and {recipe.name} is "
            "no recipe of a model that only reads, as classify and tag are. To go on with the whole model under its "
            f"own settings, leave the recipe {recipe.name.removesuffix('.toml')} out."
        )
    if isinstance(training, Mapping) and training.get("take") == "all":
        raise ConfigError(
            "training.take = 'all' goes on with the whole model, under its own settings: leave the recipe out, or set "
            "training.take = 'body' or 'shape'."
        )
    origin = origin_of(begin, out)
    base = Document(origin.settings, f"settings of {begin}")
    before = validate(Experiment, origin.settings, base)
    own = without_limits(recipe.table, given)
    table = merge({"training": {"take": "body"}}, upon_body(own, before, given), {"training": {"start": begin}})
    experiment = validate(Experiment, table, recipe, base, *documents)
    refuse_other_body(before, experiment, begin)
    return experiment, table


def started(begin: str, out: Path | None, given: Table, *documents: Document) -> Experiment:
    """The settings of the run that is started from, but for its data, and but for what is given."""
    if value_at(given, "training", "take") not in (None, "all"):
        raise ConfigError(
            f"training.take = '{value_at(given, 'training', 'take')}' puts a new head on what {begin} has learned to "
            "read: name the recipe of the new task, such as classify or tag."
        )
    origin = origin_of(begin, out)
    base = Document(origin.settings, f"settings of {begin}")
    table = merge(without_limits(origin.settings, given), given, {"training": {"start": begin}})
    experiment = validate(Experiment, table, base, *documents)
    refuse_other_model(validate(Experiment, origin.settings, base), experiment, begin)
    return experiment
