"""When a sentence needs no further step. The length limit always stops; these come on top."""

import torch
from jaxtyping import Bool
from torch import Tensor

from dragoman.search.beams import Beams
from dragoman.search.scorers import Scorer


def nothing_better(beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
    """No live hypothesis can still be among the best.

    A later hypothesis that only equals an ended one is ranked behind it: stopping there changes no answer.
    """
    if beams.ended.scores.shape[1] < n_best:
        return none_live(beams, scorer, n_best)
    return scorer.bound(beams) <= beams.ended.worst_of(n_best)


def nothing_leads(beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
    """No live hypothesis would be among the best if its next symbol were END and certain.

    One that grows longer may still come to lead, since a mean can rise: this is a guess. Hugging Face's `generate`
    makes one like it by default, but waits until none would be among the best k for a beam of k.
    """
    if beams.ended.scores.shape[1] < n_best:
        return none_live(beams, scorer, n_best)
    return scorer.bound(beams, beams.length) <= beams.ended.worst_of(n_best)


def none_live(beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
    """All have ended, or nothing was allowed."""
    return beams.ranks.amax(1) == -torch.inf


class EnoughEnded:
    """So many hypotheses have ended, whatever the others might become."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __call__(self, beams: Beams, scorer: Scorer, n_best: int) -> Bool[Tensor, " B"]:
        return beams.ended.count >= self.number
