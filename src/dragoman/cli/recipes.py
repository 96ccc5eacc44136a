"""dragoman recipes: what comes with the package."""

from typing import Annotated, Any

import typer


def recipes(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Print this recipe, to save and change.")] = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a recipe: name, title, scales, text.")] = False,
) -> None:
    """\b
    dragoman recipes
    dragoman recipes g2p > mine.toml

    List the recipes, or print one of them.
    """
    import json as writer

    from dragoman.recipes import recipe_names

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


def facts_of(name: str) -> dict[str, Any]:
    from dragoman.config import read_toml
    from dragoman.recipes import SCALES, recipe_path

    path = recipe_path(name)
    scales = read_toml(path).table.get(SCALES, {})
    text = path.read_text("utf-8")
    return {"name": name, "title": text.split("\n")[0].lstrip("# "), "scales": sorted(scales), "text": text}
