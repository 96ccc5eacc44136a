"""Write docs/catalogue.md: every part with its settings, every recipe, every metric, as the code has them."""

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import dragoman
from dragoman.config import Config, config_classes, is_practical
from dragoman.experiment import Experiment
from dragoman.metrics import METRICS
from dragoman.recipes import recipe_names, recipe_path, recipe_title

PAGE = Path(__file__).with_name("catalogue.md")
ROOT = PAGE.parents[1]
HEADER = """# Catalogue

Every part that a config can name, file by file; then recipes and metrics. A heading says where in a config a part
stands, and its kind. `python docs/make_catalogue.py` makes this page from the code. A setting that "may change" may
differ when a run is resumed (`steps`, `epochs` and `minutes` not under a cosine schedule); others may not."""


def page() -> str:
    places: dict[type[Config], list[str]] = {}
    for path, config in tables(Experiment):
        places.setdefault(config, []).append(path)
    lines = [HEADER]
    for config in every_config():
        lines += section(config, " and ".join(places.get(config, [])))
    recipes = [(f"[{name}](../{recipe_path(name).relative_to(ROOT)})", recipe_title(name)) for name in recipe_names()]
    lines += ["", "## Recipes", *table(("recipe", "what it is"), recipes)]
    metrics = [(f"`{metric.name}`", metric.title, paragraph(metric.count)) for metric in METRICS.values()]
    return "\n".join([*lines, "", "## Metrics", *table(("metric", "what it is", "how it counts"), metrics), ""])


def every_config() -> list[type[Config]]:
    """All config classes of the package, in the order of files and of lines."""
    names = [module.name for module in pkgutil.walk_packages(dragoman.__path__, "dragoman.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    found = {part for module in modules for part in vars(module).values() if inspect.isclass(part)} - {Config}
    configs = [part for part in found if issubclass(part, Config)]
    return sorted(configs, key=lambda config: (file_of(config), inspect.getsourcelines(config)[1]))


def file_of(part: Any) -> str:
    return Path(inspect.getfile(part)).relative_to(ROOT).as_posix()


def tables(config: type[Config], path: str = "") -> Iterator[tuple[str, type[Config]]]:
    """Where each config may stand: ("model.decoder.attention", Additive)."""
    for name, info in config.model_fields.items():
        for inner in config_classes(info.annotation):
            yield f"{path}{name}", inner
            yield from tables(inner, f"{path}{name}.")


def section(config: type[Config], places: str) -> list[str]:
    kind = config.model_fields["kind"].default if "kind" in config.model_fields else ""
    lines = ["", f"## {': '.join(filter(None, (places, kind))) or config.__name__}", "", paragraph(config)]
    lines += [f"`{part.__name__}`: {paragraph(part)}" for part in built_from(config)]
    lines += ["", f"File: [{file_of(config)}](../{file_of(config)})"]
    rows = [row(name, info) for name, info in config.model_fields.items() if name != "kind"]
    return lines + (table(("setting", "default, or choices", "what it is", "on resume"), rows) if rows else [])


def built_from(config: type[Config]) -> list[type]:
    """The classes beside a config that carry its name: AdditiveAttention for Additive."""
    others = [part for part in vars(inspect.getmodule(config)).values() if inspect.isclass(part)]
    rests = {part: part.__name__.removeprefix(config.__name__) for part in others if not issubclass(part, Config)}
    return [part for part, rest in rests.items() if rest != part.__name__ and rest[:1].isupper()]


def paragraph(part: Any) -> str:
    return " ".join((inspect.getdoc(part) or "").split("\n\n")[0].split())


def table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    cells = ([cell.replace("|", "\\|") for cell in cells] for cells in (names, ("---",) * len(names), *rows))
    return ["", *("| " + " | ".join(line) + " |" for line in cells)]


def row(name: str, info: Any) -> tuple[str, ...]:
    choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    values = [info.default, *(choice for choice in choices if choice != info.default)]
    explanation, changes = " ".join((info.description or "").split()), "may change" if is_practical(info) else ""
    return f"`{name}`", " or ".join(map(shown, values)), explanation, changes


def shown(value: Any) -> str:
    if isinstance(value, Config):
        return getattr(value, "kind", "a table of its own")
    return "not set" if value is None else f"`{json.dumps(value)}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
