"""Write docs/catalogue.md: every part with its settings, every recipe, every metric, as the code has them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from dragoman.catalogue import PACKAGE, Part, built_from, every_config, file_of, kinds, paragraph, parts, plain
from dragoman.config import Config, is_practical
from dragoman.metrics import METRICS
from dragoman.metrics.labels import LABEL_METRICS
from dragoman.recipes import recipe_names, recipe_path, recipe_title

PAGE = Path(__file__).with_name("catalogue.md")
HEADER = """# Catalogue

Every part that a config can name: at a glance, then file by file with its settings; then recipes and metrics.
`dragoman recipes --parts` shows the first table in the terminal. `python docs/make_catalogue.py` makes this page from
the code. A heading says where in a config a part stands, and its kind. A setting that "may change" may differ when a
run is resumed (`steps`, `epochs` and `minutes` not under a cosine schedule); others may not."""


def page() -> str:
    glance = table(("part", "what it computes", "paper", "setting"), [glance_row(part) for part in parts()])
    lines = [HEADER, "", "## Parts at a glance", *glance]
    known = kinds()
    for config, places in every_config().items():
        lines += section(config, " and ".join(places), known.get(config))
    recipes = [(link(recipe_path(name), name), recipe_title(name)) for name in recipe_names()]
    lines += ["", "## Recipes", *table(("recipe", "what it is"), recipes)]
    metrics = [(f"`{metric.name}`", metric.title, paragraph(metric.count)) for metric in METRICS.values()]
    metrics += [(f"`{metric.name}`", metric.title, paragraph(metric.count)) for metric in LABEL_METRICS.values()]
    return "\n".join([*lines, "", "## Metrics", *table(("metric", "what it is", "how it counts"), metrics), ""])


def glance_row(part: Part) -> tuple[str, ...]:
    settings = "<br>".join(f"`{' '.join(one.settings)}`" for one in part.selections)
    computes = f"`{part.equation}`" if part.equation else part.sentence
    return link(part.file, part.name), computes, part.paper, settings


def link(path: Path, name: str = "") -> str:
    address = f"src/dragoman/{path.relative_to(PACKAGE).as_posix()}"
    return f"[{name or address}](../{address})"


def section(config: type[Config], places: str, part: Part | None) -> list[str]:
    heading = f"{places}: {part.name}" if part else places or config.__name__
    lines = ["", f"## {heading}", "", paragraph(config)]
    lines += [f"`{builder.__name__}`: {paragraph(builder)}" for builder in built_from(config)]
    lines += ["", f"File: {link(file_of(config))}"]
    lines += ["", f"Config: {' or '.join(f'`{one.toml}`' for one in part.selections)}"] if part else []
    rows = [row(name, info) for name, info in config.model_fields.items() if name != "kind"]
    return lines + (table(("setting", "default, or choices", "what it is", "on resume"), rows) if rows else [])


def table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    cells = ([cell.replace("|", "\\|") for cell in cells] for cells in (names, ("---",) * len(names), *rows))
    return ["", *("| " + " | ".join(line) + " |" for line in cells)]


def row(name: str, info: Any) -> tuple[str, ...]:
    choices = get_args(info.annotation) if get_origin(info.annotation) is Literal else ()
    values = [info.default, *(choice for choice in choices if choice != info.default)]
    changes = "may change" if is_practical(info) else ""
    return f"`{name}`", " or ".join(map(shown, values)), plain(info.description), changes


def shown(value: Any) -> str:
    if isinstance(value, Config):
        return getattr(value, "kind", "a table of its own")
    return "not set" if value is None else f"`{json.dumps(value)}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
