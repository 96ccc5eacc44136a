"""Which models are compared: rungs that recipes provide, and words that name them."""

import shutil
from pathlib import Path

import pytest
from small import MODEL, write_recipes

from dragoman import recipes
from dragoman.cli.compare import sort_out
from dragoman.comparison.ladder import contenders, ladder, settled
from dragoman.config import with_seal
from dragoman.errors import ConfigError
from dragoman.recipes import compose, read_recipe, read_rungs


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The recipes of dragoman and two more."""
    folder = tmp_path / "recipes"
    shutil.copytree(recipes.FOLDER, folder)
    write_recipes(folder)
    (folder / "plain.toml").write_text(f'# Plain: small\n[ladder]\nrung = 2\ntitle = "by itself"\n{MODEL}')
    monkeypatch.setattr(recipes, "FOLDER", folder)
    return folder


def test_the_ladder_is_what_recipes_say_of_themselves(shipped: Path) -> None:
    own = [one for one in ladder() if one.recipe in ("plain", "several")]
    assert [(one.name, one.title, one.recipe) for one in own] == [
        ("gated", "No cells: GRU", "several"),
        ("plain", "by itself", "plain"),
        ("several-lstm-cells", "LSTM cells", "several"),
    ]
    assert own[2].changes == {"model": {"decoder": {"cell": "lstm"}}}


def test_a_place_in_the_ladder_is_no_setting(shipped: Path) -> None:
    assert "ladder" not in read_recipe("several", "tiny").table
    assert compose("several").settings.model.decoder.cell == "gru"


def test_names_bring_recipes_variants_scales_and_files(shipped: Path, tmp_path: Path) -> None:
    plain, several = write_recipes(tmp_path)
    assert [one.name for one in contenders(["several"])] == ["gated", "several-lstm-cells"]
    assert [one.name for one in contenders(["several-lstm-cells:tiny", "plain"])] == ["several-lstm-cells", "plain"]
    assert [(one.name, one.scale) for one in contenders([f"{plain}:tiny", several], "tiny")] == [
        ("plain", "tiny"),
        ("gated", "tiny"),
        ("several-lstm-cells", "tiny"),
    ]
    assert [one.name for one in contenders(["plain", "plain:tiny"])] == ["plain", "plain-tiny"]


def test_a_rung_may_have_a_scale_of_its_own(shipped: Path) -> None:
    (shipped / "paper.toml").write_text(f'[ladder]\nrung = 9\nscale = "tiny"\n{MODEL}')
    assert contenders(["paper"])[0].scale == "tiny"
    assert contenders(["paper"])[0].document().table["model"]["encoder"] == {"width": 3}
    (shipped / "paper.toml").write_text(
        f"[ladder]\nrung = 9\nsettings.training.clip = 2.0\nscales.tiny.training.clip = 3.0\n{MODEL}"
    )
    assert [contenders([f"paper{scale}"])[0].changes for scale in ("", ":tiny")] == [
        {"training": {"clip": 2.0}},
        {"training": {"clip": 3.0}},
    ]
    (shipped / "paper.toml").write_text(f"[ladder]\nrung = 9\n{MODEL}\n[scales.large]\n")
    assert contenders(["paper"], "large")[0].scale == "large"


def test_the_rest_is_shared_but_for_what_a_rung_or_the_user_says(shipped: Path) -> None:
    [one] = contenders(["several-lstm-cells"])
    one.changes["training"] = {"clip": 2.0}
    shared = {"training": {"steps": 3, "clip": 1.0}, "model": {"encoder": {"width": 1}}}
    table = settled(one, shared, {"model": {"source": {"width": 7}}})
    assert table["training"] == {"steps": 3, "clip": 2.0}
    assert table["model"]["decoder"]["cell"] == "lstm"
    assert (table["model"]["encoder"]["width"], table["model"]["source"]["width"]) == (5, 7)


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["plian"], r"No recipe is called 'plian'\. Did you mean 'plain'\? Known: "),
        (["absent.toml"], r"There is no recipe file absent\.toml"),
        (["plain:huge"], r"No scale of plain is called 'huge'"),
        (["plain", "plain"], r"'plain' would be compared with itself: name every recipe \(or rung\) once\."),
        (["odd"], r"rung must be a number.*odd\.toml"),
        (["odder"], r"odder\.toml, line 1: a rung is a table, \[ladder\] or \[\[ladder\]\]"),
        (["outside"], r"'\.\./outside' \(outside\) cannot name a folder\. Use letters, digits, - and _\."),
    ],
)
def test_what_cannot_be_compared(shipped: Path, names: list[str], sentence: str) -> None:
    (shipped / "odd.toml").write_text('[ladder]\nrung = "low"\n')
    (shipped / "odder.toml").write_text("ladder = 3\n")
    (shipped / "outside.toml").write_text('[ladder]\nrung = 1\nname = "../outside"\n')
    if "odd" not in names:
        (shipped / "odd.toml").unlink()
    if "odder" not in names:
        (shipped / "odder.toml").unlink()
    if names == ["odder"]:
        with pytest.raises(ConfigError, match=sentence):
            read_rungs("odder")
        return
    with pytest.raises(ConfigError, match=sentence):
        [one.document() for one in contenders(names)]


def test_words_of_the_command_are_sorted(shipped: Path, tmp_path: Path) -> None:
    (tmp_path / "pairs").write_text("a\tb\n")
    words = [str(tmp_path / "pairs"), "plain:tiny", "mine.toml:tiny", "gated", "data.*.tsv", "training.clip=2", "x.tsv"]
    found, files, overrides = sort_out(words)
    assert found == ["plain:tiny", "mine.toml:tiny", "gated"]
    assert files == [str(tmp_path / "pairs"), "data.*.tsv", "x.tsv"]
    assert overrides == ["training.clip=2"]
    with pytest.raises(ConfigError, match=r"'plian:tiny' is neither a file nor a recipe\. Did you mean 'plain'\?"):
        sort_out(["plian:tiny"])


def test_settings_of_two_runs_can_be_compared(tmp_path: Path) -> None:
    for run in ("wide", "narrow"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "config.toml").write_bytes(with_seal(MODEL))
    found = contenders([str(tmp_path / "wide" / "config.toml"), str(tmp_path / "narrow" / "config.toml")])
    assert [(one.name, one.title) for one in found] == [("wide-config", ""), ("narrow-config", "")]


def test_titles_are_short(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(f"# {'long ' * 100}\n{MODEL}")
    assert len(contenders([str(tmp_path / "long.toml")])[0].title) == 80
