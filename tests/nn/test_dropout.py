"""Dropout by dice of 65,536 sides."""

import pytest
import torch

from dragoman.nn.dropout import Dropout, mask_of


@pytest.mark.parametrize("p", [0.1, 0.5, 0.875])
def test_a_share_is_left_out_and_the_mean_stays(p: float) -> None:
    torch.manual_seed(1)
    mask = mask_of(torch.empty(400, 251), p)
    assert mask.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)], rel=1e-3)
    spread = (p * (1 - p) / mask.numel()) ** 0.5
    assert abs(float((mask == 0).float().mean()) - p) < 4 * spread


def test_neighbours_are_drawn_by_themselves() -> None:
    """The four dice of one number too."""
    torch.manual_seed(2)
    gone = (mask_of(torch.empty(1000, 256), 0.25) == 0).double()
    for distance in (1, 2, 3, 4, 256):
        one, other = gone.flatten()[:-distance], gone.flatten()[distance:]
        correlation = torch.corrcoef(torch.stack([one, other]))[0, 1]
        assert abs(float(correlation)) < 4 / len(one) ** 0.5


def test_the_seed_decides() -> None:
    masks = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        masks.append(mask_of(torch.empty(5, 7), 0.5))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_added_is_the_sum_and_evaluation_leaves_everything() -> None:
    dropout, one, other = Dropout(0.5), torch.randn(3, 4), torch.randn(3, 4)
    torch.manual_seed(5)
    expected = one + dropout(other)
    torch.manual_seed(5)
    torch.testing.assert_close(dropout.added(one, other), expected)
    dropout.eval()
    assert torch.equal(dropout(one), one)
    assert torch.equal(dropout.added(one, other), one + other)


def test_the_gradient_is_that_of_what_stays() -> None:
    dropout, vectors = Dropout(0.5), torch.randn(3, 4, requires_grad=True)
    torch.manual_seed(6)
    dropout(vectors).sum().backward()
    torch.manual_seed(6)
    assert torch.equal(vectors.grad, mask_of(vectors, 0.5))


@pytest.mark.parametrize("p", [1e-9, 1 - 1e-9])
def test_the_ends_of_the_scale_are_finite(p: float) -> None:
    assert mask_of(torch.empty(8, 8), p).isfinite().all()
