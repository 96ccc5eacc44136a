"""Whose fault a wrong answer is: the search's, which missed what the model ranks higher, or the model's."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from dragoman.contracts import Answer, Prediction
from dragoman.inspection.search_report.widths import Items, Swept
from dragoman.metrics import wilson
from dragoman.pipeline import Pipeline, Scored
from dragoman.pipeline.answering import NOTHING

ROUNDING = 1e-4  # of a score: less is no difference
Finder = Literal["exact", "beam", "reference"]


@dataclass(frozen=True)
class Found:
    """A sequence that scores higher than the answer, and what found it."""

    finder: Finder
    width: int | None  # of the beam
    text: str
    score: float


@dataclass(frozen=True)
class Sentence:
    """One source: what was answered, what scores higher, and how the reference ranks."""

    place: int  # among the sources of the report
    answer: Prediction
    better: tuple[Found, ...]  # one of each finder at most, best first
    proved: bool  # that nothing scores higher than the best known
    rank: float  # of the answer, by log-probability and length
    reference: str  # that ranks highest
    reference_rank: float
    right: bool  # equal to a reference

    @property
    def search_error(self) -> bool:
        return bool(self.better)

    @property
    def model_error(self) -> bool:
        """The model itself ranks a wrong answer above every reference."""
        return not self.right and self.reference_rank < self.rank - ROUNDING

    @property
    def gap(self) -> float:
        """How much higher the best known scores; an answer that never ended is beaten by any that did."""
        return self.better[0].score - self.answer.score + (0.0 if self.answer.finished else 1e9)


@dataclass(frozen=True)
class Share:
    """A number of sentences of all, with Wilson's 95 % interval in per cent."""

    count: int
    of: int

    @property
    def percent(self) -> float:
        return 100 * self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.percent, self.of)


@dataclass(frozen=True)
class Errors:
    """The sentences that were looked at one by one."""

    sentences: tuple[Sentence, ...]
    left_out: int  # longer than the model reads at once, or nothing to read
    budget: int | None  # of the exact search; None: there was none
    empty: Share | None  # most probable sequences that are empty, of those that are proved; None: not asked

    def share(self, search_error: bool | None = None, model_error: bool | None = None) -> Share:
        """Those of a kind; None is either."""
        found = [
            one
            for one in self.sentences
            if search_error in (None, one.search_error) and model_error in (None, one.model_error)
        ]
        return Share(len(found), len(self.sentences))

    @property
    def faultless(self) -> int:
        """Answers that are proved to be the best of all sequences."""
        return sum(one.proved and not one.search_error for one in self.sentences)

    @property
    def open(self) -> int:
        """Nothing better was found, and nothing proves that there is none."""
        return sum(not one.proved and not one.search_error for one in self.sentences)

    @property
    def optimal(self) -> int:
        """Search errors of which the best sequence of all is known."""
        return sum(one.proved and one.search_error for one in self.sentences)

    @property
    def found_by(self) -> dict[Finder, tuple[int, int]]:
        """Search errors that each found, and that it alone found."""
        every = Counter(found.finder for one in self.sentences for found in one.better)
        alone = Counter(one.better[0].finder for one in self.sentences if len(one.better) == 1)
        names: tuple[Finder, ...] = ("exact", "beam", "reference")
        return {name: (every[name], alone[name]) for name in names}


def judge(
    pipeline: Pipeline,
    items: Items,
    places: Sequence[int],
    own: Swept,
    beams: Sequence[Swept],
    scored: Sequence[Scored],
    exact: dict[int, Prediction],
    comparable: bool,
) -> tuple[tuple[Sentence, ...], int]:
    """Sentences at `places`, and how many of them were left out; `scored` has every reference of every item.

    `comparable` says that a reference's rank and an answer's score are the same quantity.
    """
    starts = [0]
    for _, targets in items:
        starts.append(starts[-1] + len(targets))
    sentences = []
    for place in places:
        answer = own.answers[place]
        if not whole(answer):
            continue
        known = scored[starts[place] : starts[place + 1]]
        ranks = [pipeline.rank(one.log_probability, len(one.tokens)) for one in known]
        top = max(range(len(ranks)), key=ranks.__getitem__)
        rivals = [*of_beams(beams, own, place), *of_exact(exact.get(place))]
        if comparable:
            least, most = pipeline.settings.answer_lengths(len(answer.best.source_tokens) - 1)
            rivals += [
                Found("reference", None, text, rank)
                for text, rank, one in zip(items[place][1], ranks, known, strict=True)
                if least <= len(one.tokens) <= most
            ]
        better = best_of_each([one for one in rivals if beats(one, answer.best)])
        bound = exact[place].bound if place in exact else None
        highest = better[0].score if better else answer.best.score
        length = len(answer.best.tokens) + answer.best.finished
        sentences.append(
            Sentence(
                place=place,
                answer=answer.best,
                better=better,
                proved=bound is not None and (answer.best.finished or bool(better)) and highest >= bound - ROUNDING,
                rank=pipeline.rank(answer.best.log_probability, max(length, 1)),
                reference=items[place][1][top],
                reference_rank=ranks[top],
                right=answer.text in items[place][1],
            )
        )
    return tuple(sentences), len(places) - len(sentences)


def whole(answer: Answer) -> bool:
    """The model read all of the source at once; else scores of answer and reference are of different things."""
    return not answer.longer and answer.best is not NOTHING


def of_beams(beams: Sequence[Swept], own: Swept, place: int) -> Iterator[Found]:
    """What ended; the narrowest of equal ones comes first."""
    for one in beams:
        best = one.answers[place].best
        if one is not own and best.finished:
            yield Found("beam", one.search.width, best.text, best.score)


def of_exact(best: Prediction | None) -> Iterator[Found]:
    if best is not None:
        yield Found("exact", None, best.text, best.score)


def beats(one: Found, answer: Prediction) -> bool:
    """Ended sequences rank before those that were cut off at the limit of length."""
    return not answer.finished or one.score > answer.score + ROUNDING


def best_of_each(found: Sequence[Found]) -> tuple[Found, ...]:
    best: dict[Finder, Found] = {}
    for one in found:
        if one.finder not in best or one.score > best[one.finder].score + ROUNDING:
            best[one.finder] = one
    return tuple(sorted(best.values(), key=lambda one: -one.score))


def empty_share(exact: dict[int, Prediction]) -> Share | None:
    """Of the sentences whose most probable sequence is proved, those where it has no symbol but END (Stahlberg and
    Byrne 2019)."""
    proved = [one for one in exact.values() if one.bound is not None and one.bound <= one.score]
    return Share(sum(not one.tokens for one in proved), len(proved)) if proved else None
