"""The catalogue of parts: each one has an equation or a sentence, a paper, a file, and a line that selects it."""

import json
import tomllib
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field
from pydantic.fields import FieldInfo

from command_line import CommandLine
from dragoman.catalogue import EQUATION, Part, Selection, every_config, literals, parts, read
from dragoman.config import Choices, Config, parse_overrides, validate
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment

EVERY = parts()
# Families that papers are about, by the last key of their paths; attention weights are there as soon as a config is.
FAMILIES = ["attention", "cell", "encoder", "decoder", "readout", "bridge", "regime", "objective", "search"]
FROM_PAPERS = [
    part for part in EVERY for one in part.selections[:1] if one.path.split(".")[-1] in {*FAMILIES, "weights"}
]
# What needs no paper: ways to cut a text, and arithmetic that nobody claims.
WITHOUT_PAPER = {
    *(("source", kind) for kind in ("words", "characters", "features", "bytes", "file")),
    ("target", "shared"),
    ("stop", "likely"),
    *(
        ("data", kind)
        for kind in ("pairs", "conversations", "texts", "labelled", "tagged", "captions", "frames", "clips", "tracks")
    ),
    ("origin", "nothing"),
    ("covariance", "diagonal"),
    ("choice", "mean"),
    ("frame", "absolute"),
    *(("turns", kind) for kind in ("none", "right")),
    *(("along", kind) for kind in ("points", "path")),
    ("query", "sigmoid"),
    *(("fit", kind) for kind in ("pad", "stretch")),
    ("positions", "none"),
    *(("lengths", kind) for kind in ("mixed", "neighbors")),
    *(("counts", kind) for kind in ("longer", "both")),
    *(("divisor", kind) for kind in ("width", "one")),
    *(("schedule", kind) for kind in ("constant", "plateau")),
}
SELECTIONS = [(part, one) for part in EVERY for one in part.selections]


def name(value: Any) -> str:
    return f"{value.paths}:{value.name}" if isinstance(value, Part) else ""


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_members(family: str) -> None:
    assert any(one.path.split(".")[-1] == family for part in EVERY for one in part.selections)


@pytest.mark.parametrize("part", FROM_PAPERS, ids=name)
def test_parts_from_papers_say_what_they_compute_and_whose_it_is(part: Part) -> None:
    assert part.equation or part.sentence, 'no docstring "equation (paper)" and no Choices'
    assert part.paper, 'its docstring, or its meaning in Choices, must end in a paper: "… (Bahdanau et al. 2015)"'


@pytest.mark.parametrize("part", EVERY, ids=name)
def test_every_part_but_the_plainest_has_a_paper(part: Part) -> None:
    assert bool(part.paper) != ((part.selections[0].path.split(".")[-1], part.name) in WITHOUT_PAPER)


@pytest.mark.parametrize("part", EVERY, ids=name)
def test_every_part_says_something_and_has_a_file(part: Part) -> None:
    assert part.equation or part.sentence
    assert part.file.is_file()
    assert part.selections


@pytest.mark.parametrize(("part", "one"), SELECTIONS, ids=name)
def test_the_lines_that_select_a_part_select_it(part: Part, one: Selection) -> None:
    assert tomllib.loads(one.toml) == parse_overrides(one.settings).table
    chosen = at(one.path, one.settings)
    assert part.name in (getattr(chosen, "kind", None), chosen, *(chosen if isinstance(chosen, tuple) else ()))
    if one.default:
        unsaid = at(one.path, one.settings[:-1])
        assert unsaid == chosen or part.name in unsaid


def at(path: str, settings: list[str]) -> Any:
    """What stands there under these settings."""
    document = parse_overrides(settings)
    found: Any = validate(Experiment, document.table, document)
    for key in path.split("."):
        found = getattr(found, key)
    return found


def settings_with_meanings() -> list[tuple[str, FieldInfo, Choices]]:
    fields = [(config, key, info) for config in every_config() for key, info in config.model_fields.items()]
    return [
        (f"{config.__module__}.{config.__name__}.{key}", info, told)
        for config, key, info in fields
        for told in info.metadata
        if isinstance(told, Choices)
    ]


@pytest.mark.parametrize("setting", settings_with_meanings(), ids=lambda setting: setting[0])
def test_meanings_are_those_of_the_choices(setting: tuple[str, FieldInfo, Choices]) -> None:
    _, info, told = setting
    assert set(told.meanings) == set(literals(info.annotation))


@pytest.mark.parametrize(
    ("text", "sentence", "equation", "paper"),
    [
        ("e = v · tanh(W q) (Bahdanau et al. 2015, A.1.2).", "", "e = v · tanh(W q)", "Bahdanau et al. 2015, A.1.2"),
        ("c = Σ_j α_j (Luong et al. 2015, eq. (5)), of all.", "", "c = Σ_j α_j, of all", "Luong et al. 2015, eq. (5)"),
        (
            "Layers (Li et al. 2014), both ways (Cho et al. 2014).",
            "Layers, both ways",
            "",
            "Li et al. 2014; Cho et al. 2014",
        ),
        ("Moments: w ← w − m̂ (Kingma & Ba 2015).", "Moments", "w ← w − m̂", "Kingma & Ba 2015"),
        ("y = argmax p: one of them.", "", "y = argmax p: one of them", ""),
        ("Limits: at most two.", "Limits: at most two", "", ""),
        ("A table (TSV, CSV) of 2015 pairs.", "A table (TSV, CSV) of 2015 pairs", "", ""),
        ("At most (2048) of them", "At most (2048) of them", "", ""),
        ("", "", "", ""),
    ],
)
def test_reading_docstrings(text: str, sentence: str, equation: str, paper: str) -> None:
    assert read(text) == (sentence, equation, paper)


@pytest.mark.parametrize(
    ("text", "is_one"), [("s_0 = 0", True), ("p ∝ exp e", True), ("kind=gru", False), ("Take the best", False)]
)
def test_equations_are_told_from_sentences(text: str, is_one: bool) -> None:
    assert bool(EQUATION.search(text)) == is_one


class Soft(Config):
    """All of it."""

    kind: Literal["soft"] = "soft"


class Hard(Config):
    """One of it."""

    kind: Literal["hard"] = "hard"
    choice: Literal["closest", "sampled"] = "closest"
    """closest: argmax (Xu et al. 2015); sampled: by weight"""


class Plain(Config):
    """Nothing."""

    kind: Literal["plain"] = "plain"


class Scored(Config):
    """Something."""

    kind: Literal["scored"] = "scored"
    weights: Annotated[Soft | Hard, Field(discriminator="kind")] = Soft()
    enters: tuple[Literal["input", "readout"], ...] = ("input",)
    """input: beside the word; readout: beside the state"""


class Root(Config):
    part: Annotated[Plain | Scored, Field(discriminator="kind")] = Plain()


def test_what_stands_in_another_kind_is_selected_with_it() -> None:
    found = {part.name: part.selections[0] for part in parts(root=Root)}
    assert found["plain"].settings == ["part.kind=plain"]
    assert found["hard"].settings == ["part.kind=scored", "part.weights.kind=hard"]
    assert found["sampled"].toml == ('part = { kind = "scored", weights = { kind = "hard", choice = "sampled" } }')
    assert found["readout"].settings == ["part.kind=scored", 'part.enters=["readout"]']
    assert [part.name for part in parts(root=Root) if part.selections[0].default] == [
        "plain",
        "soft",
        "input",
        "closest",
    ]
    for one in found.values():
        validate(Root, parse_overrides(one.settings).table)


def test_families_are_found_by_key_folder_or_name() -> None:
    assert {part.name for part in parts("cells")} == {part.name for part in parts("model.encoder.cell")} >= {"gru"}
    assert {part.name for part in parts("attention")} >= {"additive"}
    assert {part.name for part in parts("tokenizers")} >= {"bpe", "shared"}
    assert {part.name for part in parts("source")}.isdisjoint(part.name for part in parts("frontends"))
    with pytest.raises(ConfigError, match=r"No family of parts is called 'atention'\. Did you mean 'attention'\?"):
        parts("atention")


def test_the_verb_lists_parts(dragoman: CommandLine) -> None:
    shown = dragoman("recipes", "--parts", "attention").out
    for expected in ("energy_j = v · tanh", "Bahdanau et al. 2015", "nn/attention/additive.py", ".kind=additive"):
        assert expected in shown
    assert "lstm" not in shown
    facts = [json.loads(line) for line in dragoman("recipes", "--parts", "--json").out.splitlines()]
    assert [fact["part"] for fact in facts] == [part.name for part in EVERY]
    assert all(fact["file"].startswith("dragoman/") for fact in facts)
    mistaken = dragoman("recipes", "--parts", "cel")
    assert mistaken.code == 2
    assert "Did you mean 'cell'?" in mistaken.err
