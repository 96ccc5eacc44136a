"""What a search did, expansion by expansion: kept, dropped or ended, at what score."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dragoman.contracts import Hypothesis
from dragoman.search.beams import Beams
from dragoman.search.loop import Candidates, Selected
from dragoman.search.scorers import Scorer

Fate = Literal["kept", "dropped", "ended"]
ROOT = 0  # the node of the beginning: START, or a prefix


@dataclass(frozen=True)
class Expansion:
    """A hypothesis and one more symbol. Nodes are numbered within a sentence, in the order of expansion."""

    node: int
    parent: int
    symbol: int
    log_probability: float  # of the symbol
    total: float  # of the hypothesis
    score: float  # by which it would be ranked if it were an answer
    fate: Fate


@dataclass(frozen=True)
class Expanded:
    """One step of one sentence: continuations of every live hypothesis, best first in each."""

    sentence: int
    step: int  # symbols of the hypotheses, END counted
    expansions: tuple[Expansion, ...]


@dataclass(frozen=True)
class Stopped:
    """Why the search of a sentence ended, which nodes were alive, and what is answered."""

    sentence: int
    reason: Literal["length", "none live", "decided"]  # decided: no live one can win, or enough have ended
    live: tuple[int, ...]
    answers: tuple[Hypothesis, ...]


Told = Expanded | Stopped


class Recorder:
    """Turns what the loop shows into a record of each sentence, and hands it on as it comes."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self.tell = tell
        self.nodes: dict[int, list[int]] = {}  # of the live places of each sentence
        self.count: dict[int, int] = {}

    def expanded(self, before: Beams, candidates: Candidates, selected: Selected, after: Beams, scorer: Scorer) -> None:
        batch, places, proposed = candidates.symbols.shape
        ranks = candidates.ranks.flatten(1)
        fates = fates_of(candidates, selected)
        scores = torch.stack(
            [scorer.score(before, candidates.ranks[:, :, n], before.length) for n in range(proposed)], 2
        )
        own = candidates.totals - before.totals[:, :, None]
        columns = [part.flatten(1).tolist() for part in (candidates.symbols, own, candidates.totals, scores)]
        for row in range(batch):
            sentence = int(before.sentences[row])
            parents = self.nodes.get(sentence, [ROOT] * places)  # samples begin side by side
            named: dict[int, int] = {}
            made = []
            for place in range(places * proposed):
                if ranks[row, place] == -torch.inf:
                    continue
                named[place] = self.count[sentence] = self.count.get(sentence, ROOT) + 1
                symbol, log, total, score = (column[row][place] for column in columns)
                made.append(
                    Expansion(named[place], parents[place // proposed], symbol, log, total, score, fates[row][place])
                )
            self.nodes[sentence] = [named.get(place, -1) for place in selected.places[row].tolist()]
            self.tell(Expanded(sentence, before.length, tuple(made)))

    def stopped(self, beams: Beams, position: int, answers: Sequence[Hypothesis]) -> None:
        sentence = int(beams.sentences[position])
        ranks = beams.ranks[position].tolist()
        live = [node for node, rank in zip(self.nodes[sentence], ranks, strict=True) if rank > -torch.inf]
        long = int(beams.limits[position]) < beams.length
        reason: Literal["length", "none live", "decided"] = "none live" if not live else "length" if long else "decided"
        self.tell(Stopped(sentence, reason, tuple(live), tuple(answers)))


def fates_of(candidates: Candidates, selected: Selected) -> list[list[Fate]]:
    """Of every continuation, in flat places."""
    lives = (selected.ranks > -torch.inf).int()  # an empty place may name one that is taken
    kept = torch.zeros_like(candidates.symbols.flatten(1), dtype=torch.int32).scatter_add(1, selected.places, lives) > 0
    nothing = torch.zeros_like(kept)
    ended: Tensor = nothing if selected.ending is None else selected.ending.flatten(1) > -torch.inf
    return [
        ["ended" if over else "kept" if good else "dropped" for good, over in zip(*rows, strict=True)]
        for rows in zip(kept.tolist(), ended.tolist(), strict=True)
    ]
