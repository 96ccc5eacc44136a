"""No model sees what it has to write."""

import pytest
import torch
from model_parts import MODELS, batch_of, label, model_of

from dragoman.models import EncoderDecoder
from dragoman.regimes import teacher


@pytest.mark.parametrize("config", MODELS, ids=label)
def test_later_symbols_do_not_change_earlier_ones(config: EncoderDecoder) -> None:
    """Exactly: the last two of four symbols are others, and the first three distributions stay, bit by bit."""
    model = model_of(config)
    one, other = (batch_of([[3, 4, 5]], [[3, 4, *last]]) for last in ([5, 6], [7, 3]))
    before, after = (model.head.log_probabilities(teacher(model, batch)) for batch in (one, other))
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.equal(before[:, 3:], after[:, 3:])
