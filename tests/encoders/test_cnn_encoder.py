"""The convolutional encoder, with numbers that can be checked by hand."""

import torch

from dragoman.encoders import Cnn, build_encoder


@torch.no_grad()
def test_filters_see_their_window_and_nothing_beyond_the_text() -> None:
    encoder = build_encoder(Cnn(windows=(2, 3), filters=1), 1)
    two, three = encoder.convolutions()
    two.weight.copy_(torch.tensor([[1.0, 10.0]]))
    three.weight.copy_(torch.tensor([[100.0, 10.0, 1.0]]))
    two.bias.zero_()
    three.bias.fill_(-20.0)
    vectors = torch.tensor([[[1.0], [2.0], [3.0], [9.0]]])
    mask = torch.tensor([[True, True, True, False]])
    states = encoder(vectors, mask).sequences["source"].states
    # window 2 sees a position and the one behind it; window 3 also the one before: 012 − 20 is below 0
    assert states[0].tolist() == [[21.0, 0.0], [32.0, 103.0], [3.0, 210.0], [0.0, 0.0]]
