"""What a comparison knows of one kind of data: how the test is read, asked, measured and drawn."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.data.readers.lines import Problems
from dragoman.experiment import Experiment
from dragoman.inspection.report.page import Content, Html, fixed, whole
from dragoman.metrics import Counts, Measured
from dragoman.pipeline import Pipeline
from dragoman.pipeline.teaching import Scored
from dragoman.preparation.corpora import AnyData
from dragoman.served import Evaluation

Source = Any  # a text, a picture, frames, or a past
Truth = Any  # a text, a label, labels of frames, a number, or points: what JSON can hold, in tuples
Item = tuple[Source, tuple[Truth, ...]]
Items = Sequence[Item]  # sources with their references
Keyed = tuple[str, Source, Truth]  # equal keys are one source with several references


@dataclass(frozen=True)
class Measure:
    """What answers are measured by."""

    name: str  # in JSON
    title: str  # in tables
    meaning: str
    higher: bool  # is better
    count: Callable[[Sequence[Sequence[Truth]], Sequence[tuple[Truth, ...]]], list[Counts]]  # answers of each contender
    top: float | None = 100.0  # what a lower value is taken off from, to tell how good it is; None: it has no end
    shown: Callable[[float], str] = fixed

    def goodness(self, counts: Counts) -> list[float]:
        """Of every item by itself: higher is better, and an endless answer is not worse than a wrong one."""
        values = [float(value) for value in counts.score(counts.items)]
        if self.higher:
            return values
        return [-value for value in values] if self.top is None else [max(0.0, self.top - value) for value in values]

    def level(self, goodness: float) -> float:
        """Back from how good it is to the measure itself."""
        return goodness if self.higher else (self.top or 0.0) - goodness


@dataclass(frozen=True)
class Bucket:
    """Test sources of about the same length (or points equally far ahead), and the metric of each contender on them."""

    shortest: int
    longest: int
    count: int
    measured: tuple[Measured, ...]


Buckets = dict[str, tuple[Bucket, ...]]


@dataclass(frozen=True)
class Words:
    """What things are called on the page."""

    item: str  # what is answered, one by one
    unit: str  # what significance is over
    tokens: str  # what training reads or writes in a second
    whys: tuple[str, str, str]  # the short, the usual and the long one
    by: str  # what quality is split by
    axis: str  # below that drawing; {first} is the name of the first contender
    by_title: str
    look_title: str
    look: str  # how the examples are to be read
    curve: str  # what is drawn over minutes, and what it means

    @property
    def speed(self) -> str:
        """The heading of how fast a model learns."""
        return f"training {self.tokens.removeprefix('target ')}/s"


@dataclass(frozen=True)
class Kind:
    """One kind of data."""

    name: str  # data.kind
    config: type[AnyData]
    learns_from: str
    unit: str  # what is held out as a whole, in the plural
    words: Words
    keys: Callable[[Experiment], Iterator[str]]  # of the training files, by which a part is held out
    read: Callable[
        [Experiment, Sequence[str], Problems], Iterable[Keyed]
    ]  # files, or what is held out if there are none
    replies: Callable[[Pipeline, Sequence[Source], int], Iterator[tuple[Truth, bool]]]  # answer, and whether it ended
    lengths: Callable[[Pipeline, Items], Sequence[int]]
    measures: Callable[[Evaluation, Items], Sequence[Measure]]
    graded: Callable[[Evaluation, Items], Measure]  # tells single items apart
    identify: Callable[[Source], object]  # all that an answer depends on, for a checksum
    name_of: Callable[[Source], str]
    look: Callable[[Pipeline, Items], list[Any]]  # a few sources, asked again, with all that is drawn of them
    given: Callable[[Item], list[Html]]  # what stands above the drawings
    said: Callable[[Any, Item], Content]  # of a look
    drawn: Callable[[Any, Item, Experiment], Html]
    cells: Callable[[Item, Truth], Content]  # an answer in a table
    truths: Callable[[Item], Content]
    source: Callable[[Item], Content]
    same: tuple[str, ...] = ()  # settings that decide what is measured on, beside files
    shared: tuple[str, ...] = ()  # settings that the data decides for all, where a recipe leaves some open
    opens: bool = False  # what a recipe of a task leaves open (auto = true) is chosen from the data
    as_is: bool = True  # every recipe keeps its own tokenizers, lengths, batches and optimiser
    scores: Callable[[Pipeline, Items], Iterator[Scored]] | None = None  # log-probabilities, if there are any
    likely_first: bool = False  # perplexity says which is best, and not answers, which are drawn
    curve: str = "loss"  # of the validation
    longest: int = 1_000_000  # of what is looked at
    buckets: Callable[[Sequence[Measure], Items, Sequence[Sequence[Truth]]], Buckets] | None = None  # else by length
    beside: Callable[[Items, Pipeline, Beside], Found] = lambda items, pipeline, beside: Found(())  # baselines
    ranks: Callable[[Sequence[Sequence[float]], Sequence[int]], Sequence[float]] = lambda good, lengths: lengths
    together: Callable[[Items], Sequence[str]] | None = None  # items that are drawn and exchanged as one
    style: str = ""  # of its drawings
    legend: Callable[[Sequence[Any]], list[Html]] = lambda looks: []


def in_tuples(value: Any) -> Any:
    """As it was before it became JSON."""
    return tuple(map(in_tuples, value)) if isinstance(value, list | tuple) else value


def several(noun: str) -> str:
    """histories, pasts, pictures"""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def counted_items(count: int, noun: str) -> str:
    return f"{whole(count)} {noun if count == 1 else several(noun)}"
