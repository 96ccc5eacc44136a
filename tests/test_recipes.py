"""Every recipe at every scale is a model that can be built, and every rung of the ladder too."""

import pytest
import torch

from dragoman.comparison.ladder import Contender, ladder, settled
from dragoman.config import Document, read_toml, validate
from dragoman.experiment import Experiment
from dragoman.models import build_model
from dragoman.recipes import SCALES, compose, recipe_names, recipe_path

PLACES = [(name, scale) for name in recipe_names() for scale in (None, *read_toml(recipe_path(name)).table[SCALES])]


def parameters(settings: Experiment) -> int:
    with torch.device("meta"):
        model = build_model(settings.model, 4000, 4000)
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


@pytest.mark.parametrize("contender", ladder(), ids=lambda contender: contender.name)
def test_rungs_differ_in_their_attention_alone(contender: Contender) -> None:
    table = settled(contender, {}, {})
    decoder = validate(Experiment, table, Document(table)).model.decoder
    first = settled(ladder()[0], {}, {})
    lowest = validate(Experiment, first, Document(first)).model
    free = {"attention": None, "context": None, "query": None, "input_feeding": None}
    assert decoder.model_dump() | free == lowest.decoder.model_dump() | free
    assert validate(Experiment, table, Document(table)).model.encoder == lowest.encoder


def test_the_ladder_begins_without_attention_and_ends_with_windows() -> None:
    names = [contender.name for contender in ladder()]
    assert names[:3] == ["no-attention", "one-context", "additive"]
    assert names[-1] == "luong-local"
