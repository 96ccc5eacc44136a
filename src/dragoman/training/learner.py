"""One module whose forward(batch, step) is the whole of the training arithmetic, which data-parallel wrappers wrap."""

from collections.abc import Mapping
from functools import cached_property

from torch import Tensor, nn

from dragoman.contracts import Batch, Loss, Objective, Output, Regime
from dragoman.errors import ConfigError
from dragoman.models import EncoderOnlyModel, Model
from dragoman.nn.attention import Attention
from dragoman.objectives import CrossEntropyObjective
from dragoman.regimes import go_on


class Learner(nn.Module):
    """Batch and number of the update → named losses: the regime feeds the target, the objective compares.

    Rows of streams begin in the state that the batch before has left, which is carried without its gradient. A model
    that only reads is fed nothing.
    """

    def __init__(self, model: Model, regime: Regime, objective: Objective) -> None:
        super().__init__()
        self.model, self.regime, self.objective = model, regime, objective
        if getattr(objective, "doubly_stochastic", 0.0):
            have_attention_tell(model)
        self.carry: Mapping[str, Tensor] = {}  # a row a stream; empty: every stream begins with zeros

    @cached_property
    def weights(self) -> list[nn.Parameter]:
        """All that is learned, found once: to look for them takes a quarter of a millisecond."""
        return list(self.parameters())

    def forward(self, batch: Batch, step: int) -> Mapping[str, Loss]:
        if batch.streams is not None and not isinstance(self.model, EncoderOnlyModel):
            output, self.carry = go_on(self.model, batch, self.carry)
            return self.objective(output, self.model.head, batch)
        if self.training and isinstance(self.objective, CrossEntropyObjective) and self.objective.consistency:
            twice = batch.doubled()
            return self.objective.consistent(self.outputs(twice, step), self.model.head, twice)
        return self.objective(self.outputs(batch, step), self.model.head, batch)

    def outputs(self, batch: Batch, step: int) -> Output:
        if isinstance(self.model, EncoderOnlyModel):
            return self.model.read(batch)
        return self.regime(self.model, batch, step)


def have_attention_tell(model: Model) -> None:
    """An objective that judges where was looked has to be told."""
    attention = getattr(getattr(model, "decoder", None), "attention", None)
    if not isinstance(attention, Attention):
        raise ConfigError(
            "objective.doubly_stochastic is about where a recurrent decoder looks, and this model has none with "
            "attention. Set objective.doubly_stochastic = 0."
        )
    attention.tells = True
