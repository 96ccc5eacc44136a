"""Every part that a config can name: its equation, its paper, its file and the line that selects it.

All of it is read from the code. The docstring of a part begins with "equation (paper)", with "sentence (paper)" or with
"sentence: equation (paper)"; what builds a kind stands beside its config and carries its name: AdditiveAttention for
Additive, beam_search for Beam. The choices of a plain setting have their meanings in Choices, or in the setting's
docstring as "choice: …; choice: …".
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

from pydantic.fields import FieldInfo

from dragoman.config import Choices, Config, config_classes, nest, toml_value
from dragoman.errors import unknown
from dragoman.experiment import Experiment

PACKAGE = Path(__file__).parent
PARENTHESIS = re.compile(r"\s*\(((?:[^()]|\([^()]*\))*)\)")
PAPER = re.compile(r"[^\W\d_].*\b(?:18|19|20)\d\d[a-z]?\b", re.DOTALL)  # a name, and later a year
EQUATION = re.compile(r"\S\s+[=←∝]\s+\S")

Pairs = tuple[tuple[str, Any], ...]  # ("model.decoder.attention.kind", "dot"), …


class Told(NamedTuple):
    """What a docstring says: "sentence: equation (paper)", of which any may be missing."""

    sentence: str = ""
    equation: str = ""
    paper: str = ""


@dataclass(frozen=True)
class Place:
    """Where in a config something stands, and what must be chosen around it for it to stand there."""

    path: str
    around: Pairs = ()
    default: bool = True
    about: str = ""


TOP = Place("")


@dataclass(frozen=True)
class Selection:
    """How a part is chosen at one place."""

    path: str
    pairs: Pairs
    default: bool
    about: str = ""  # what a component is for: "how the source is looked at"

    @property
    def settings(self) -> list[str]:
        """As typed behind `dragoman train`: ["model.decoder.attention.kind=additive"]."""
        return [f"{name}={typed(value)}" for name, value in self.pairs]

    @property
    def toml(self) -> str:
        """As written in a config: model.decoder.attention = { kind = "additive" }"""
        [(name, value), *others] = self.pairs
        if not others and not name.endswith(".kind"):
            return f"{name} = {inline(value)}"
        tables = [name.rpartition(".")[0].split(".") for name, _ in self.pairs]
        shared = list(takewhile(lambda keys: len({*keys}) == 1, zip(*tables, strict=False)))
        depth = len(shared)
        inner = {tuple(name.split(".")[depth:]): value for name, value in self.pairs}
        return f"{'.'.join(tables[0][:depth])} = {inline(nest(inner))}"


@dataclass(frozen=True)
class Part:
    """A kind of a component, or a choice that selects an equation."""

    name: str
    selections: tuple[Selection, ...]
    sentence: str
    equation: str
    paper: str
    file: Path

    @property
    def paths(self) -> str:
        return " and ".join(selection.path for selection in self.selections)

    @property
    def words(self) -> set[str]:
        """What it is found by: its name, the keys above it, its folder and its file."""
        keys = {key for selection in self.selections for key in selection.path.split(".")}
        return {self.name, self.file.stem, *keys, *self.file.relative_to(PACKAGE).parts[:-1]}

    @property
    def place(self) -> str:
        """Its file, from the folder that the package lies in."""
        return self.file.relative_to(PACKAGE.parent).as_posix()

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        where = [{"settings": one.settings, "toml": one.toml, "default": one.default} for one in self.selections]
        told = {"equation": self.equation, "sentence": self.sentence, "paper": self.paper}
        families = [selection.path for selection in self.selections]
        return {"part": self.name, "families": families, **told, "file": self.place, "select": where}


def parts(family: str | None = None, root: type[Config] = Experiment) -> list[Part]:
    """All parts in the order of the config; or those of a family: attention, cells, model.decoder, gru."""
    found = [*kinds(root).values(), *choices(root)]
    order = list(dict.fromkeys(path_of(place) for place in every_place(root)))
    found.sort(key=lambda part: order.index(part.selections[0].path))
    if family is None:
        return found
    wanted = family.lower()
    exact = [part for part in found if any(one.path == wanted for one in part.selections)]
    chosen = exact or [part for part in found if any(is_word(wanted, word) for word in part.words)]
    if not chosen:
        last = {selection.path.split(".")[-1] for part in found for selection in part.selections}
        raise unknown("family of parts", family, last)
    return chosen


def is_word(wanted: str, word: str) -> bool:
    """attention and attentions, searches and search."""
    return wanted in (word, f"{word}s", f"{word}es") or f"{wanted}s" == word


def tables(config: type[Config], above: Place = TOP) -> Iterator[tuple[Place, type[Config]]]:
    """Where each config may stand: (model.decoder.attention, Additive); the table itself comes first."""
    yield above, config
    for name, info in config.model_fields.items():
        default = getattr(default_of(info), "kind", None)
        for inner in config_classes(info.annotation):
            path, kind = f"{above.path}.{name}".lstrip("."), kind_of(inner)
            around = above.around if kind in (None, default) else (*above.around, (f"{path}.kind", kind))
            yield from tables(inner, Place(path, around, kind == default, plain(info.description)))


def every_table(root: type[Config] = Experiment) -> dict[tuple[str, type[Config]], Place]:
    """Each table once a path, where the fewest other things must be chosen."""
    found: dict[tuple[str, type[Config]], Place] = {}
    for place, config in tables(root):
        known = found.get((place.path, config))
        if known is None or len(place.around) < len(known.around):
            found[place.path, config] = place
    return found


def every_config() -> dict[type[Config], list[str]]:
    """All config classes with their paths, in the order of files and of lines."""
    paths: dict[type[Config], list[str]] = {}
    for path, config in every_table():
        paths.setdefault(config, []).append(path)
    return dict(sorted(paths.items(), key=lambda item: (file_of(item[0]), inspect.getsourcelines(item[0])[1])))


def every_place(root: type[Config]) -> Iterator[tuple[str, str]]:
    """(path of a table, name of a setting) in the order of the config, tables of a key before what is in them."""
    for path, config in every_table(root):
        yield path, ""
        yield from ((path, name) for name in config.model_fields if name != "kind")


def path_of(place: tuple[str, str]) -> str:
    return ".".join(filter(None, place))


def kinds(root: type[Config] = Experiment) -> dict[type[Config], Part]:
    """A part for each config with a kind."""
    found: dict[type[Config], Part] = {}
    for (path, config), place in every_table(root).items():
        if (kind := kind_of(config)) is None:
            continue
        # The kind is in `around` already unless it is the default one.
        pairs = place.around if not place.default else (*place.around, (f"{path}.kind", kind))
        here = Selection(path, pairs, place.default, place.about)
        known = found.get(config) or kind_part(kind, config)
        found[config] = replace(known, selections=(*known.selections, here))
    return found


def kind_part(kind: str, config: type[Config]) -> Part:
    """The equation of what builds it, or its own; a paper of either."""
    own = read(paragraph(config))
    told = [read(paragraph(builder)) for builder in (*built_from(config), *functions_of(config))]
    main = next((one for one in (*told, own) if one.equation), own)
    paper = next((one.paper for one in (main, own, *told) if one.paper), "")
    return Part(kind, (), own.sentence, main.equation, paper, file_of(config))


def choices(root: type[Config] = Experiment) -> list[Part]:
    """A part for each choice of a plain setting that says what it computes; once, wherever it may be chosen."""
    found: dict[Part, list[Selection]] = {}
    for (path, config), place in every_table(root).items():
        for name, info in config.model_fields.items():
            if (meanings := meanings_of(name, info)) is None:
                continue
            for choice in meanings.meanings:
                here = selection_of(choice, meanings, path, name, info, place.around)
                known = found.setdefault(choice_part(choice, meanings, owner_of(name, config)), [])
                if here.path not in [other.path for other in known]:
                    known.append(here)
    return [replace(part, selections=tuple(where)) for part, where in found.items()]


def selection_of(choice: str, meanings: Choices, table: str, name: str, info: FieldInfo, around: Pairs) -> Selection:
    at = f"{table}.{name}".lstrip(".")
    value = [choice] if holds_several(info.annotation) else choice
    needs = [(f"{table}.{key}".lstrip("."), needed) for key, needed in meanings.needs.get(choice, {}).items()]
    default = default_of(info)
    return Selection(
        at, (*around, *needs, (at, value)), choice in default if isinstance(default, tuple) else default == choice
    )


def owner_of(name: str, config: type[Config]) -> type[Config]:
    """The class that has the setting itself, where others inherit it."""
    return next(base for base in config.__mro__ if name in inspect.get_annotations(base))


def choice_part(choice: str, meanings: Choices, config: type[Config]) -> Part:
    meaning = meanings.meanings[choice]
    told = read(meaning if isinstance(meaning, str) else paragraph(meaning))
    home = sys.modules.get(meanings.module, config) if isinstance(meaning, str) else meaning
    return Part(choice, (), *told, file_of(home))


def meanings_of(name: str, info: FieldInfo) -> Choices | None:
    """What each choice of a setting means, if someone says so: in Choices, else "choice: …; choice: …" below it."""
    known = literals(info.annotation)
    if name == "kind" or not known:
        return None
    told = next((one for one in info.metadata if isinstance(one, Choices)), None)
    if told is not None:
        return told
    marks = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, known))}): ")
    pieces = marks.split(plain(info.description))[1:]
    said = {choice: text.rstrip("; ,.") for choice, text in zip(pieces[::2], pieces[1::2], strict=True)}
    return Choices({choice: said[choice] for choice in known}) if set(said) == set(known) else None


def literals(annotation: Any) -> tuple[str, ...]:
    """The texts to choose from, of a Literal or of a list or union of one."""
    if get_origin(annotation) is Literal:
        return tuple(choice for choice in get_args(annotation) if isinstance(choice, str))
    return tuple(dict.fromkeys(choice for inner in get_args(annotation) for choice in literals(inner)))


def holds_several(annotation: Any) -> bool:
    return get_origin(annotation) in (tuple, list)


def built_from(config: type[Config]) -> list[type]:
    """The classes beside a config that carry its name: AdditiveAttention for Additive."""
    beside = [part for part in vars(sys.modules[config.__module__]).values() if inspect.isclass(part)]
    names = [part.__name__ for part in beside if issubclass(part, Config)]
    return [
        part
        for part in beside
        if not issubclass(part, Config)
        and re.match(rf"{config.__name__}[A-Z]", part.__name__)
        and not any(part.__name__.startswith(name) for name in names if len(name) > len(config.__name__))
    ]


def functions_of(config: type[Config]) -> list[Any]:
    """The functions beside a config that carry its name: beam_search for Beam."""
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", config.__name__).lower()
    beside = [part for part in vars(sys.modules[config.__module__]).values() if inspect.isfunction(part)]
    return [
        part for part in beside if part.__module__ == config.__module__ and f"{part.__name__}_".startswith(f"{snake}_")
    ]


def read(text: str) -> Told:
    """Parentheses without a paper are part of what is said."""
    papers = [match for match in PARENTHESIS.finditer(text) if PAPER.search(match[1])]
    for match in reversed(papers):
        text = text[: match.start()] + text[match.end() :]
    whole, paper = text.strip().removesuffix("."), "; ".join(match[1] for match in papers)
    before, _, after = whole.partition(": ")
    if EQUATION.search(before):
        return Told("", whole, paper)
    return Told(before, after, paper) if EQUATION.search(after) else Told(whole, "", paper)


def paragraph(part: Any) -> str:
    """The first paragraph of a docstring."""
    return plain((inspect.getdoc(part) or "").split("\n\n")[0])


def plain(text: str | None) -> str:
    return " ".join((text or "").split())


def file_of(part: Any) -> Path:
    return Path(inspect.getfile(part))


def kind_of(config: type[Config]) -> str | None:
    return config.model_fields["kind"].default if "kind" in config.model_fields else None


def default_of(info: FieldInfo) -> Any:
    return info.get_default(call_default_factory=True, validated_data={})


def inline(value: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {inline(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def typed(value: Any) -> str:
    """A value on the command line: without quotes where it is a text all the same."""
    return value if isinstance(value, str) and toml_value(value) == value else inline(value)
