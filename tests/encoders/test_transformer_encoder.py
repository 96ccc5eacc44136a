"""Where the symbols of a Transformer's encoder look."""

import pytest
import torch

from dragoman.encoders import Transformer, TransformerEncoder


@pytest.mark.parametrize("gradients", [True, False], ids=["modules", "quick"])
def test_what_looks_back_knows_nothing_of_what_comes(gradients: bool) -> None:
    torch.manual_seed(1)
    encoder = TransformerEncoder(Transformer(layers=2, heads=2, feed_forward=7, directions="one"), 4).eval()
    vectors = torch.randn(2, 5, 4)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    changed = vectors.clone()
    changed[:, 2] *= -1  # a norm would not see a shift
    with torch.set_grad_enabled(gradients):
        before, after = (encoder(some, mask).sequences["source"].states for some in (vectors, changed))
    torch.testing.assert_close(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 4:][0], after[:, 4:][0])
    assert not before[1, 3:].any()


def test_its_weights_lie_below_the_diagonal() -> None:
    torch.manual_seed(1)
    encoder = TransformerEncoder(Transformer(layers=1, heads=2, feed_forward=7, directions="one"), 4).eval()
    memory = encoder(torch.randn(1, 3, 4), torch.ones(1, 3, dtype=torch.bool), attention=True)
    weights = memory.attention["encoder.1"]
    assert not weights.triu(1).any()
    assert weights[0, :, 0, 0].tolist() == [1, 1]
