"""Which models are compared: the ladder that the recipes make together, or the recipes that were named."""

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dragoman.config import Document, Table, merge
from dragoman.errors import ConfigError, nearest
from dragoman.experiment.settings import value_at, with_what_follows
from dragoman.recipes import Rung, read_recipe, read_rungs, recipe_names, recipe_path, refuse_start

OWN = ("model", "objective", "regime")  # what a recipe contributes to a comparison
LONGEST_TITLE = 80
LONGEST_LINE = 1_000  # characters of a first line that are read


@dataclass(frozen=True)
class Contender:
    """A recipe at a scale, with the changes of its rung."""

    name: str  # of its run folder
    title: str
    recipe: str
    scale: str | None = None
    changes: Table = field(default_factory=dict)

    def document(self) -> Document:
        """The settings of the recipe, and where they stand."""
        document = read_recipe(self.recipe, self.scale)
        refuse_start(document)
        return document


def data_kind(table: Table) -> str:
    """What settings learn from, where they say so or it follows from their model."""
    return str(value_at(with_what_follows(table), ("data", "kind")) or "pairs")


def ladder(scale: str | None = None, kind: str = "pairs") -> list[Contender]:
    """Every rung of every recipe that learns from such data, the lowest first."""
    recipes = [name for name in recipe_names() if data_kind(read_recipe(name, None).table) == kind]
    found = [(rung, recipe) for recipe in recipes for rung in read_rungs(recipe)]
    if not found:
        raise ConfigError(
            f"No recipe of data.kind = '{kind}' has a place in the ladder. Name the recipes to compare: dragoman "
            f"compare FILE {' '.join((recipes or recipe_names())[:2])}."
        )
    heads = {recipe: value_at(read_recipe(recipe, None).table, ("model", "head", "kind")) for _, recipe in found}
    if len({*heads.values()} - {None}) > 1:  # None: the data decides
        raise ConfigError(
            f"The data may be learned in several ways (data.kind = '{kind}'): {' or '.join(heads)}. Name the recipe to "
            f"compare: dragoman compare FILE {next(iter(heads))}."
        )
    ordered = sorted(found, key=lambda pair: (pair[0].rung, pair[0].name))
    return distinct([climbed(rung, recipe, scale) for rung, recipe in ordered])


def climbed(rung: Rung, recipe: str, scale: str | None) -> Contender:
    title, own = rung.title or first_words(recipe), scale or rung.scale or None
    return Contender(rung.name, title, recipe, own, merge(rung.settings, rung.scales.get(own or "", {})))


def contenders(names: Sequence[str], scale: str | None = None, kind: str = "pairs") -> list[Contender]:
    """The recipes that were named, each NAME, NAME:scale or a .toml file; a recipe of several rungs brings them all,
    and a rung may be named alone. Without names: the ladder of that kind of data."""
    if not names:
        return ladder(scale, kind)
    found: list[Contender] = []
    for word in names:
        name, _, own = split_scale(word)
        if name in rung_names():
            [(rung, recipe)] = [pair for pair in all_rungs() if pair[0].name == name]
            found.append(climbed(rung, recipe, own or scale))
            continue
        path = recipe_path(name)
        if not path.is_file():
            raise ConfigError(f"There is no recipe file {path}.{nearest(name, recipe_names())}")
        rungs = read_rungs(name)
        plain = Contender(path.stem, first_words(name), name, own or scale)
        found += [climbed(rung, name, own or scale) for rung in rungs] or [plain]
    return distinct(found)


def all_rungs() -> list[tuple[Rung, str]]:
    return [(rung, recipe) for recipe in recipe_names() for rung in read_rungs(recipe)]


def rung_names() -> list[str]:
    """Rungs that a name stands for alone: a recipe's own name stands for all of its rungs."""
    counts = Counter(rung.name for rung, _ in all_rungs())
    return [name for name, count in counts.items() if count == 1 and name not in recipe_names()]


def distinct(found: list[Contender]) -> list[Contender]:
    """Each in a folder of its own: files of the same name have that of their folder before it, and the same recipe at
    another scale has the scale in its name."""
    files = {(one.name, one.recipe) for one in found}
    shared = {name for name, count in Counter(name for name, _ in files).items() if count > 1}
    found = [
        replace(one, name=f"{recipe_path(one.recipe).resolve().parent.name}-{one.name}")
        if one.name in shared and one.recipe.endswith(".toml")
        else one
        for one in found
    ]
    twice = {name for name, count in Counter(one.name for one in found).items() if count > 1}
    named = [
        Contender(f"{one.name}-{one.scale}", f"{one.title} ({one.scale})", one.recipe, one.scale, one.changes)
        if one.name in twice and one.scale
        else one
        for one in found
    ]
    for one in named:
        if not re.fullmatch(r"\w[\w.\-]*", one.name):
            raise ConfigError(f"'{one.name}' ({one.recipe}) cannot name a folder. Use letters, digits, - and _.")
    if again := [name for name, count in Counter(one.name for one in named).items() if count > 1]:
        raise ConfigError(f"'{again[0]}' would be compared with itself: name every recipe (or rung) once.")
    return named


def first_words(recipe: str) -> str:
    """The title of a recipe up to its first colon or semicolon: the first comment line, unless dragoman wrote it above
    the settings of a run."""
    with recipe_path(recipe).open(encoding="utf-8", errors="replace") as file:
        line = file.readline(LONGEST_LINE)
    if not line.startswith("#") or line.startswith("# Written by dragoman"):
        return ""
    words = re.split(r"[:;]", line.lstrip("# "))[0].strip()
    return words if len(words) <= LONGEST_TITLE else words[: LONGEST_TITLE - 1] + "…"


def split_scale(word: str) -> tuple[str, str, str | None]:
    """bahdanau2015:tiny → the recipe and its scale."""
    name, colon, scale = word.rpartition(":")
    return (name, colon, scale) if colon and name else (word, "", None)


def is_recipe(word: str) -> bool:
    """Whether a word of the command names something to compare; a file of that name is data."""
    name = split_scale(word)[0]
    if name.endswith(".toml"):
        return True
    return not os.path.isfile(word) and (name in recipe_names() or name in rung_names())


def settled(contender: Contender, shared: Table, given: Table) -> Table:
    """All settings of a contender. Of its recipe come model, objective and regime, and the rest is shared; what its
    rung changes, and what is given, always counts."""
    recipe = contender.document().table
    own = {part: recipe[part] for part in OWN if part in recipe}
    return merge(shared, own, contender.changes, given)


def known_names() -> list[str]:
    """All that a word may name, files aside."""
    return [*recipe_names(), *rung_names()]
