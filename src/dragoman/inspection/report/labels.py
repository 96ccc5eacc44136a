"""A sample of texts that a model has read, beside what is true of them: labels, numbers or tags."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.data.labelling import judged
from dragoman.data.readers.example import Example, Examples
from dragoman.data.readers.labelled import Labelled, read_labelled_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.tagged import Tagged, read_tagged_split
from dragoman.evaluation.beside import labels_beside
from dragoman.evaluation.labels import read_examples
from dragoman.inspection.report.answers import BUCKET_RESAMPLES, Bucket, length_groups
from dragoman.inspection.report.drawn import Drawn, draw
from dragoman.inspection.report.heads import Headed, measure_reading_heads
from dragoman.inspection.report.vector_map import MAPPED, VectorMap, map_labels, map_numbers
from dragoman.metrics import Measured
from dragoman.metrics.classes import ClassReport, OfClass, accuracy, class_report, of_class
from dragoman.metrics.labels import What, measure_labels, metrics_of
from dragoman.metrics.measured import SEED, measure_counts
from dragoman.metrics.spans import spans_in
from dragoman.pipeline import Pipeline
from dragoman.watching import Watch

WINDOW = 256  # texts between two tellings


@dataclass(frozen=True)
class Item:
    """A text, what is true of it, and what was said."""

    texts: tuple[str, ...]  # a text, or two; or words
    true: tuple[str, ...]
    said: tuple[str, ...]
    probabilities: tuple[float, ...] = ()  # of what was said
    of_true: float | None = None  # probability of the true label, where the model knows it
    values: tuple[float, float] = (math.nan, math.nan)  # the true number, and what was said
    frames: int = 0  # of a sequence

    @property
    def wrong(self) -> int:
        return sum(one != other for one, other in zip(self.true, self.said, strict=True))

    @property
    def off(self) -> float:
        """How far a number is from the true one."""
        return self.values[1] - self.values[0]

    @property
    def words(self) -> int:
        if self.frames:
            return self.frames
        return len(self.texts) if len(self.true) > 1 else sum(len(text.split()) for text in self.texts)


@dataclass(frozen=True)
class Strip:
    """A sequence frame by frame: what is true, what was said, and what was read."""

    name: str
    true: tuple[str, ...]  # of each frame
    said: tuple[str, ...]  # of each frame; or of the frames so far
    label: tuple[str, ...]  # of the whole
    answer: tuple[str, ...]
    probabilities: tuple[float, ...]
    signals: tuple[tuple[str, tuple[float, ...]], ...] = ()  # features with their values
    pictures: tuple[bytes, ...] = ()  # some of them, as PNG
    so_far: bool = False


@dataclass(frozen=True)
class TestedLabels:
    """A model that only reads, measured on a sample."""

    drawn: Drawn
    what: What
    two: bool
    metrics: tuple[Measured, ...]
    items: tuple[Item, ...]
    classes: ClassReport | None
    spans: tuple[OfClass, ...]  # each kind of them, where tags mark spans
    buckets: tuple[Bucket, ...]  # accuracy by length
    unseen: int  # labels that training never saw
    headed: Headed | None
    vectors: VectorMap | None
    strips: tuple[Strip, ...] = ()  # of frames
    noun: str = ""  # what was measured one by one, where it is no text
    standing: Standing | None = None

    @property
    def labels(self) -> int:
        return sum(len(item.true) for item in self.items)

    @property
    def right(self) -> int:
        return self.labels - sum(item.wrong for item in self.items)


def examine_labels(
    pipeline: Pipeline,
    data: Labelled | Tagged,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedLabels:
    """Read, compare and measure as `evaluate` does."""
    labelling = pipeline.known_labels
    unseen = Problems()
    drawn, examples = draw(partial(read_judged, pipeline, data), data.files("valid"), record, on, lines, unseen)
    items = tuple(answered(pipeline, examples, told))
    what = labelling.what
    found: list[Any] = [item.values[1] if what == "numbers" else list(item.said) for item in items]
    true: list[Any] = [item.values[0] if what == "numbers" else list(item.true) for item in items]
    names = metrics_of(what, labelling.has_spans)
    tagged = what == "tags" and labelling.has_spans
    return TestedLabels(
        drawn=drawn,
        what=what,
        two=pipeline.reader.two,
        metrics=tuple(measure_labels(names, found, true, pipeline.settings.evaluation.resamples)),
        items=items,
        classes=None if what == "numbers" else class_report(found, true),
        spans=tuple(span_report(found, true)) if tagged else (),
        buckets=() if what == "numbers" else by_length(items),
        unseen=unseen.count,
        headed=measure_reading_heads(pipeline, [joined(item, what) for item in items], told),
        vectors=mapped(pipeline, items, told),
        standing=None
        if beside is None
        else labels_beside(beside, pipeline, [item.texts for item in items], found, true, names),
    )


def read_judged(
    pipeline: Pipeline, data: Labelled | Tagged, files: Sequence[str], problems: Problems, unseen: Problems
) -> Examples:
    """Of the files given, else of the validation data; without those whose label training never saw."""
    reading = dict(pipeline.known_labels.reading)
    examples = read_examples(pipeline, files, reading, problems) if files else split_of(pipeline, data, problems)
    return (one for one in examples if judged(one, pipeline.known_labels, problems, unseen))


def split_of(pipeline: Pipeline, data: Labelled | Tagged, problems: Problems) -> Examples:
    if isinstance(data, Tagged):
        return read_tagged_split(data, "valid", problems)
    return read_labelled_split(data, "valid", pipeline.reader.two, problems)


def answered(pipeline: Pipeline, examples: Sequence[Example], told: Watch) -> list[Item]:
    items: list[Item] = []
    for start in range(0, len(examples), WINDOW):
        items += answered_window(pipeline, examples[start : start + WINDOW], start)
        told("Reading", len(items), len(examples))
    return items


def answered_window(pipeline: Pipeline, examples: Sequence[Example], start: int) -> list[Item]:
    reader, texts = pipeline.reader, [one.texts for one in examples]
    if reader.labelling.what == "tags":
        tagged = reader.tags(texts, start)
        return [
            Item(one.texts, one.labels, said.tokens, tuple(map(math.exp, said.token_log_probabilities)))
            for one, said in zip(examples, tagged, strict=True)
        ]
    answers = reader.labelled(texts, "cut", start)
    if reader.labelling.what == "numbers":
        return [
            Item(one.texts, one.labels, (said.text,), values=(float(one.labels[0]), said.score))
            for one, said in zip(examples, answers, strict=True)
        ]
    items = []
    for one, said in zip(examples, answers, strict=True):
        of = {other.text: math.exp(other.log_probability) for other in said.predictions}
        items.append(Item(one.texts, one.labels, (said.text,), (of[said.text],), of.get(one.labels[0])))
    return items


def span_report(found: Sequence[Sequence[str]], true: Sequence[Sequence[str]]) -> list[OfClass]:
    """Each kind of span by itself: begin, end and kind must be right."""
    right: dict[str, list[int]] = {}
    for one, other in zip(found, true, strict=True):
        said, wanted = spans_in(one), spans_in(other)
        for place, spans in enumerate((said & wanted, said, wanted)):
            for kind, *_ in spans:
                right.setdefault(kind, [0, 0, 0])[place] += 1
    return [of_class(kind, *counts) for kind, counts in sorted(right.items())]


def by_length(items: Sequence[Item]) -> tuple[Bucket, ...]:
    buckets = []
    for group in length_groups([item.words for item in items]):
        some = [items[place] for place in group]
        counts = accuracy([item.said for item in some], [item.true for item in some])
        measured = measure_counts("accuracy", counts, BUCKET_RESAMPLES, SEED)
        buckets.append(Bucket(some[0].words, some[-1].words, len(some), measured))
    return tuple(buckets)


def joined(item: Item, what: What) -> str:
    """As the model is given it in one line."""
    return (" " if what == "tags" else "\t").join(item.texts)


def mapped(pipeline: Pipeline, items: Sequence[Item], told: Watch) -> VectorMap | None:
    """The first few; a sentence with a tag a word has no label of its own."""
    some = [item for item in items if any(text.strip() for text in item.texts)][:MAPPED]
    if len(some) < 3:
        return None
    what = pipeline.known_labels.what
    texts = [joined(item, what) for item in some]
    embedder = pipeline.embedder()
    told("Mapping vectors", 0, len(some))
    vectors = pipeline.embed(texts)
    told("Mapping vectors", len(some), len(some))
    if what == "numbers":
        return map_numbers(vectors, texts, [item.values[0] for item in some], embedder.pool)
    labels = [item.true[0] if what == "labels" else "" for item in some]
    wrong = [bool(item.wrong) for item in some]
    return map_labels(vectors, texts, labels, wrong, embedder.pool)
