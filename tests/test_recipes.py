"""Every recipe at every scale is a model that can be built, and every rung of the ladder too."""

from pathlib import Path

import pytest
import torch

from dragoman.comparison.ladder import Contender, ladder, settled
from dragoman.config import Document, read_toml, validate
from dragoman.errors import ConfigError
from dragoman.experiment import Experiment
from dragoman.models import Sizes, build_model
from dragoman.recipes import SCALES, compose, recipe_names, recipe_path
from dragoman.training.schedules import rate_factor

PLACES = [(name, scale) for name in recipe_names() for scale in (None, *read_toml(recipe_path(name)).table[SCALES])]


def parameters(settings: Experiment, symbols: int = 4000) -> int:
    with torch.device("meta"):
        model = build_model(settings.model, symbols, symbols, Sizes(2, 2))
    return sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize(("name", "scale"), PLACES)
def test_a_scale_can_be_built(name: str, scale: str | None) -> None:
    assert parameters(compose(name, scale).settings) > 1000


@pytest.mark.parametrize("name", ["sutskever2014", "cho2014", "bahdanau2015", "luong2015"])
def test_a_paper_has_three_scales_and_lists_its_departures(name: str) -> None:
    assert [scale for recipe, scale in PLACES if recipe == name] == [None, "small", "paper", "tiny"]
    sizes = [parameters(compose(name, scale).settings) for scale in ("tiny", "small", "paper")]
    assert sizes == sorted(sizes)
    assert "\n# Departures:" in recipe_path(name).read_text("utf-8")


def test_the_transformer_has_the_sizes_of_its_table() -> None:
    """Table 3 has 65 and 213 million parameters; 37,000 symbols, a bias for each of them and norms make these."""
    assert [scale for recipe, scale in PLACES if recipe == "vaswani2017"][1:] == [
        "small",
        "medium",
        "paper",
        "big",
        "tiny",
    ]
    sizes = []
    for scale in ("tiny", "small", "medium", "paper", "big"):
        settings = compose("vaswani2017", scale).settings
        sizes.append(parameters(settings, settings.source.size))
    assert sizes == sorted(sizes)
    assert [round(size / 1e6) for size in sizes[3:]] == [63, 214]
    assert "\n# Departures:" in recipe_path("vaswani2017").read_text("utf-8")


@pytest.mark.parametrize(("recipe", "scale"), [place for place in PLACES if place[1] not in ("paper", "big", "base")])
def test_warm_up_is_a_share_of_the_training(recipe: str, scale: str | None) -> None:
    """A paper's number of steps may be longer than the whole training of a user."""
    schedule = compose(recipe, scale).settings.training.schedule
    assert getattr(schedule, "warmup", 0) == 0 or getattr(schedule, "warmup_share", 0) > 0


@pytest.mark.parametrize(("scale", "width"), [("paper", 512), ("big", 1024)])
def test_the_rate_of_the_transformer_is_that_of_its_equation(scale: str, width: int) -> None:
    """lrate = d^-0.5 · min(step^-0.5, step · warmup^-1.5) (Vaswani et al. 2017, eq. 3)."""
    training = compose("vaswani2017", scale).settings.training
    for step in (1, 100, 3999, 4000, 4001, 100_000):
        rate = training.optimiser.rate * rate_factor(training.schedule, step, 0.0)
        assert rate == pytest.approx(width**-0.5 * min(step**-0.5, step * 4000**-1.5), rel=1e-6)


@pytest.mark.parametrize("contender", ladder()[:-1], ids=lambda contender: contender.name)
def test_recurrent_rungs_differ_in_their_attention_alone(contender: Contender) -> None:
    table = settled(contender, {}, {})
    decoder = validate(Experiment, table, Document(table)).model.decoder
    first = settled(ladder()[0], {}, {})
    lowest = validate(Experiment, first, Document(first)).model
    free = {"attention": None, "context": None, "query": None, "input_feeding": None}
    assert decoder.model_dump() | free == lowest.decoder.model_dump() | free
    assert validate(Experiment, table, Document(table)).model.encoder == lowest.encoder


def test_the_ladder_begins_without_attention_and_ends_with_attention_alone() -> None:
    names = [contender.name for contender in ladder()]
    assert names[:3] == ["no-attention", "one-context", "additive"]
    assert names[-2:] == ["luong-local", "transformer"]


def test_a_budget_that_is_given_replaces_that_of_the_recipe() -> None:
    for given, gone in (({"training.steps": 7}, "epochs"), ({"training.minutes": 2.0}, "epochs")):
        training = compose("classify", train=("t.tsv",), settings=given).settings.training
        assert getattr(training, gone) is None
        assert getattr(training, next(iter(given)).partition(".")[2]) == next(iter(given.values()))


def test_a_recipe_says_whether_the_data_decides_what_it_leaves_open(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("auto = true\n[training]\nepochs = 3\n")
    open_ = compose(str(path), train=("t.tsv",), overrides=["model.encoder.kind=transformer"])
    assert open_.undecided is not None
    assert open_.undecided.known["training.epochs"] == 3
    assert not open_.undecided.leaves_open("training.epochs")
    assert not open_.undecided.leaves_open("model.encoder.width")
    assert open_.undecided.leaves_open("model.decoder.width")
    path.write_text("auto = 'no'\n")
    with pytest.raises(ConfigError, match="true, false or a list"):
        compose(str(path), train=("t.tsv",))
    assert compose("bahdanau2015", train=("t.tsv",)).undecided is None


@pytest.mark.parametrize("scale", [None, "small", "medium"])
def test_the_data_decides_what_a_recipe_lists(scale: str | None, tmp_path: Path) -> None:
    found = compose("vaswani2017", scale, train=("t.tsv",)).undecided
    if scale == "medium":
        assert found is None
        return
    assert found is not None
    assert found.leaves_open("model.encoder.layers")
    assert not found.leaves_open("model.encoder.heads")
    own = compose("vaswani2017", scale, train=("t.tsv",), overrides=["model.encoder.layers=3"]).undecided
    assert own is not None
    assert not own.leaves_open("model.encoder.layers")
    assert own.known["model.encoder.layers"] == 3
    assert compose("translate", train=("t.tsv",), overrides=["source.kind=bpe"]).undecided.leaves_open("source.size")  # type: ignore[union-attr]
    path = tmp_path / "mine.toml"
    path.write_text("auto = ['training.epoch']\n[training]\nepochs = 3\n")
    with pytest.raises(ConfigError, match=r"\(.*mine.toml, line 1\)\. Did you mean 'training\.epochs'"):
        compose(str(path), train=("t.tsv",))


def test_letters_may_be_read_where_the_data_chooses_the_tokenizer() -> None:
    found = compose("classify", train=("t.tsv",), overrides=["model.bag.buckets=64"]).undecided
    assert found is not None
    assert found.leaves_open("source.kind")
    assert compose(
        "classify", train=("t.tsv",), overrides=["model.bag.buckets=64", "model.encoder.filters=8"]
    ).undecided
    with pytest.raises(ConfigError, match="reads the letters of words"):
        compose("classify", train=("t.tsv",), overrides=["model.bag.buckets=64", "source.kind=bpe"])
