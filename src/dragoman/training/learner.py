"""One module whose forward(batch, step) is the whole of the training arithmetic, which data-parallel wrappers wrap."""

from collections.abc import Mapping

from torch import nn

from dragoman.contracts import Batch, Loss, Objective, Regime
from dragoman.models.encoder_decoder import EncoderDecoderModel


class Learner(nn.Module):
    """Batch and number of the update → named losses: the regime feeds the target, the objective compares."""

    def __init__(self, model: EncoderDecoderModel, regime: Regime, objective: Objective) -> None:
        super().__init__()
        self.model, self.regime, self.objective = model, regime, objective

    def forward(self, batch: Batch, step: int) -> Mapping[str, Loss]:
        return self.objective(self.regime(self.model, batch, step), self.model.head, batch)
