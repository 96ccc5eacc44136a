"""A sample of sequences that a model has read frame by frame, beside what is true of them."""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dragoman.baselines.training_data import Beside
from dragoman.data.frames import PictureFrames
from dragoman.data.labelling import judged
from dragoman.data.readers.clips import Clips, read_clips_split
from dragoman.data.readers.frames import Frames, read_frames_split
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.evaluation.beside import features_of, frames_beside
from dragoman.evaluation.frames import told_frames
from dragoman.evaluation.labels import fitting_metrics
from dragoman.inspection.report.drawn import draw
from dragoman.inspection.report.labels import Item, Strip, TestedLabels, by_length
from dragoman.inspection.report.vector_map import MAPPED, VectorMap, map_labels, map_numbers
from dragoman.metrics.classes import class_report
from dragoman.metrics.labels import measure_labels
from dragoman.pipeline import Pipeline
from dragoman.pipeline.frames import FrameReader
from dragoman.pipeline.vectors import own_pool
from dragoman.watching import Watch

STRIPS = 8
LOOKS = 24  # beginnings of a sequence of which it is asked what is said of them
SIGNALS = 6  # features that are drawn
THUMBNAIL, THUMBNAILS = 40, 12  # pixels along a side, and pictures of a clip


def examine_frames(
    pipeline: Pipeline,
    data: Frames | Clips,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedLabels:
    """Read, compare and measure as `evaluate` does."""
    labelling, unseen = pipeline.known_labels, Problems()
    drawn, series = draw(partial(read_judged, pipeline, data), data.files("valid"), record, on, lines, unseen)
    items = answered(pipeline, series, told)
    what = labelling.what
    found: list[Any] = [item.values[1] if what == "numbers" else list(item.said) for item in items]
    true: list[Any] = [item.values[0] if what == "numbers" else list(item.true) for item in items]
    names, features = fitting_metrics(labelling), [] if beside is None else [features_of(one, what) for one in series]
    return TestedLabels(
        drawn=drawn,
        what=what,
        two=False,
        metrics=tuple(measure_labels(names, found, true, pipeline.settings.evaluation.resamples)),
        items=tuple(items),
        classes=None if what == "numbers" else class_report(found, true),
        spans=(),
        buckets=() if what == "numbers" else by_length(items),
        unseen=unseen.count,
        headed=None,
        vectors=mapped(pipeline, series, items, told),
        strips=() if what == "numbers" else strips_of(pipeline, series, items),
        noun="clips" if isinstance(data, Clips) else "sequences",
        standing=None if beside is None else frames_beside(beside, pipeline, features, found, true, names),
    )


def read_judged(
    pipeline: Pipeline, data: Frames | Clips, files: Sequence[str], problems: Problems, unseen: Problems
) -> SeriesStream:
    """Of the files given, else of the validation data."""
    if files:
        return told_frames(pipeline, files, dict(pipeline.known_labels.reading), problems, unseen)
    return own_split(pipeline, data, problems, unseen)


def own_split(pipeline: Pipeline, data: Frames | Clips, problems: Problems, unseen: Problems) -> SeriesStream:
    labelling, reader = pipeline.known_labels, pipeline.frame_reader
    if isinstance(data, Clips):
        series = reader.seen(read_clips_split(data, "valid", labelling.what, problems), problems)
    else:
        named = data.changed(features=tuple(labelling.reading.get("features", ())))
        series = read_frames_split(named, "valid", labelling.what, problems)
    return (one for one in series if judged(one, labelling, problems, unseen))


def answered(pipeline: Pipeline, series: Sequence[Series], told: Watch) -> list[Item]:
    items: list[Item] = []
    reader, what = pipeline.frame_reader, pipeline.known_labels.what
    for one, answer in zip(series, reader.answers(series, "split"), strict=True):
        if what == "numbers":
            items.append(Item((one.name,), one.labels, (answer.text,), values=(float(one.labels[0]), answer.score)))
        elif what == "tags":
            sure = tuple(map(math.exp, answer.best.token_log_probabilities))
            items.append(Item((one.name,), one.labels, answer.tokens, sure, frames=len(one)))
        else:
            of = {other.text: math.exp(other.log_probability) for other in answer.predictions}
            items.append(
                Item(
                    (one.name,),
                    one.labels,
                    (answer.text,),
                    (of[answer.text],),
                    of.get(one.labels[0]),
                    frames=one.length,
                )
            )
        told("Reading", len(items), len(series))
    return items


def mapped(pipeline: Pipeline, series: Sequence[Series], items: Sequence[Item], told: Watch) -> VectorMap | None:
    """The first few as points."""
    some, what = items[:MAPPED], pipeline.known_labels.what
    if len(some) < 3:
        return None
    told("Mapping vectors", 0, len(some))
    pool, reader = own_pool(pipeline), pipeline.frame_reader
    vectors = reader.vectors([reader.laid(one) for one in series[:MAPPED]], pool)
    names = [item.texts[0] for item in some]
    if what == "numbers":
        return map_numbers(vectors, names, [item.values[0] for item in some], pool)
    labels = [item.true[0] if what == "labels" else "" for item in some]
    return map_labels(vectors, names, labels, [bool(item.wrong) for item in some], pool)


def strips_of(pipeline: Pipeline, series: Sequence[Series], items: Sequence[Item]) -> tuple[Strip, ...]:
    """Half of them as they were drawn, and half those with most that is wrong."""
    order = sorted(range(len(items)), key=lambda place: -items[place].wrong / len(items[place].true))
    worst = [place for place in order if items[place].wrong][: STRIPS // 2]
    others = [place for place in range(len(items)) if place not in worst]
    reader, shown = pipeline.frame_reader, [*others[: STRIPS - len(worst)], *worst]
    return tuple(strip_of(reader, series[place], items[place]) for place in shown)


def strip_of(reader: FrameReader, one: Series, item: Item) -> Strip:
    tags = reader.labelling.what == "tags"
    true = item.true if tags else item.true * len(one)
    said = item.said if tags else said_so_far(reader, one)
    pictures = isinstance(reader.lay, PictureFrames)
    signals = () if pictures else signals_of(reader, np.asarray(one.frames))
    shown = thumbnails(np.asarray(one.frames)) if pictures else ()
    return Strip(one.name, true, said, item.true, item.said, item.probabilities, signals, shown, so_far=not tags)


def said_so_far(reader: FrameReader, one: Series) -> tuple[str, ...]:
    """What would be said of the first frames alone: when the model has made up its mind."""
    rows = reader.laid(one)
    ends = np.unique(np.linspace(1, len(rows), min(LOOKS, len(rows))).astype(int))
    answers = [best[0].text for best in reader.labelled([rows[:end] for end in ends])]
    return tuple(answers[int(np.searchsorted(ends, frame + 1))] for frame in range(len(rows)))


def signals_of(reader: FrameReader, values: NDArray[Any]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    assert not isinstance(reader.lay, PictureFrames)  # noqa: S101
    features = reader.lay.scale.features[:SIGNALS]
    return tuple((str(feature), tuple(values[:, place].tolist())) for place, feature in enumerate(features))


def thumbnails(pixels: NDArray[np.uint8]) -> tuple[bytes, ...]:
    """Some of the pictures, small, as PNG."""
    from io import BytesIO

    from PIL import Image

    found = []
    for place in np.unique(np.linspace(0, len(pixels) - 1, min(THUMBNAILS, len(pixels))).astype(int)):
        written = BytesIO()
        Image.fromarray(pixels[place]).resize((THUMBNAIL, THUMBNAIL)).save(written, "PNG")
        found.append(written.getvalue())
    return tuple(found)
