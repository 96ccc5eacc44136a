"""The documents say what the code does: the catalogue is the generated one, commands, files and links exist."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from dragoman.cli.main import app
from dragoman.recipes import compose, recipe_names

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/*.md"))
VERBS: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def options_of(words: list[str]) -> set[str]:
    """Of a verb, or of a verb of a verb."""
    command = VERBS[words[0]]
    command = getattr(command, "commands", {}).get(words[1], command) if len(words) > 1 else command
    return {"--help", *(option for one in command.params for option in (*one.opts, *one.secondary_opts))}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> Iterator[list[str]]:
    """The words of every call of dragoman in the shell blocks of the README, from the verb on."""
    for line in "\n".join(blocks("sh")).replace("\\\n", " ").splitlines():
        for part in re.split(r"[|;>]|&&", line):
            words = shlex.split(part, comments=True)
            if words[:1] == ["dragoman"]:
                yield words[1:]


def catalogue() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_catalogue", ROOT / "docs" / "make_catalogue.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_hard_attention_is_chosen_as_the_readme_says() -> None:
    """Its reward is the paper's at the paper's scale."""
    words = re.search(r"`(model\.decoder\.attention\.weights='.*?)`", README)
    assert words is not None
    settings = compose("xu2015", "paper", ("captions.tsv",), overrides=shlex.split(words[1])).settings
    weights = settings.model_dump()["model"]["decoder"]["attention"]["weights"]
    assert (weights["kind"], weights["choice"]) == ("hard", "sampled")
    assert (settings.objective.reinforce.discount, settings.objective.doubly_stochastic) == (1.0, 0.0)


def test_the_catalogue_is_up_to_date() -> None:
    script = catalogue()
    assert script.PAGE.read_text("utf-8") == script.page(), "run: python docs/make_catalogue.py"


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_commands_of_the_readme_exist(words: list[str]) -> None:
    verb, rest = words[0], words[1:]
    assert verb in VERBS
    named = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
    assert named <= options_of(words)
    if verb == "train":
        recipe = rest[0] if rest[0] in recipe_names() else None
        settings = [word for word in rest if "=" in word and not word.startswith("-")]
        compose(recipe, overrides=[word for word in settings if not word.startswith("training.take=")])  # needs a run


def test_the_readme_names_no_other_options() -> None:
    known = {
        option
        for verb, command in VERBS.items()
        for words in ([verb], *([verb, name] for name in getattr(command, "commands", {})))
        for option in options_of(words)
    }
    assert set(re.findall(r"`(--[a-z-]+)`", README)) <= known


def test_every_verb_is_in_the_readme() -> None:
    shown = {words[0] for words in commands()} | {"demo"}
    assert {verb for verb, command in VERBS.items() if not command.hidden} == shown


def test_targets_of_make_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for page in PAGES:
        text = page.read_text("utf-8")
        assert set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE)) <= targets


def test_parts_by_hand_give_the_shapes_that_the_readme_says(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = [block for block in blocks("python") if "RnnDecoder" in block]
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 (our own text)
    assert capsys.readouterr().out.splitlines() == re.findall(r"# (\(.*?\)):", example)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text("utf-8"))
    inside = [link for link in links if not link.startswith(("http://", "https://"))]
    assert [link for link in inside if not (page.parent / link).exists()] == []


def test_files_on_the_map_exist() -> None:
    named = set(re.findall(r"[\w/]+\.py\b", (ROOT / "docs" / "map.md").read_text("utf-8")))
    there = ["/" + path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/**/*.py")]
    assert {name for name in named if not any(path.endswith("/" + name) for path in there)} == set()
