import torch

from dragoman.nn.masks import last_real, reorder, reversed_positions

MASK = torch.tensor([[True, True, True, False], [True, False, False, False], [False] * 4])


def test_only_the_real_part_is_turned() -> None:
    assert reversed_positions(MASK).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [0, 1, 2, 3]]


def test_turning_twice_changes_nothing() -> None:
    values, turned = torch.randn(3, 4, 2), reversed_positions(MASK)
    assert torch.equal(reorder(reorder(values, turned), turned), values)


def test_the_last_real_step() -> None:
    values = torch.arange(12.0).view(3, 4, 1)
    assert last_real(values, MASK).flatten().tolist() == [2.0, 4.0, 0.0]
