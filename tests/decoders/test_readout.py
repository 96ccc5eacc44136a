"""Readouts and bridges with numbers done by hand."""

import math

import pytest
import torch

from dragoman.contracts import Final, FinalShape
from dragoman.decoders.bridge import Bridge
from dragoman.decoders.readout import Readout
from dragoman.errors import ConfigError

READ = [torch.tensor([[[2.0], [3.0]]]), torch.tensor([[[10.0], [20.0]]]), torch.tensor([[[100.0], [200.0]]])]


def test_tanh() -> None:
    readout = Readout("tanh", 3, 1)
    readout.of_all.weight.data = torch.tensor([[0.1, 0.01, 0.001]])
    torch.testing.assert_close(readout(READ), torch.tensor([[[math.tanh(0.4)], [math.tanh(0.7)]]]))


def test_linear() -> None:
    readout = Readout("linear", 3, 1)
    readout.of_all.weight.data = torch.tensor([[1.0, 1.0, -1.0]])
    assert readout(READ).tolist() == [[[-88.0], [-177.0]]]


def test_maxout_takes_the_larger_of_each_pair() -> None:
    readout = Readout("maxout", 3, 2)
    readout.of_all.weight.data = torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    assert readout(READ).tolist() == [[[112.0, -2.0], [223.0, -3.0]]]


def test_none_is_the_state_itself() -> None:
    readout = Readout("none", 1, 7)
    assert readout.width == 1
    assert torch.equal(readout(READ), READ[0])


FINAL = Final(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[5.0, 6.0], [7.0, 8.0]]]))
SHAPE = FinalShape(2, 2, 2)


def test_copy_gives_every_layer_its_own() -> None:
    first = Bridge("copy", SHAPE, 2, SHAPE)(FINAL, FINAL.hidden[:, -1])
    assert first.tolist() == [[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]


def test_linear_and_mlp_read_what_they_are_given() -> None:
    for kind, depth in (("linear", 1), ("mlp", 2)):
        bridge = Bridge(kind, SHAPE, 1, FinalShape(1, 1, 1))
        for layer in filter(None, (bridge.hidden, bridge.first)):
            layer.weight.data.fill_(2.0)
        expected = 0.3
        for _ in range(depth):
            expected = math.tanh(2 * expected)
        assert bridge(FINAL, torch.tensor([[0.3]])).item() == pytest.approx(expected)


def test_zeros() -> None:
    assert Bridge("zeros", None, 1, SHAPE)(None, torch.ones(3, 1)).tolist() == torch.zeros(3, 2, 2, 2).tolist()


@pytest.mark.parametrize("shape", [FinalShape(1, 2, 2), FinalShape(2, 1, 2), FinalShape(2, 2, 3)])
def test_copy_refuses_another_shape(shape: FinalShape) -> None:
    with pytest.raises(ConfigError, match="set bridge = 'linear'"):
        Bridge("copy", SHAPE, 2, shape)
