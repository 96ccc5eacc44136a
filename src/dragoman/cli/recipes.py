"""dragoman recipes: what comes with the package."""

import shlex
import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from dragoman.catalogue import Part


def recipes(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Print this recipe, to save and change; with --parts, this family."),
    ] = None,
    parts: Annotated[
        bool, typer.Option("--parts", help="What models are made of: equation, paper, file, and how to choose it.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line: name, title, scales, text of a recipe; or a part.")
    ] = False,
) -> None:
    """\b
    dragoman recipes
    dragoman recipes g2p > mine.toml
    dragoman recipes --parts attention

    List the recipes, or print one of them; or list the parts that a recipe may choose from.
    """
    import json as writer

    from dragoman.recipes import recipe_names

    if parts:
        list_parts(name, json)
        return
    facts = [facts_of(known) for known in (recipe_names() if name is None else [name])]
    if json:
        for fact in facts:
            print(writer.dumps(fact, ensure_ascii=False))
    elif name is not None:
        print(facts[0]["text"], end="")
    else:
        width = max(len(fact["name"]) for fact in facts)
        for fact in facts:
            print(f"{fact['name']:<{width}}  {fact['title']}")


def list_parts(family: str | None, as_json: bool) -> None:
    """A heading a place in the config; below it each part, and the words that choose it behind `dragoman train`."""
    import json as writer
    from itertools import groupby

    from dragoman.catalogue import parts

    chosen = parts(family)
    if as_json:
        for part in chosen:
            print(writer.dumps(part.facts(), ensure_ascii=False))
        return
    for number, (paths, members) in enumerate(groupby(chosen, lambda part: part.paths)):
        together = list(members)
        [about, *others] = {selection.about for selection in together[0].selections}
        purpose = "" if others or not about else f": {about[:1].lower()}{about[1:].rstrip('.')}"
        print("\n" * (number > 0) + paths + purpose)
        for part in together:
            print_part(part)


def print_part(part: "Part") -> None:
    width = max(40, min(shutil.get_terminal_size().columns, 120))
    default = " (default)" if part.selections[0].default else ""
    print(f"  {part.name}{default}")
    told = (part.equation, part.sentence, " · ".join(filter(None, (part.paper, part.place))))
    for text in filter(None, told):
        print(textwrap.fill(text, width, initial_indent=" " * 4, subsequent_indent=" " * 6, break_on_hyphens=False))
    for selection in part.selections:
        print("    " + shlex.join(selection.settings))


def facts_of(name: str) -> dict[str, Any]:
    from dragoman.config import read_toml
    from dragoman.recipes import SCALES, recipe_path

    path = recipe_path(name)
    scales = read_toml(path).table.get(SCALES, {})
    text = path.read_text("utf-8")
    return {"name": name, "title": text.split("\n")[0].lstrip("# "), "scales": sorted(scales), "text": text}
