import torch

from dragoman.nn.masks import last_real


def test_the_last_real_step() -> None:
    mask = torch.tensor([[True, True, True, False], [True, False, False, False], [False] * 4])
    values = torch.arange(12.0).view(3, 4, 1)
    assert last_real(values, mask).flatten().tolist() == [2.0, 4.0, 0.0]
