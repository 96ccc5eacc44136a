"""The states of all words → the most probable sequence of tags."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from dragoman.contracts import Memory, Output, Target
from dragoman.heads.tags import Decided, Tagging
from dragoman.nn.chain import Chain, best_path, log_partition, marginals, path_scores
from dragoman.nn.dropout import Dropout
from dragoman.nn.linear import linear


class Crf(Tagging):
    """Tags of all words of a sentence together, in which tags behind one another count (Lafferty et al. 2001; Lample et
    al. 2016, 2.2)."""

    kind: Literal["crf"] = "crf"


class CrfHead(nn.Module):
    """p(y | sentence) = exp(Σ_i P[i, y_i] + Σ_i A[y_{i−1}, y_i]) / Z with P = W h + b of the states h, A learned, and Z
    the sum over all sequences y of tags (Lample et al. 2016, 2.2)."""

    def __init__(self, config: Crf, width: int, size: int) -> None:
        super().__init__()
        self.dropout = Dropout(config.dropout)
        self.output = linear(width, size)
        self.transitions = nn.Parameter(torch.zeros(size, size))
        self.start, self.end = nn.Parameter(torch.zeros(size)), nn.Parameter(torch.zeros(size))

    @property
    def chain(self) -> Chain:
        return Chain(self.transitions, self.start, self.end)

    def gather(self, memory: Memory) -> Output:
        return Output(self.dropout(memory.sequences["source"].states))

    def negative_log_likelihoods(self, output: Output, target: Target) -> Float[Tensor, " B"]:
        """−log p(tags | sentence) of each sentence."""
        order = first_places(target.outputs.mask)
        mask, tags = (part.gather(1, order) for part in (target.outputs.mask, target.outputs.values))
        emissions = in_places(self.output(output.hidden), order)
        return log_partition(emissions, mask, self.chain) - path_scores(emissions, tags, mask, self.chain)

    def decide(
        self, output: Output, places: Bool[Tensor, "B S"], follows: Bool[Tensor, "J K"] | None = None
    ) -> Decided:
        """The most probable sequence of tags at the places of words, of those in which `follows` lets tags follow one
        another; and how probable each of them is, over all sequences."""
        order = first_places(places)
        mask, emissions = places.gather(1, order), in_places(self.output(output.hidden), order)
        chain = self.chain.barred(follows)
        tags = best_path(emissions, mask, chain)
        each = marginals(emissions, mask, chain).gather(2, tags[:, :, None])[:, :, 0].log()
        totals = path_scores(emissions, tags, mask, chain) - log_partition(emissions, mask, chain)
        back = order.argsort(1)
        return Decided(tags.gather(1, back), each.gather(1, back), totals)


def first_places(places: Bool[Tensor, "B S"]) -> Int[Tensor, "B S"]:
    """An order in which the places of words stand before all others."""
    return (~places).to(torch.uint8).argsort(dim=1, stable=True)


def in_places(values: Float[Tensor, "B S K"], order: Int[Tensor, "B S"]) -> Float[Tensor, "B S K"]:
    return values.gather(1, order[:, :, None].expand(-1, -1, values.shape[2]))
