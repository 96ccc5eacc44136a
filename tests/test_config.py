"""Settings: read with care, complained about in sentences, written so that they read back."""

import time
from pathlib import Path
from typing import Any, get_args

import pytest

from dragoman.config import (
    Config,
    Document,
    config_classes,
    difference,
    merge,
    parse_overrides,
    read_toml,
    to_toml,
    validate,
)
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.recipes import compose


def complaint_about(text: str, tmp_path: Path) -> str:
    path = tmp_path / "train.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        compose(str(path))
    assert raised.value.exit_code == 2
    return str(raised.value)


def test_a_misspelt_key_names_the_nearest_and_its_line(tmp_path: Path) -> None:
    said = complaint_about("[training]\nsteps = 5\n\n[model.encoder]\nwidht = 3\n", tmp_path)
    assert said.startswith("No setting is called 'model.encoder.widht' (train.toml, line 5). Did you mean 'width'?")
    assert "Known here: cell, directions, dropout, kind, layers, residual, reverse, variational, width." in said


def test_a_misspelt_section(tmp_path: Path) -> None:
    said = complaint_about("[trainnig]\nsteps = 5\n", tmp_path)
    assert "'trainnig' (train.toml, line 1). Did you mean 'training'?" in said


def test_every_complaint_is_made_at_once(tmp_path: Path) -> None:
    said = complaint_about("[training]\nstep = 5\nsede = 1\n", tmp_path)
    assert "line 2). Did you mean 'steps'?" in said
    assert "line 3). Did you mean 'seed'?" in said


def test_an_unknown_kind(tmp_path: Path) -> None:
    said = complaint_about('[training.optimiser]\nkind = "adamm"\n', tmp_path)
    assert said.startswith("No optimiser is called 'adamm' (train.toml, line ")
    assert "Did you mean 'adam'? Known: adadelta, adam, adamw, sgd." in said


def test_a_kind_where_there_is_only_one(tmp_path: Path) -> None:
    said = complaint_about('[model.head]\nkind = "token"\n', tmp_path)
    assert "model.head.kind must be 'tokens', not 'token' (train.toml, line 2). Did you mean 'tokens'?" in said


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("training.steps=many", "training.steps must be a whole number, not 'many' (command line)."),
        ("training.steps=-3", "training.steps must be more than 0, not -3 (command line)."),
        ("training.steps=1e400", "training.steps must be"),
        ("model.encoder.layers=1000000000", "model.encoder.layers must be at most 1000, not 1000000000"),
        ("model.encoder.dropout=1.5", "model.encoder.dropout must be less than 1, not 1.5"),
        ("training.optimiser.rate=nan", "training.optimiser.rate must be"),
        ("model.encoder.directions=bth", "must be 'one' or 'both', not 'bth' (command line). Did you mean 'both'?"),
        ("training.optimiser=5", "training.optimiser is a table of settings, not 5 (command line)."),
        ("data.train=[]", None),
        ('data.train=[["a", "b", "c"]]', 'data.train: must be files, e.g. ["a.tsv", "b.csv.gz"], or pairs of'),
    ],
)
def test_a_wrong_value(setting: str, said: str | None) -> None:
    if said is None:
        assert compose(overrides=[setting]).settings.data.train == ()
        return
    with pytest.raises(ConfigError) as raised:
        compose(overrides=[setting])
    assert said in str(raised.value)


@pytest.mark.parametrize("pair", ["training.steps", "=5", "training..steps=5", ".=1"])
def test_what_is_no_setting(pair: str) -> None:
    with pytest.raises(ConfigError, match=r"is no setting. Write section.key=value"):
        parse_overrides([pair])


def test_a_value_cannot_be_a_section_too() -> None:
    with pytest.raises(ConfigError, match="which another setting made a value"):
        parse_overrides(["training=5", "training.steps=5"])


def test_overrides_are_toml_or_text() -> None:
    given = ["a.b=1", "a.c=true", "a.d=[1, 2]", "e=word", 'f="5"', "g=x=y"]
    table = parse_overrides(given).table
    assert table == {"a": {"b": 1, "c": True, "d": [1, 2]}, "e": "word", "f": "5", "g": "x=y"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a" + ".a" * 100_000 + " = 1", "deeper than 20"),
        ("[" + "a." * 100_000 + "a]", "deeper than 20"),
        ("a = " + "{a = " * 100_000, "nested too deeply"),
        ("a = " + "9" * 900_000, "not valid TOML"),
        ("# " + "x" * 1_000_000, "more than 1,000,000 bytes"),
        ("a = 1\na = 2\n", "not valid TOML"),
        ("a = \0", "not valid TOML"),
        ("a = \udcff", "not valid TOML"),
    ],
    ids=["lists", "dots", "header", "tables", "number", "huge", "twice", "nul", "not utf-8"],
)
def test_hostile_files_are_refused_quickly(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "train.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    started_at = time.process_time()
    with pytest.raises(ConfigError, match=said):
        read_toml(path)
    assert time.process_time() - started_at < 1


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read .*missing.toml: No such file or directory."):
        read_toml(tmp_path / "missing.toml")


def variants(kind: type[Config]) -> list[tuple[str, Config, dict[str, Any]]]:
    """(path, member, table with it) for every member of every union, and every table, inside a config."""
    found = []
    for name, info in kind.model_fields.items():
        for member in config_classes(info.annotation):
            found.append((name, member(), {name: member().model_dump()}))
            around = {"kind": member().kind} if "kind" in member.model_fields else {}
            found += [
                (f"{name}.{inner}", value, {name: {**around, **table}}) for inner, value, table in variants(member)
            ]
    return found


def fits(table: dict[str, Any]) -> bool:
    """A language model has no source that recurrent layers could look at, or start from."""
    model = table.get("model", {})
    decoder = model.get("decoder", {}) if model.get("kind") == "decoder_only" else {}
    return decoder.get("attention", {}).get("kind", "none") == "none" and decoder.get("bridge", "copy") == "copy"


EVERY = {
    f"{path} = {getattr(value, 'kind', '')}": (value, table)
    for path, value, table in variants(Experiment)
    if fits(table)
}


@pytest.mark.parametrize("table", [table for _, table in EVERY.values()], ids=EVERY)
def test_config_to_toml_and_back(table: dict[str, Any], tmp_path: Path) -> None:
    config = Experiment.model_validate(table)
    (tmp_path / "config.toml").write_text(to_toml(config))
    document = read_toml(tmp_path / "config.toml")
    again = validate(Experiment, document.table, document)
    assert again == config
    assert difference(config, again) == []


def test_every_union_is_met() -> None:
    """The round trip would pass if it met nothing."""
    kinds = {getattr(value, "kind", "") for value, _ in EVERY.values()}
    assert {"bpe", "words", "characters", "beam", "greedy", "adamw", "sgd", "plateau", "cosine", "rnn"} <= kinds
    assert get_args(Experiment.model_fields["source"].annotation)


def test_texts_survive(tmp_path: Path) -> None:
    config = compose(train=('a "b"\\n\t#é.tsv', "ü = 1\n")).settings
    (tmp_path / "config.toml").write_text(to_toml(config), "utf-8")
    document = read_toml(tmp_path / "config.toml")
    assert validate(Experiment, document.table, document) == config


def test_difference_speaks_of_mathematics_only() -> None:
    old = compose("g2p").settings
    new = compose("g2p", overrides=["training.clip=5.0", "training.steps=7", "search.width=2"]).settings
    assert difference(old, old) == []
    assert difference(old, new) == ["training.clip: 1.0 → 5.0"]
    other = compose("g2p", overrides=["training.schedule.kind=constant"]).settings
    assert "training.schedule.kind: cosine → constant" in difference(old, other)
    assert "training.schedule.final: 0.02 → (not there)" in difference(old, other)


def test_merge_replaces_another_kind_whole() -> None:
    base = {"optimiser": {"kind": "adam", "rate": 1, "betas": [0, 0]}, "clip": 1}
    assert merge(base, {"optimiser": {"rate": 2}})["optimiser"] == {"kind": "adam", "rate": 2, "betas": [0, 0]}
    assert merge(base, {"optimiser": {"kind": "sgd"}})["optimiser"] == {"kind": "sgd"}
    assert base["optimiser"]["rate"] == 1


def test_settings_are_frozen_and_changed_by_copy() -> None:
    training = Experiment().training
    with pytest.raises(ValueError):
        training.steps = 3
    assert training.changed(steps=3).steps == 3
    with pytest.raises(ValueError):
        training.changed(steps=-3)


def test_where_a_key_stands() -> None:
    document = Document({}, "x.toml", {("a",): 1, ("a", "b"): 3})
    assert document.where(("a", "b", "c")) == "x.toml, line 3"
    assert document.where(("z",)) == "x.toml"
    assert Document({}).where(("a",)) == ""


def test_the_later_wins() -> None:
    composed = compose(
        "g2p", "tiny", settings={"training.seed": 2, "training.clip": 3.0}, overrides=["training.seed=4"]
    )
    assert (composed.settings.training.seed, composed.settings.training.clip) == (4, 3.0)
    assert composed.settings.model.encoder.width == 16
    assert 'recipe = "g2p"' in composed.given


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"recipe": "g2q"}, "No recipe is called 'g2q'. Did you mean 'g2p'?"),
        ({"recipe": "g2p", "scale": "tinny"}, "No scale of g2p is called 'tinny'. Did you mean 'tiny'?"),
        ({"scale": "tiny"}, "--scale tiny needs a recipe."),
    ],
)
def test_recipes_that_are_not_there(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        compose(**arguments)
    assert said in str(raised.value)
