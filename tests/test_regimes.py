import pytest
import torch

from dragoman.contracts import Batch, Padded
from dragoman.errors import DataError
from dragoman.models import EncoderDecoder, build_model
from dragoman.regimes import teacher


def test_teacher_needs_a_target() -> None:
    source = Padded(torch.tensor([[3, 4]]), torch.tensor([[True, True]]))
    with pytest.raises(DataError, match="no target"):
        teacher(build_model(EncoderDecoder(), 5, 6), Batch((0,), {"source": source}))
