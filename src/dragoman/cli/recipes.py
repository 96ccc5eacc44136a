"""dragoman recipes: what comes with the package."""

from typing import Annotated

import typer


def recipes(
    name: Annotated[str | None, typer.Argument(help="Print this recipe, to save and change.")] = None,
) -> None:
    """List the recipes, or print one of them."""
    from dragoman.recipes import recipe_names, recipe_path, recipe_title

    if name is not None:
        print(recipe_path(name).read_text("utf-8"), end="")
        return
    width = max(map(len, recipe_names()))
    for known in recipe_names():
        print(f"{known:<{width}}  {recipe_title(known)}")
