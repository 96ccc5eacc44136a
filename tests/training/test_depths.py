"""Rates by depth, and weights that are never changed, with numbers that can be checked with a pencil."""

from pathlib import Path
from typing import Any

import pytest
import torch

import texts
from dragoman import encoders, frontends
from dragoman.contracts import Batch
from dragoman.data.labelled import collate_texts, expected
from dragoman.errors import ConfigError
from dragoman.models import DecoderOnly, EncoderOnly, build_model
from dragoman.objectives import CrossEntropy, build_objective
from dragoman.regimes import Teacher, build_regime
from dragoman.training.depths import depth_of, groups_of, layers_in
from dragoman.training.learner import Learner
from dragoman.training.optimisers import AdamW, Sgd, build_optimiser, set_rate
from dragoman.training.settings import Training
from labels import small, written
from tiny import Corpus, bits, run_all, run_until, tiny

MODEL = EncoderOnly(
    source=frontends.Tokens(width=4, dropout=0.0),
    encoder=encoders.Transformer(
        layers=3, heads=2, feed_forward=5, dropout=0.0, positions={"kind": "learned", "length": 8}
    ),
    sentences="two",
)


def learner() -> Learner:
    torch.manual_seed(2)
    return Learner(build_model(MODEL, 9, 2), build_regime(Teacher()), build_objective(CrossEntropy()))


def batch() -> Batch:
    import numpy as np

    texts = collate_texts([[4, 5, 3, 6]])
    return Batch(texts.examples, texts.sources, expected(np.array([[1]]), np.ones((1, 1), np.bool_)))


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("source.embedding.weight", 0),
        ("segments.table", 0),
        ("encoder.positions.table", 0),
        ("encoder.first_norm.weight", 0),
        ("encoder.layers.0.attention.output.weight", 1),
        ("encoder.layers.11.0.of_input.bias", 12),
        ("decoder.cells.1.of_hidden.weight", 2),
        ("encoder.last_norm.bias", 3),
        ("head.output.weight", 4),
        ("matches.vector", 4),  # of the task, not of the body
    ],
)
def test_depths(name: str, depth: int) -> None:
    assert depth_of(name, 3) == depth


def test_each_layer_has_half_the_rate_of_the_one_above() -> None:
    groups = groups_of(learner(), Training(layer_decay=0.5))
    assert [group["share"] for group in groups] == [0.0625, 0.125, 0.25, 0.5, 1.0]
    optimiser = build_optimiser(Sgd(rate=0.8), groups)
    set_rate(optimiser, 0.4)
    assert [group["lr"] for group in optimiser.param_groups] == pytest.approx([0.025, 0.05, 0.1, 0.2, 0.4])


def test_a_step_is_the_rate_of_its_layer() -> None:
    """The first step of Adam is the rate, whatever the gradient."""
    one = learner()
    before = {name: weight.detach().clone() for name, weight in one.named_parameters()}
    optimiser = build_optimiser(AdamW(rate=0.08, weight_decay=0.0), groups_of(one, Training(layer_decay=0.5)))
    set_rate(optimiser, 0.08)
    sum(loss.total for loss in one(batch(), 1).values()).backward()  # type: ignore[union-attr]
    optimiser.step()
    steps = {name: float((weight.detach() - before[name]).abs().max()) for name, weight in one.named_parameters()}
    assert steps["model.head.output.bias"] == pytest.approx(0.08, rel=1e-3)
    assert steps["model.encoder.layers.2.feed_forward.output.bias"] == pytest.approx(0.04, rel=1e-2)
    assert steps["model.encoder.layers.0.feed_forward.output.bias"] == pytest.approx(0.01, rel=1e-2)
    assert steps["model.source.embedding.weight"] == pytest.approx(0.005, rel=1e-2)


@pytest.mark.parametrize(
    ("freeze", "learned"),
    [("nothing", {0, 1, 2, 3, 4}), ("embeddings", {1, 2, 3, 4}), (2, {3, 4}), (3, {4}), ("body", {4})],
)
def test_what_is_frozen_moves_by_nothing(freeze: int | str, learned: set[int]) -> None:
    """Not by its gradient, and not by weight decay."""
    one = learner()
    before = {name: weight.detach().clone() for name, weight in one.model.named_parameters()}
    optimiser = build_optimiser(AdamW(rate=0.1, weight_decay=0.5), groups_of(one, Training(freeze=freeze)))
    sum(loss.total for loss in one(batch(), 1).values()).backward()  # type: ignore[union-attr]
    optimiser.step()
    moved = {
        depth_of(name, 3) for name, weight in one.model.named_parameters() if not torch.equal(weight, before[name])
    }
    assert moved == learned


def test_nothing_set_is_one_group_in_the_order_of_the_model() -> None:
    one = learner()
    [group] = groups_of(one, Training())
    assert [id(weight) for weight in group["params"]] == [id(weight) for weight in one.parameters()]


def test_language_models_have_depths_too(tmp_path: Path) -> None:
    """Two layers of an LSTM under a head."""
    config = DecoderOnly.model_validate({"decoder": {"kind": "rnn", "layers": 2, "width": 3, "readout": "none"}})
    assert layers_in(build_model(config, 5, 5)) == 2
    run_all(texts.small(texts.written(tmp_path), training__steps=2, training__freeze="embeddings"), tmp_path / "run")


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return written(tmp_path_factory.mktemp("labels"), "labels")


LAYERS = {"kind": "transformer", "layers": 2, "heads": 2, "feed_forward": 12, "dropout": 0.1}
READER: dict[str, Any] = {f"model__encoder__{name}": value for name, value in LAYERS.items()}


@pytest.mark.parametrize("own", [{"layer_decay": 0.7}, {"freeze": 1, "average": 0.9}], ids=["decay", "freeze"])
def test_the_same_bits_after_a_crash(reviews: Corpus, tmp_path: Path, own: dict[str, Any]) -> None:
    settings = small(reviews, "labels", **READER, **{f"training__{name}": value for name, value in own.items()})
    run_all(settings, tmp_path / "whole")
    run_until(settings, tmp_path / "broken", lambda event: getattr(event, "step", 0) == 8)
    run_all(settings, tmp_path / "broken")
    assert bits(tmp_path / "broken", 20) == bits(tmp_path / "whole", 20)
    other = small(reviews, "labels", **READER, training__steps=30)
    with pytest.raises(ConfigError, match=r"training\.(layer_decay: 0.7 → 1.0|freeze: 1 → nothing)"):
        run_all(other, tmp_path / "whole")


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"freeze": 3}, "training.freeze = 3 freezes more layers than there are: 2. Set body"),
        ({"freeze": "boddy"}, "must be nothing, embeddings, body, or how many of the lowest layers"),
        ({"freeze": 0}, "must be nothing, embeddings, body, or how many of the lowest layers"),
        ({"layer_decay": 0}, "training.layer_decay"),
    ],
)
def test_mistakes_get_sentences(reviews: Corpus, own: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        small(reviews, "labels", **READER, **{f"training__{name}": value for name, value in own.items()})


def test_two_stacks_are_refused(corpus: Corpus) -> None:
    for own in ({"training__freeze": "body"}, {"training__layer_decay": 0.5}):
        with pytest.raises(ConfigError, match="counts the layers of one stack"):
            tiny(corpus, **own)
