"""TOML and key=value → frozen settings and back; the only code that reads settings."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import tomlkit
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from dragoman.complaints import sentence
from dragoman.errors import ConfigError, StorageError
from dragoman.storage import BLANK, is_intact, read_bounded, sealed

LARGEST_FILE = 1_000_000  # bytes of TOML; a config is a page, not a corpus
DEEPEST = 20  # tables within tables
# A key of more parts than that is refused before it is parsed, which takes memory with the square of its parts.
LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST},}}""")

Table = dict[str, Any]
SomeConfig = TypeVar("SomeConfig", bound="Config")


class Config(BaseModel):
    """Settings of one component, written once: the TOML table, the override path, the help text, the saved config."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _keep_default_kinds(cls, given: Any) -> Any:
        """`encoder.width = 128` speaks of the default encoder: a table without `kind` gets the default's."""
        if not isinstance(given, dict):
            return given
        filled = dict(given)
        for name, info in cls.model_fields.items():
            kind = getattr(info.get_default(call_default_factory=True, validated_data={}), "kind", None)
            value = filled.get(name)
            if kind is not None and isinstance(value, dict):
                filled[name] = {"kind": kind, **value}
            elif isinstance(value, bool) and not admits_truth(info.annotation):
                filled[name] = str(value).lower()  # which is then no number; pydantic takes true for 1
        return filled

    def changed(self: SomeConfig, **fields: Any) -> SomeConfig:
        """A copy with other values, validated again."""
        return type(self).model_validate({**dict(self), **fields})


def admits_truth(annotation: Any) -> bool:
    return annotation in (bool, Any) or any(admits_truth(inner) for inner in get_args(annotation))


def practical(default: Any, **arguments: Any) -> Any:
    """A setting that may change when a run is resumed, since no number of the training depends on it."""
    return Field(default, json_schema_extra={"practical": True}, **arguments)


@dataclass(frozen=True, eq=False)
class Choices:
    """What the choices of a setting are, for the catalogue: `cell: Annotated[Cell, Choices(CELLS)]`.

    A meaning is "equation (paper)", or the class or function that has it in its docstring. `module` is where it is
    computed, if that is another file than the config's; `needs` has what a choice asks of the settings beside it.
    """

    meanings: Mapping[Any, Any]
    module: str = ""
    needs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Document:
    """A table as read, and where each key stands, for the error that names it."""

    table: Table
    name: str = ""
    lines: Mapping[tuple[str, ...], int] = field(default_factory=dict)

    def where(self, path: tuple[str, ...]) -> str:
        """train.toml, line 14: the line of the key, or of the nearest table around it."""
        if not self.name:
            return ""
        for depth in range(len(path), 0, -1):
            if path[:depth] in self.lines:
                return f"{self.name}, line {self.lines[path[:depth]]}"
        return self.name


def read_sealed(path: Path) -> Document:
    """Read a config file that dragoman wrote; a change that nobody has owned up to is damage."""
    if not is_intact(raw_toml(path)):
        remedy = "If the change is yours, delete the line '# seal: …' at its top; if not, restore the file from a copy."
        raise StorageError(f"{path} has changed since dragoman wrote it. {remedy}")
    document = read_toml(path)
    if not document.table:
        raise StorageError(f"{path} is damaged: it is empty. Restore it from a copy.")
    return document


def raw_toml(path: Path) -> bytes:
    return read_bounded(path, LARGEST_FILE, ConfigError)


def read_toml(path: Path) -> Document:
    """Read a config file of bounded size and depth."""
    raw = raw_toml(path)
    try:
        text = raw.decode("utf-8")
        if LONG_KEY.search(text):
            raise ConfigError(f"{path} nests tables deeper than {DEEPEST}.")
        table = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        reason = "its tables are nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(f"{path} is not valid TOML: {reason}.") from error
    if depth_of(table) > DEEPEST:
        raise ConfigError(f"{path} nests tables deeper than {DEEPEST}.")
    return Document(table, path.name, dict(key_lines(text)))


def depth_of(value: Any) -> int:
    """How deeply tables and lists are nested, without recursing into a hostile file."""
    depth, layer = 0, [value]
    while layer:
        containers = [item for item in layer if isinstance(item, dict | list)]
        layer = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
        depth += bool(containers)
        if depth > DEEPEST:
            break
    return depth


def key_lines(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """(path of a key, line number) for tables and plain keys."""
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if header := re.match(r"\s*\[+\s*([^\]]+?)\s*\]+", line):
            table = dotted(header[1])
            yield table, number
        elif pair := re.match(r"\s*([\w.\-\"']+)\s*=", line):
            yield (*table, *dotted(pair[1])), number


def dotted(path: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in path.split("."))


def parse_overrides(pairs: list[str]) -> Document:
    """["training.optimiser.rate=0.001", …] → a table; values are TOML, and what is not is a string."""
    values: dict[tuple[str, ...], Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        names = dotted(path)
        if not equals or not all(names):
            raise ConfigError(f"'{pair}' is no setting. Write section.key=value, e.g. model.encoder.width=256.")
        values[names] = toml_value(text)
    return Document(nest(values), "command line")


def nest(values: Mapping[tuple[str, ...], Any]) -> Table:
    """{("a", "b"): 1} → {"a": {"b": 1}}"""
    table: Table = {}
    for names, value in values.items():
        here = table
        for name in names[:-1]:
            here = here.setdefault(name, {})
            if not isinstance(here, dict):
                raise ConfigError(f"'{'.'.join(names)}' is a key inside '{name}', which another setting made a value.")
        here[names[-1]] = value
    return table


def toml_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"a": {"b": 1}} → {"a.b": 1}"""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def merge(*tables: Mapping[str, Any]) -> Table:
    """Later tables win, key by key; a table with another `kind` replaces the earlier one whole."""
    merged: Table = {}
    for table in tables:
        for name, value in table.items():
            before = merged.get(name)
            if not isinstance(value, Mapping):
                merged[name] = value
            elif isinstance(before, dict) and value.get("kind", before.get("kind")) == before.get("kind"):
                merged[name] = merge(before, value)
            else:
                merged[name] = merge(value)
    return merged


def validate(kind: type[SomeConfig], table: Table, *documents: Document) -> SomeConfig:
    """Settings from a table; every complaint names the key, its place, what is allowed and what is nearest."""
    try:
        return kind.model_validate(table)
    except ValidationError as error:
        raise ConfigError("\n".join(complaint(kind, problem, documents) for problem in error.errors())) from error


def complaint(kind: type[Config], problem: ErrorDetails, documents: tuple[Document, ...]) -> str:
    item = "".join(f" (value {part + 1})" for part in problem["loc"] if isinstance(part, int))
    owner, path = resolve(kind, tuple(part for part in problem["loc"] if isinstance(part, str)))
    place = next((text for document in reversed(documents) if (text := place_of(document, path))), "")
    where = item + (f" ({place})" if place else "")
    return sentence(problem, path, where, owner.model_fields, kinds_with(kind, path))


def kinds_with(kind: type[Config], path: tuple[str, ...]) -> list[str]:
    """The kinds of a table that have the last key of a path; none where the table has one kind only."""
    if not path:
        return []
    owners: list[type[Config]] = [kind]
    for part in path[:-1]:
        infos = [owner.model_fields[part] for owner in owners if part in owner.model_fields]
        owners = [member for info in infos for member in config_classes(info.annotation)]
    having = [owner.model_fields for owner in owners if path[-1] in owner.model_fields]
    return sorted({str(fields["kind"].default) for fields in having if "kind" in fields})


def place_of(document: Document, path: tuple[str, ...]) -> str:
    here: Any = document.table
    for name in path:
        if not isinstance(here, dict) or name not in here:
            return ""
        here = here[name]
    return document.where(path)


def resolve(kind: type[Config], path: tuple[str, ...]) -> tuple[type[Config], tuple[str, ...]]:
    """The config class that owns the last key, and the path without the union tags that pydantic puts in."""
    owner: type[Config] = kind
    plain: list[str] = []
    members: list[type[Config]] = []
    for part in path:
        chosen = [member for member in members if getattr(member.model_fields.get("kind"), "default", None) == part]
        if len(members) > 1 and chosen:
            owner = chosen[0]
            members = []
            continue
        plain.append(part)
        info = owner.model_fields.get(part)
        members = list(config_classes(info.annotation)) if info else []
        if len(members) == 1:
            owner = members[0]
    return owner, tuple(plain)


def config_classes(annotation: Any) -> Iterator[type[Config]]:
    """The config classes inside an annotation: itself, or the members of a union."""
    if isinstance(annotation, type) and issubclass(annotation, Config):
        yield annotation
    for inner in get_args(annotation):
        yield from config_classes(inner)


def to_sealed_toml(config: Config) -> bytes:
    """The same with a seal, which a person who changes the file takes off."""
    return with_seal(to_toml(config))


def with_seal(text: str) -> bytes:
    note = "# Written by dragoman. After a change by hand, delete the next line.\n"
    return sealed(f"{note}# seal: {BLANK}\n\n{text}".encode())


def to_toml(config: Config) -> str:
    """The settings as a TOML file, each with its explanation, that reads back to the same settings."""
    document = tomlkit.document()
    fill(document, config)
    return tomlkit.dumps(document)


def fill(table: Any, config: Config) -> None:
    nested: list[tuple[str, Config]] = []
    for name, info in type(config).model_fields.items():
        value = getattr(config, name)
        if isinstance(value, Config):
            nested.append((name, value))
        elif value is not None:
            item = tomlkit.item(plain_value(value))
            if info.description:
                item.comment(" ".join(info.description.split()))
            table.add(name, item)
    for name, value in nested:
        inner = tomlkit.table()
        fill(inner, value)
        table.add(name, inner)


def plain_value(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def mathematical(config: Config, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, value) of every plain setting that a number of the training depends on."""
    for name, info in type(config).model_fields.items():
        value = getattr(config, name)
        if is_practical(info):
            continue
        if isinstance(value, Config):
            yield from mathematical(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def is_practical(info: FieldInfo) -> bool:
    return isinstance(info.json_schema_extra, dict) and bool(info.json_schema_extra.get("practical"))


def difference(old: Config, new: Config) -> list[str]:
    """A line for each mathematical setting that differs: "training.optimiser.rate: 0.001 → 0.002"."""
    before, after = dict(mathematical(old)), dict(mathematical(new))
    names = [*before, *(name for name in after if name not in before)]
    absent = "(not there)"
    return [
        f"{name}: {before.get(name, absent)} → {after.get(name, absent)}"
        for name in names
        if before.get(name, absent) != after.get(name, absent)
    ]
