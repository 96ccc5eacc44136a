"""Positions with numbers done by hand."""

import math
from typing import Any

import pytest
import torch

from dragoman import encoders
from dragoman.encoders import TransformerEncoder
from dragoman.errors import ConfigError, DataError
from dragoman.nn.positions import (
    Learned,
    LearnedPositions,
    OneHot,
    OneHotPositions,
    PositionsConfig,
    Rotary,
    RotaryPositions,
    Sinusoidal,
    build_positions,
    longest,
    sinusoids,
)

CONFIGS = [Sinusoidal(), Learned(length=9), OneHot(length=9), Rotary()]
every_kind = pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)


def test_waves_by_hand() -> None:
    """sin and cos side by side, with 10000^0 = 1 and 10000^(2/4) = 100 below the position."""
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)],
        [math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)],
    ]
    torch.testing.assert_close(sinusoids(3, 4), torch.tensor(expected, dtype=torch.float64))
    vectors = torch.randn(2, 3, 4)
    found = build_positions(Sinusoidal(), 4, 2)(vectors, 0)
    torch.testing.assert_close(found, vectors + torch.tensor(expected))


def test_waves_of_an_odd_width() -> None:
    """The last sine stands alone; exponents are those of width 3."""
    expected = [[0.0, 1.0, 0.0], [math.sin(1), math.cos(1), math.sin(10_000 ** (-2 / 3))]]
    torch.testing.assert_close(sinusoids(2, 3), torch.tensor(expected, dtype=torch.float64))


def test_late_waves_have_all_their_digits() -> None:
    """In single precision 65,537 radians are known to some thousandths."""
    place = 65_537
    found = build_positions(Sinusoidal(), 2, 1)(torch.zeros(1, 1, 2), place)
    assert found.flatten().tolist() == pytest.approx([math.sin(place), math.cos(place)], abs=1e-6)


@every_kind
@pytest.mark.parametrize("first", [1, 4, 8])
def test_any_first_position(config: PositionsConfig, first: int) -> None:
    """What begins later has the places that it would have in the whole."""
    positions, vectors = build_positions(config, 6, 3), torch.randn(2, 9, 6)
    place = positions.turned if isinstance(positions, RotaryPositions) else positions
    inputs = vectors.view(2, 9, 3, 2) if isinstance(positions, RotaryPositions) else vectors
    torch.testing.assert_close(place(inputs[:, first:], first), place(inputs, 0)[:, first:])


def test_rotary_adds_nothing() -> None:
    vectors = torch.randn(2, 3, 4)
    assert build_positions(Rotary(), 4, 2)(vectors, 5) is vectors


def test_a_learned_table_is_added_row_by_row() -> None:
    positions, vectors = LearnedPositions(Learned(length=5), 3), torch.randn(2, 2, 3)
    found = positions(vectors, 2)
    for step in range(2):
        torch.testing.assert_close(found[:, step], vectors[:, step] + positions.table[2 + step])


@pytest.mark.parametrize("first", [0, 3])
def test_one_hot_is_a_vector_beside_its_place_through_a_layer(first: int) -> None:
    """[x_p; 0 … 1 … 0] written out, through the same layer as it stands."""
    positions, vectors = OneHotPositions(OneHot(length=7), 5), torch.randn(2, 4, 5)
    torch.nn.init.normal_(positions.projected.weight)
    torch.nn.init.normal_(positions.projected.bias)
    rows = torch.eye(7)[first : first + 4].expand(2, 4, 7)
    expected = positions.projected(torch.cat([vectors, rows], 2))
    torch.testing.assert_close(positions(vectors, first), expected)


def test_one_hot_with_the_identity_is_a_learned_table() -> None:
    """As it is before training."""
    one_hot, learned = OneHotPositions(OneHot(length=7), 5), LearnedPositions(Learned(length=7), 5)
    assert torch.equal(one_hot.projected.weight[:, :5], torch.eye(5))
    assert not one_hot.projected.bias.any()
    learned.table.data = one_hot.projected.weight[:, 5:].t()
    vectors = torch.randn(2, 4, 5)
    torch.testing.assert_close(one_hot(vectors, 3), learned(vectors, 3))


@pytest.mark.parametrize("config", [Learned(length=4), OneHot(length=4)], ids=lambda config: config.kind)
def test_beyond_the_table_is_a_sentence(config: PositionsConfig) -> None:
    positions = build_positions(config, 3, 1)
    assert longest(config) == 4
    positions(torch.randn(1, 2, 3), 2)
    with pytest.raises(DataError) as raised:
        positions(torch.randn(1, 2, 3), 3)
    assert str(raised.value) == (
        "A sequence of 5 symbols, START or END counted, is longer than the 4 positions that this model has "
        "(positions.length). Shorten or split it (limits.source, limits.answer, data.max_source_length, "
        "data.max_target_length), or train with more positions, or with sinusoidal or rotary ones."
    )


@pytest.mark.parametrize("config", [Sinusoidal(), Rotary()], ids=lambda config: config.kind)
def test_waves_have_no_end(config: PositionsConfig) -> None:
    assert longest(config) is None


def test_half_a_pair_cannot_be_turned() -> None:
    with pytest.raises(ConfigError) as raised:
        TransformerEncoder(encoders.Transformer(heads=2, positions=Rotary()), 6)
    assert str(raised.value) == (
        "Rotary positions turn pairs of elements, and the width of a head is 3, which is odd. Set heads, "
        "model.source.width or model.target.width so that width / heads is even, or other positions."
    )


@every_kind
def test_odd_widths(config: PositionsConfig) -> None:
    """All but rotary ones, which turn pairs."""
    if not isinstance(config, Rotary):
        assert build_positions(config, 7, 1)(torch.randn(2, 3, 7), 1).shape == (2, 3, 7)


@pytest.mark.parametrize("config", [Sinusoidal(), Rotary()], ids=lambda config: config.kind)
def test_a_table_made_while_answering_does_for_training(config: PositionsConfig) -> None:
    """A validation may be the first to meet a long sequence."""
    settings: dict[str, Any] = {"heads": 2, "layers": 1, "feed_forward": 3, "positions": config}
    encoder = TransformerEncoder(encoders.Transformer(**settings), 4)
    vectors, mask = torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool)
    with torch.inference_mode():
        encoder.eval()(vectors, mask)
    encoder.train()(vectors, mask).sequences["source"].states.sum().backward()
    assert all(value.grad is not None for value in encoder.parameters())


@every_kind
def test_positions_follow_the_precision(config: PositionsConfig) -> None:
    positions = build_positions(config, 4, 2)
    for kind in (torch.float64, torch.float32, torch.bfloat16):
        assert positions.to(kind)(torch.zeros(1, 2, 4, dtype=kind), 0).dtype == kind
