"""Readouts with numbers done by hand."""

import math

import torch

from dragoman.decoders.readout import Readout

BEFORE, STATES = torch.tensor([[1.0]]), torch.tensor([[[2.0], [3.0]]])
WORDS, CONTEXTS = torch.tensor([[[10.0], [20.0]]]), torch.tensor([[[100.0], [200.0]]])


def test_tanh_reads_the_new_state() -> None:
    readout = Readout("tanh", 3, 1)
    readout.of_all.weight.data = torch.tensor([[0.1, 0.01, 0.001]])
    expected = torch.tensor([[[math.tanh(0.4)], [math.tanh(0.7)]]])
    torch.testing.assert_close(readout(BEFORE, STATES, WORDS, CONTEXTS), expected)


def test_maxout_takes_the_larger_of_each_pair_on_the_state_before() -> None:
    readout = Readout("maxout", 3, 2)
    readout.of_all.weight.data = torch.tensor([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]])
    assert readout(BEFORE, STATES, WORDS, CONTEXTS).tolist() == [[[111.0, -1.0], [222.0, -2.0]]]
