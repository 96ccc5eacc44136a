"""Hypotheses that reached END, set aside."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dragoman.contracts import Hypothesis


@dataclass(frozen=True)
class Ended:
    """The best ended hypotheses of each sentence, best first and the earlier first among equals; -inf is no hypothesis.

    More than the number asked for need not be kept: what falls out is beaten for good.
    """

    totals: Float[Tensor, "B M"]
    scores: Float[Tensor, "B M"]
    lengths: Int[Tensor, "B M"]  # END counted
    tokens: Int[Tensor, "B M steps"]  # START first, END left out
    count: Int[Tensor, " B"]  # how many have ended, kept or not

    def add(
        self,
        totals: Float[Tensor, "B K"],
        scores: Float[Tensor, "B K"],
        tokens: Int[Tensor, "B K length"],
        at_most: int,
    ) -> "Ended":
        """With those that end at this step, of which `tokens` is all but END."""
        longest = tokens.shape[2]
        earlier = pad(self.tokens, (0, longest - self.tokens.shape[2]))
        ranked, order = torch.cat([self.scores, scores], 1).sort(dim=1, descending=True, stable=True)
        order = order[:, :at_most]
        lengths = torch.cat([self.lengths, torch.full_like(tokens[:, :, 0], longest)], 1)
        return Ended(
            totals=torch.cat([self.totals, totals], 1).gather(1, order),
            scores=ranked[:, :at_most],
            lengths=lengths.gather(1, order),
            tokens=torch.cat([earlier, tokens], 1).gather(1, order[:, :, None].expand(-1, -1, longest)),
            count=self.count + totals.isfinite().sum(1),
        )

    def worst_of(self, number: int) -> Float[Tensor, " B"]:
        """The score that a newcomer has to beat to be among the best `number`."""
        if self.scores.shape[1] < number:
            return torch.full_like(self.count, -torch.inf, dtype=self.scores.dtype)
        return self.scores[:, number - 1]

    def keep(self, sentences: Int[Tensor, " kept"]) -> "Ended":
        return Ended(*(part[sentences] for part in (self.totals, self.scores, self.lengths, self.tokens, self.count)))

    def of(self, sentence: int) -> list[Hypothesis]:
        rows = (self.totals, self.scores, self.lengths, self.tokens)
        totals, scores, lengths, tokens = (part[sentence].tolist() for part in rows)
        return [
            Hypothesis(tuple(symbols[1:length]), total, score, finished=True)
            for symbols, length, total, score in zip(tokens, lengths, totals, scores, strict=True)
            if score > -torch.inf
        ]


def none_ended(start: Int[Tensor, " B"]) -> Ended:
    """Before the first step."""
    nothing = start.new_zeros(len(start), 0)
    return Ended(nothing.float(), nothing.float(), nothing, nothing[:, :, None], torch.zeros_like(start))
