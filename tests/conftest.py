"""Every test starts from the same random numbers, on one thread."""

import pytest
import torch


@pytest.fixture(autouse=True)
def same_start() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
