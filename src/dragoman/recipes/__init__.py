"""Recipes: one TOML a paper or task, and how a recipe, a scale and the user's own settings become one config."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit

from dragoman.config import Document, dotted, merge, nest, parse_overrides, read_toml, validate
from dragoman.data.readers.pairs import Corpus
from dragoman.errors import ConfigError, unknown
from dragoman.experiment import Experiment

FOLDER = Path(__file__).parent
SCALES = "scales"  # the table of a recipe that holds a table of changes for each scale


@dataclass(frozen=True)
class Composed:
    """A complete config, and the settings as they were given."""

    settings: Experiment
    given: str


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


def read_recipe(name: str, scale: str | None) -> Document:
    """A recipe at one of its scales."""
    document = read_toml(recipe_path(name))
    table = dict(document.table)
    scales = table.pop(SCALES, {})
    if not isinstance(scales, dict) or not all(isinstance(changes, dict) for changes in scales.values()):
        raise ConfigError(f"{document.where((SCALES,))}: a scale is a table of settings, [scales.tiny] for one.")
    if scale is not None and scale not in scales:
        if not scales:
            raise ConfigError(f"The recipe {name} has one scale only; leave --scale {scale} out.")
        raise unknown(f"scale of {name}", scale, scales)
    return Document(merge(table, scales.get(scale, {})), document.name, document.lines)


def compose(
    recipe: str | None = None,
    scale: str | None = None,
    train: tuple[Corpus, ...] = (),
    valid: tuple[Corpus, ...] = (),
    overrides: list[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    test: tuple[Corpus, ...] = (),
) -> Composed:
    """Recipe, then files, then settings; the later wins."""
    if scale is not None and recipe is None:
        raise ConfigError(f"--scale {scale} needs a recipe.")
    base = Document({}) if recipe is None else read_recipe(recipe, scale)
    splits = {"train": train, "valid": valid, "test": test}
    files = {
        name: [corpus if isinstance(corpus, str) else list(corpus) for corpus in corpora]
        for name, corpora in splits.items()
        if corpora
    }
    own = parse_overrides(overrides or [])
    named = nest({dotted(name): value for name, value in (settings or {}).items() if value is not None})
    table = merge(base.table, {"data": files} if files else {}, named, own.table)
    experiment = validate(Experiment, table, base, Document(named, "settings"), own)
    given = {"recipe": recipe or "", "scale": scale or "", "settings": table}
    return Composed(experiment, tomlkit.dumps(given))
