"""The likelihood of the true target."""

from dataclasses import replace
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from pydantic import Field
from torch import Tensor

from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output
from dragoman.heads.labels import BAG
from dragoman.nn.softmax import linear_cross_entropy, linear_divergence, linear_log_probabilities
from dragoman.objectives.doubly_stochastic import WEIGHTS, unevenness
from dragoman.objectives.reinforce import LOG_PROBABILITY, Reinforce, reinforce

CONSISTENCY = "consistency"  # how much the distributions of two passes differ


class CrossEntropy(Config):
    """Minus the log-probability of the true words, smoothed (Szegedy et al. 2016, §7)."""

    kind: Literal["cross_entropy"] = "cross_entropy"
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """ε: 1 − ε on the true word, ε spread over all V"""
    per: Literal["token", "sentence"] = "token"
    """what the sum is divided by"""
    doubly_stochastic: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    """λ of Σ_j (1 − Σ_i α_ij)², which has a recurrent decoder look at all of the source (Xu et al. 2015, 4.2.1)"""
    reinforce: Reinforce = Reinforce()
    """how drawn positions are learnt, where the attention draws them"""
    consistency: Annotated[float, Field(ge=0, le=1e3)] = 0.0
    """weight α of the divergence of two forward passes with different dropout masks, α/4 (KL(p‖q) + KL(q‖p)); the other
    losses are means over both (R-Drop; Wu et al. 2021, eq. 4, halved); 0: one pass"""


@runtime_checkable
class Linear(Protocol):
    """A head whose output layer is computed in chunks and on real tokens only, here."""

    @property
    def weight(self) -> Float[Tensor, "V D"]: ...

    @property
    def bias(self) -> Float[Tensor, " V"] | None: ...


class CrossEntropyObjective:
    """loss = −Σ_t [(1 − ε) log p(y_t) + ε/V Σ_v log p(v)]; only real tokens reach the output layer.

    Where positions were drawn, losses for them come beside it, with the same divisor, and so do those of a linear model
    beside the encoder and of attention which is not doubly stochastic.
    """

    def __init__(self, config: CrossEntropy) -> None:
        self.smoothing = config.smoothing
        self.per = config.per
        self.reinforce = config.reinforce
        self.doubly_stochastic = config.doubly_stochastic
        self.consistency = config.consistency

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that each loss is divided by."""
        count = batch.target_tokens if self.per == "token" else batch.size
        weights = {"doubly_stochastic": self.doubly_stochastic, CONSISTENCY: self.consistency}
        further = (name for name, weight in weights.items() if weight)
        return dict.fromkeys(("cross_entropy", "reinforce", "baseline", BAG, *further), count)

    def __call__(self, output: Output, head: Linear, batch: Batch) -> dict[str, Loss]:
        hidden, truth = real_tokens(output, batch)
        total = linear_cross_entropy(hidden, head.weight, head.bias, truth, self.smoothing)
        counts = self.count(batch)
        losses = {"cross_entropy": Loss(total, counts["cross_entropy"])}
        if BAG in output.extras:
            scores = output.extras[BAG].flatten(0, 1).index_select(0, batch.truth().real)
            total = F.cross_entropy(scores, truth, reduction="sum", label_smoothing=self.smoothing)
            losses[BAG] = Loss(total, counts[BAG], auxiliary=True)
        if self.doubly_stochastic and WEIGHTS in output.extras:
            total = self.doubly_stochastic * unevenness(output.extras[WEIGHTS], batch)
            losses["doubly_stochastic"] = Loss(total, counts["doubly_stochastic"], auxiliary=True)
        if LOG_PROBABILITY in output.extras:
            with torch.no_grad():
                logs = target_log_probabilities(output, head, batch)
            found = reinforce(self.reinforce, output.extras, logs, batch.truth().real)
            losses |= {name: Loss(total, counts[name], auxiliary=True) for name, total in found.items()}
        return losses

    def consistent(self, output: Output, head: Any, batch: Batch) -> dict[str, Loss]:
        """Of a batch that has each example twice: the mean of both, and how much their distributions differ."""
        losses = {
            name: replace(loss, total=loss.total / 2, count=loss.count // 2)
            for name, loss in self(output, head, batch).items()
        }
        first, second = real_tokens(output, batch)[0].chunk(2)
        total = self.consistency / 4 * linear_divergence(first, second, head.weight, head.bias)
        losses[CONSISTENCY] = Loss(total, self.count(batch)[CONSISTENCY] // 2, auxiliary=True)
        return losses


def real_tokens(output: Output, batch: Batch) -> tuple[Float[Tensor, "R D"], Tensor]:
    """The hidden vectors that stand before real tokens, and those tokens."""
    target = batch.truth()
    hidden = output.hidden.flatten(0, 1).index_select(0, target.real)
    return hidden, target.outputs.values.flatten().index_select(0, target.real)


def target_log_probabilities(output: Output, head: Linear, batch: Batch) -> Float[Tensor, "B T"]:
    """log p(y_t | y_<t, source) of every target token, without smoothing; 0 on padding."""
    hidden, truth = real_tokens(output, batch)
    real = batch.truth().real
    logs = linear_log_probabilities(hidden, head.weight, head.bias, truth)
    rows, steps = output.hidden.shape[:2]
    return logs.new_zeros(rows * steps).index_copy(0, real, logs).view(rows, steps)
