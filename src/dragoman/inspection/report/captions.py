"""A sample of pictures that a model has described, beside the captions that people gave."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.config import Document, validate
from dragoman.contracts import Answer
from dragoman.data.permutation import permutation
from dragoman.data.readers.captions import Captioned, Captions, read_captions, read_captions_split
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.drawing.overlay import Overlay
from dragoman.errors import DataError
from dragoman.evaluation.beside import captions_beside
from dragoman.evaluation.captions import Items, readable
from dragoman.inspection.report.drawn import Drawn
from dragoman.inspection.report.heads import Headed
from dragoman.metrics import Measured, measure
from dragoman.metrics.bags import f1, tokens_of
from dragoman.pipeline import Pipeline
from dragoman.pipeline.pictures import overlay_of, pictures_of
from dragoman.watching import Watch

OVERLAID = 8  # pictures whose looks are drawn
SHOWN = 24  # pictures that are shown with their captions
WINDOW = 16  # pictures whose weights are in memory


@dataclass(frozen=True)
class Described:
    """A picture, what people said of it, and what the model said."""

    name: str
    tag: str
    references: tuple[str, ...]
    answer: str
    f1: float  # of words, with the nearest reference
    overlay: Overlay | None  # of the first ones, and of none without attention

    @property
    def right(self) -> bool:
        return self.answer in self.references


@dataclass(frozen=True)
class TestedCaptions:
    """A model that describes pictures, measured on a sample."""

    drawn: Drawn
    metrics: tuple[Measured, ...]
    by_tag: dict[str, tuple[Measured, ...]]
    items: tuple[Described, ...]
    headed: Headed | None = None  # its layers have none that could be told of
    standing: Standing | None = None

    @property
    def right(self) -> int:
        return sum(item.right for item in self.items)


def examine_captions(
    pipeline: Pipeline,
    data: Captions,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedCaptions:
    """Describe and measure as `evaluate` does."""
    drawn, items = sample(pipeline, data, record, on, lines)
    described = tuple(describe(pipeline, items, told))
    evaluation = pipeline.settings.evaluation

    def measured(some: list[Described]) -> tuple[Measured, ...]:
        said, true = [one.answer for one in some], [one.references for one in some]
        names = evaluation.metrics
        return tuple(measure(names, said, true, resamples=evaluation.resamples, tokenise=evaluation.tokenise))

    tags = dict.fromkeys(item.tag for item in described if item.tag)
    by_tag = {tag: measured([item for item in described if item.tag == tag]) for tag in tags}
    texts = [one.answer for one in described]
    standing = None if beside is None else captions_beside(beside, pipeline, evaluation, items, texts)
    return TestedCaptions(drawn, measured(list(described)), by_tag, described, standing=standing)


def describe(pipeline: Pipeline, items: Items, told: Watch) -> Iterator[Described]:
    pictures = [picture for picture, _ in items]
    stream = pipeline.stream(pictures, alignments=pipeline.attends, window=WINDOW)
    for done, ((picture, references), answer) in enumerate(zip(items, stream, strict=True), start=1):
        alike = max(f1(tokens_of(answer.text), tokens_of(one)) for one in references)
        overlay = overlay_of(pipeline, picture, answer) if done <= SHOWN and drawable(answer) else None
        yield Described(picture.name, picture.tag, references, answer.text, alike, overlay)
        told("Describing", done, len(items))


def drawable(answer: Answer) -> bool:
    """Whether words looked at the cells of a grid."""
    rows, columns = answer.best.grid or (0, 0)
    return bool(answer.alignment) and len(answer.best.source_tokens) == rows * columns


def sample(
    pipeline: Pipeline, data: Captions, record: dict[str, Any], on: tuple[str, ...], lines: int
) -> tuple[Drawn, Items]:
    """Drawn by a key, in an order that the key decides too."""
    plain = files_of(on)
    reading = {} if pipeline.captions is None else dict(pipeline.captions.reading)
    problems = Problems()

    def read() -> Iterator[Captioned]:
        if on:
            return read_captions(validate(Captions, reading, Document(reading, "data")), plain, problems)
        return read_captions_split(data, "valid", problems)

    items = pictures_of(list(readable(read(), problems)))
    files = on or data.files("valid")
    if not items:
        raise DataError(f"There is no picture in {' and '.join(files)}, so there is nothing to measure on.")
    chosen = [items[place] for place in permutation(len(items), "report")[:lines].tolist()]
    known = {} if on else record.get("valid") or {}
    changed = "sha256" in known and fingerprint(files) != known["sha256"]
    split = "given" if on else "valid"
    return Drawn(tuple(files), len(chosen), len(items), problems.count, split, changed), chosen  # type: ignore[arg-type]
