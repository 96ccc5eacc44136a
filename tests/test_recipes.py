"""Every recipe at every scale is a model that can be built, and every rung of the ladder too."""

import pytest
import torch

from dragoman.comparison.ladder import Contender, ladder, settled
from dragoman.config import Document, read_toml, validate
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
