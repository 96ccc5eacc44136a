"""Sentences worth reading: what a wider beam made worse, and what the search missed."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from dragoman.contracts import Prediction
from dragoman.inspection.search_report.errors import ROUNDING, Sentence
from dragoman.inspection.search_report.widths import Swept

SHOWN = 10


@dataclass(frozen=True)
class Fall:
    """A source for which a wider beam finds an answer that scores higher and is worse."""

    place: int
    narrow: int  # width
    wide: int
    before: Prediction
    after: Prediction
    goodness: tuple[float, float]  # of both, by the metric that tells sentences apart


def falls_of(swept: Sequence[Swept], goodness: Sequence[Sequence[float]]) -> tuple[Fall, ...]:
    """One a source, the pair of widths that differ most; the worst first. Sources of which the model read pieces are
    left out, since their scores are means."""
    found = []
    for place, answer in enumerate(swept[0].answers):
        if answer.longer:
            continue
        falls = [
            Fall(place, one.search.width, other.search.width, before, after, (good, bad))
            for (one, good), (other, bad) in combinations(
                [(beam, values[place]) for beam, values in zip(swept, goodness, strict=True)], 2
            )
            for before, after in [(one.answers[place].best, other.answers[place].best)]
            if before.finished and after.finished and after.score > before.score + ROUNDING and bad < good
        ]
        if falls:
            found.append(max(falls, key=lambda fall: (fall.goodness[0] - fall.goodness[1], -fall.wide)))
    return tuple(sorted(found, key=lambda fall: (fall.goodness[1] - fall.goodness[0], fall.place)))


def worst_errors(sentences: Sequence[Sentence]) -> tuple[Sentence, ...]:
    """Search errors, the largest difference of scores first."""
    errors = [one for one in sentences if one.search_error]
    return tuple(sorted(errors, key=lambda one: (-one.gap, one.place)))[:SHOWN]
