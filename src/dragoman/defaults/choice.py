"""A setting that was chosen from the data, and how choices become a table or a recipe."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import tomlkit

from dragoman.config import Table, dotted, flatten, merge, nest
from dragoman.runs import LIMITS, without_limits


@dataclass(frozen=True)
class Choice:
    """A setting, its value, and why."""

    key: str
    value: Any
    reason: str


@dataclass(frozen=True)
class Given:
    """The settings of a recipe that leaves some open, and those of the user; the data decides the rest."""

    recipe: Table
    user: Table
    closed: tuple[str, ...] = ()  # parts that are given as a whole
    listed: tuple[str, ...] = ()  # settings of the recipe that count only where the data decides nothing else

    @property
    def whole(self) -> Table:
        """All settings, those that the data may replace included."""
        return merge(without_limits(self.recipe, self.user), self.user)

    @property
    def table(self) -> Table:
        """The settings that the data cannot replace."""
        own = flatten(self.user)
        kept = {key: value for key, value in flatten(self.whole).items() if key in own or key not in self.listed}
        return nest({dotted(key): value for key, value in kept.items()}) if self.listed else self.whole

    @cached_property
    def known(self) -> dict[str, Any]:
        """The same by their dotted names."""
        return flatten(self.table)

    @cached_property
    def kinds(self) -> set[str]:
        """The parts of which the user wants another kind than the recipe has: their settings are not chosen. Those of
        data always are: they follow from its kind."""
        before, own = flatten(self.recipe), flatten(self.user)
        changed = {key for key, value in own.items() if key.endswith(".kind") and before.get(key) != value}
        return changed - {"data.kind"}

    def leaves_open(self, key: str) -> bool:
        """Whether neither this setting is given, nor its whole part or another kind of it, nor another limit of the
        training."""
        if key.startswith(tuple(f"{part}." for part in self.closed)):
            return False
        path = key.split(".")
        kinds = {".".join([*path[:depth], "kind"]) for depth in range(1, len(path))}
        limits = {f"training.{name}" for name in LIMITS} if key == "training.epochs" else set()
        return ({key} | limits).isdisjoint(self.known) and kinds.isdisjoint(self.kinds)


def is_validated(given: Mapping[str, Any], held_out: bool) -> bool:
    """Whether there is validation data: files, or a share of the training data, which is chosen if it is `held_out`."""
    return bool(given.get("data.valid") or given.get("data.hold_out", held_out))


def as_table(choices: Iterable[Choice]) -> dict[str, Any]:
    return nest({dotted(choice.key): choice.value for choice in choices})


def as_toml(choices: Sequence[Choice]) -> str:
    """The choices as a recipe that can be edited, each with its reason."""
    document = tomlkit.document()
    document.add(
        tomlkit.comment("Chosen from the data. Edit it, and give this file to `dragoman train` as the recipe.")
    )
    tables: dict[str, Any] = {"": document}
    for choice in choices:
        *path, name = dotted(choice.key)
        item = tomlkit.item(choice.value)
        item.comment(choice.reason)
        table_at(tables, tuple(path)).add(name, item)
    return tomlkit.dumps(document)


def table_at(tables: dict[str, Any], path: tuple[str, ...]) -> Any:
    """The table of this path, made where it is not there yet."""
    name = ".".join(path)
    if name not in tables:
        tables[name] = tomlkit.table()
        table_at(tables, path[:-1]).add(path[-1], tables[name])
    return tables[name]
