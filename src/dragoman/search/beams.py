"""The search between two steps: hypotheses that live, and those that reached END."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dragoman.contracts import Hypothesis, Request


@dataclass(frozen=True)
class Ended:
    """The best ended hypotheses of each sentence, best first and the earlier first among equals; -inf is no hypothesis.

    More than the number asked for need not be kept: what falls out is beaten for good.
    """

    totals: Float[Tensor, "B M"]
    scores: Float[Tensor, "B M"]
    lengths: Int[Tensor, "B M"]  # END counted
    tokens: Int[Tensor, "B M steps"]  # START first, END left out
    rows: Int[Tensor, "B M"]  # in which of the K places each was when it ended
    count: Int[Tensor, " B"]  # how many have ended, kept or not

    def add(
        self,
        totals: Float[Tensor, "B K"],
        scores: Float[Tensor, "B K"],
        tokens: Int[Tensor, "B K length"],
        at_most: int | None,
    ) -> "Ended":
        """With those that end at this step, of which `tokens` is all but END; -inf in `scores` is none."""
        longest = tokens.shape[2]
        earlier = pad(self.tokens, (0, longest - self.tokens.shape[2]))
        ranked, order = torch.cat([self.scores, scores], 1).sort(dim=1, descending=True, stable=True)
        order = order[:, :at_most]
        new = tokens[:, :, 0]
        lengths = torch.cat([self.lengths, torch.full_like(new, longest)], 1)
        rows = torch.cat([self.rows, torch.arange(new.shape[1], device=new.device).expand_as(new)], 1)
        return Ended(
            totals=torch.cat([self.totals, totals], 1).gather(1, order),
            scores=ranked[:, :at_most],
            lengths=lengths.gather(1, order),
            tokens=torch.cat([earlier, tokens], 1).gather(1, order[:, :, None].expand(-1, -1, longest)),
            rows=rows.gather(1, order),
            count=self.count + scores.isfinite().sum(1),
        )

    def worst_of(self, number: int) -> Float[Tensor, " B"]:
        """The score that a newcomer has to beat to be among the best `number`."""
        if self.scores.shape[1] < number:
            return torch.full_like(self.count, -torch.inf, dtype=self.scores.dtype)
        return self.scores[:, number - 1]

    def keep(self, sentences: Int[Tensor, " kept"]) -> "Ended":
        parts = (self.totals, self.scores, self.lengths, self.tokens, self.rows, self.count)
        return Ended(*(part[sentences] for part in parts))

    def of(self, sentence: int) -> list[tuple[int, Hypothesis]]:
        """Best first, each with the place that it ended in."""
        parts = (self.totals, self.scores, self.lengths, self.tokens, self.rows)
        totals, scores, lengths, tokens, rows = (part[sentence].tolist() for part in parts)
        return [
            (row, Hypothesis(tuple(symbols[1:length]), total, score, finished=True))
            for symbols, length, total, score, row in zip(tokens, lengths, totals, scores, rows, strict=True)
            if score > -torch.inf
        ]


@dataclass(frozen=True)
class Beams:
    """K live hypotheses a sentence, best first; a rank of -inf is an empty place."""

    sentences: Int[Tensor, " B"]  # their numbers in the request
    limits: Int[Tensor, " B"]  # symbols at most, END counted
    totals: Float[Tensor, "B K"]  # log-probabilities, as the model gave them
    ranks: Float[Tensor, "B K"]  # the same after all processors: by these the best are chosen
    tokens: Int[Tensor, "B K length"]  # START first
    ended: Ended
    carried: Mapping[str, Tensor] = field(default_factory=dict)  # (B, K, …): what a part remembers of each hypothesis

    @property
    def last(self) -> Int[Tensor, " N"]:
        """What the model is fed next."""
        return self.tokens[:, :, -1].flatten()

    @property
    def length(self) -> int:
        """Symbols of every hypothesis after the next step, END counted."""
        return self.tokens.shape[2]

    def keep(self, sentences: Int[Tensor, " kept"]) -> "Beams":
        return Beams(
            sentences=self.sentences[sentences],
            limits=self.limits[sentences],
            totals=self.totals[sentences],
            ranks=self.ranks[sentences],
            tokens=self.tokens[sentences],
            ended=self.ended.keep(sentences),
            carried={name: value[sentences] for name, value in self.carried.items()},
        )


def first(request: Request, copies: int) -> Beams:
    """START and the prefix alone, once a sentence or `copies` times."""
    start = request.start[:, None]
    begun = start if request.prefix is None else torch.cat([start, request.prefix], 1)
    totals = torch.zeros_like(request.start, dtype=torch.float32)
    if request.prefix_total is not None:
        totals = request.prefix_total
    totals = totals[:, None].expand(-1, copies)
    nothing = request.start.new_zeros(len(request.start), 0)
    carried = {}
    if request.source_mask is not None:  # padding counts as looked at
        carried["coverage"] = (~request.source_mask).float()[:, None].expand(-1, copies, -1)
    return Beams(
        sentences=torch.arange(len(request.start), device=request.start.device),
        limits=request.max_length,
        totals=totals,
        ranks=totals,
        tokens=begun[:, None].expand(-1, copies, -1),
        ended=Ended(
            nothing.float(), nothing.float(), nothing, nothing[:, :, None], nothing, torch.zeros_like(request.start)
        ),
        carried=carried,
    )
