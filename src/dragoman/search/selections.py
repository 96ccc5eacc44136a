"""Which continuations go on."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from dragoman.contracts import Hypothesis
from dragoman.search.beams import Beams
from dragoman.search.loop import Candidates, Placed, Selected
from dragoman.search.scorers import Lengths, Scorer


class Ranked:
    """The best by score, ended ones first."""

    def kept(self, n_best: int) -> int | None:
        return n_best

    def answers(self, ended: Sequence[Placed], live: Sequence[Placed], n_best: int) -> list[Hypothesis]:
        return [hypothesis for _, hypothesis in (*ended, *live)[:n_best]]


class Best(Ranked):
    """The k best of all rows together."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, beams: Beams, candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> Selected:
        others = candidates.ranks if ends is None else candidates.ranks.masked_fill(ends, -torch.inf)
        if others.shape[1] == others.shape[2] == 1:  # greedy: nothing to choose from
            ranks = others[:, :, 0]
            return Selected(torch.zeros_like(ranks, dtype=torch.int64), ranks, ending_of(candidates, ends))
        ranks, order = others.flatten(1).sort(dim=1, descending=True, stable=True)
        return Selected(order[:, : self.width], ranks[:, : self.width], ending_of(candidates, ends))


class EachItsOwn(Ranked):
    """Rows know nothing of one another: each goes on with the one symbol that it proposes, or has ended."""

    def __call__(self, beams: Beams, candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> Selected:
        ranks = candidates.ranks[:, :, 0]
        places = torch.arange(ranks.shape[1], device=ranks.device).expand_as(ranks)
        going = ranks if ends is None else ranks.masked_fill(ends[:, :, 0], -torch.inf)
        return Selected(places, going, ending_of(candidates, ends))


class Groups:
    """Groups that search one after the other within a step, each paying for symbols that earlier groups chose there
    (Vijayakumar et al. 2018: diverse beam search with Hamming distance). The payment decides and is not kept. Groups
    answer in turn, each with its best that was not answered yet."""

    def __init__(self, width: int, groups: int, penalty: float) -> None:
        self.size, self.groups, self.penalty = width // groups, groups, penalty

    def __call__(self, beams: Beams, candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> Selected:
        _, places, proposed = candidates.ranks.shape
        if ends is None:
            ends = torch.zeros_like(candidates.symbols, dtype=torch.bool)
        taken: list[Int[Tensor, "B size"]] = []
        chosen, ranks = [], []
        ending = torch.full_like(candidates.ranks, -torch.inf)
        for group in range(self.groups):
            rows = slice(0, 1) if places == 1 else slice(group * self.size, (group + 1) * self.size)
            own, symbols = candidates.ranks[:, rows], candidates.symbols[:, rows]
            paid = own - self.penalty * uses(symbols, taken)
            allowed = paid >= paid.topk(min(self.size, proposed), dim=2).values[:, :, -1:]  # what each row proposes
            paid = paid.masked_fill(~allowed, -torch.inf)
            over = ends[:, rows] & allowed
            ending[:, rows] = torch.maximum(ending[:, rows], own.masked_fill(~over, -torch.inf))
            going = paid.masked_fill(ends[:, rows], -torch.inf).flatten(1)
            going = pad(going, (0, max(0, self.size - going.shape[1])), value=-torch.inf)  # groups stay of one size
            values, order = going.sort(dim=1, descending=True, stable=True)
            good = values[:, : self.size].isfinite()
            places_of = order[:, : self.size].masked_fill(~good, 0)
            rank = own.flatten(1).gather(1, places_of).masked_fill(~good, -torch.inf)
            taken.append(symbols.flatten(1).gather(1, places_of).masked_fill(~good, -1))
            chosen.append(places_of + rows.start * proposed)
            ranks.append(rank)
        return Selected(torch.cat(chosen, 1), torch.cat(ranks, 1), ending)

    def kept(self, n_best: int) -> int | None:
        return None

    def answers(self, ended: Sequence[Placed], live: Sequence[Placed], n_best: int) -> list[Hypothesis]:
        queues: list[list[Hypothesis]] = [[] for _ in range(self.groups)]
        for place, hypothesis in (*ended, *live):
            queues[place // self.size].append(hypothesis)
        found: dict[tuple[tuple[int, ...], bool], Hypothesis] = {}
        while len(found) < n_best and any(queues):
            for queue in queues:
                while queue and (queue[0].tokens, queue[0].finished) in found:
                    queue.pop(0)
                if queue and len(found) < n_best:
                    found[queue[0].tokens, queue[0].finished] = queue[0]
        return sorted(found.values(), key=lambda one: (not one.finished, -one.score))

    def nothing_better(self, beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
        """In no group can a live hypothesis still be among its best `n_best`: no group is asked for more."""
        return self.none_beyond(beams, scorer, n_best, beams.limits)

    def nothing_leads(self, beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
        """In no group would one be among them by ending with its next symbol."""
        return self.none_beyond(beams, scorer, n_best, beams.length)

    def none_beyond(self, beams: Beams, scorer: Scorer, n_best: int, lengths: Lengths) -> Bool[Tensor, " B"]:
        stopped = torch.ones_like(beams.limits, dtype=torch.bool)
        for group in range(self.groups):
            rows = slice(group * self.size, (group + 1) * self.size)
            bound = scorer.normalised(beams.ranks[:, rows].amax(1), lengths)
            own = beams.ended.scores.masked_fill(beams.ended.rows // self.size != group, -torch.inf)
            worst = (
                own.topk(n_best, dim=1).values[:, -1] if own.shape[1] >= n_best else torch.full_like(bound, -torch.inf)
            )
            stopped &= bound <= worst
        return stopped


def ending_of(candidates: Candidates, ends: Bool[Tensor, "B K P"] | None) -> Float[Tensor, "B K P"] | None:
    """The ranks of what ends."""
    return None if ends is None else candidates.ranks.masked_fill(~ends, -torch.inf)


def uses(symbols: Int[Tensor, "B K P"], taken: list[Int[Tensor, "B size"]]) -> Float[Tensor, "B K P"]:
    """How often each symbol was taken by earlier groups at this step."""
    if not taken:
        return torch.zeros_like(symbols, dtype=torch.float32)
    earlier = torch.cat(taken, 1)
    return (symbols[:, :, :, None] == earlier[:, None, None]).sum(3).float()
