"""Hidden words, and whether a text follows another."""

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from dragoman import heads
from dragoman.config import Config
from dragoman.contracts import Batch, Loss, Output
from dragoman.nn.softmax import linear_cross_entropy
from dragoman.objectives.cross_entropy import real_tokens


class Pretraining(Config):
    """Minus the log-probability of hidden words, and of whether one text follows another (Devlin et al. 2019, A.2)."""

    kind: Literal["pretraining"] = "pretraining"


class PretrainingObjective:
    """loss = mean of −log p(hidden word) + mean of −log p(follows or not); each is told by its name."""

    def __init__(self, config: Pretraining) -> None:
        self.config = config

    def count(self, batch: Batch) -> dict[str, int]:
        """What the batch alone says that each loss is divided by."""
        return {"masked_words": batch.target_tokens, "next_sentence": batch.size}

    def __call__(self, output: Output, head: heads.PretrainingHead, batch: Batch) -> dict[str, Loss]:
        counts, losses = self.count(batch), dict[str, Loss]()
        if head.words is not None:
            hidden, truth = real_tokens(output, batch)
            layer = head.words.output
            total = linear_cross_entropy(head.words(hidden), layer.weight, layer.bias, truth)
            losses["masked_words"] = Loss(total, counts["masked_words"], by_name=True)
        if head.follows is not None:
            total = F.cross_entropy(head.follows(output.hidden), truth_of(batch), reduction="sum")
            losses["next_sentence"] = Loss(total, counts["next_sentence"], by_name=True)
        return losses


def truth_of(batch: Batch) -> Tensor:
    assert batch.follows is not None  # noqa: S101 (passages have it)
    return batch.follows.to(torch.int64)
