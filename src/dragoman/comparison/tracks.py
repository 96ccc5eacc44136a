"""Comparisons of models that go on with tracks."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.comparison.kind import Bucket, Buckets, Item, Items, Keyed, Kind, Measure, Truth, Words, in_tuples
from dragoman.data.readers.futures import Futures
from dragoman.data.readers.lines import WITHIN, Problems
from dragoman.data.readers.track import Feature
from dragoman.data.readers.tracks import read_tracks
from dragoman.data.tracking import Windows, tracking_of, usable
from dragoman.drawing.tracks import Drawn, track_svg
from dragoman.evaluation.beside import points_of, tracks_predicted
from dragoman.experiment import Experiment
from dragoman.inspection.report.answers import BUCKET_RESAMPLES
from dragoman.inspection.report.page import Content, Html, element, foreign, join, number
from dragoman.metrics import Counts
from dragoman.metrics.displacement import (
    TRACK_METRICS,
    average_of,
    by_track,
    distance_at,
    distances,
    final_of,
    horizons_of,
    squared_of,
)
from dragoman.metrics.measured import SEED, Floats, measure_counts
from dragoman.pipeline import Pipeline
from dragoman.preparation.tracks import features_of
from dragoman.served import Evaluation

SMALL = (200.0, 140.0)  # of a drawing in a table
COUNTED = {"ade": average_of, "fde": final_of, "rmse": squared_of}


@dataclass(frozen=True)
class Past:
    """What is read before a future, as it stands in the file."""

    windows: Windows  # one
    features: tuple[Feature, ...]  # that are predicted
    unit: str

    @property
    def points(self) -> Floats:
        return self.windows.past[0, :, : len(self.features)]


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    """All windows of the test tracks, cut as those of training are."""
    data = settings.data
    assert isinstance(data, Futures)  # noqa: S101
    tracking = tracking_of(data, features_of(data))
    size = len(tracking.predicts)
    for track in tracking.read(files or data.files("train"), problems):
        if not files and not data.in_split(track, "test"):
            continue
        for some in tracking.cut(track, data.stride):
            for row in np.flatnonzero(usable(some, size)):
                one = some.select(np.array([row]))
                truth = in_tuples(one.future[0, :, :size].tolist())
                yield f"{track.name}\t{one.lines[0]}", Past(one, tracking.features, tracking.unit), truth


def keys(settings: Experiment) -> Iterator[str]:
    data = settings.data
    assert isinstance(data, Futures)  # noqa: S101
    tracking = tracking_of(data, features_of(data))
    return (track.name for track in read_tracks(data.files("train"), tracking.wanted(), Problems()))


def replies(pipeline: Pipeline, pasts: Sequence[Past], start: int) -> Iterator[tuple[Truth, bool]]:
    """The most likely future of each."""
    for forecast in pipeline.forecasting.answered([past.windows for past in pasts], start, 1):
        yield in_tuples(forecast.points.tolist()), True


def apart(answers: Sequence[Truth], truths: Sequence[tuple[Truth, ...]]) -> list[Floats]:
    """The distance of every point from the true one."""
    return [distances(np.array(said) - np.array(true))[:] for said, (true,) in zip(answers, truths, strict=True)]


def measures(evaluation: Evaluation, items: Items) -> list[Measure]:
    return [measure_of(name, items[0][0].unit) for name in COUNTED]


def measure_of(name: str, unit: str) -> Measure:
    def counted(answers: Sequence[Sequence[Truth]], truths: Sequence[tuple[Truth, ...]]) -> list[Counts]:
        return [COUNTED[name](apart(one, truths)) for one in answers]

    title = f"{name.upper()} [{unit}]" if unit else name.upper()
    meaning = f"{TRACK_METRICS[name]}; lower is better"
    return Measure(name, title, meaning, False, counted, None, partial(number, digits=3))


def by_horizon(measures: Sequence[Measure], items: Items, answers: Sequence[Sequence[Truth]]) -> Buckets:
    """The mean distance at some steps of the future."""
    truths = [true for _, true in items]
    names = [past.windows.names[0] for past, _ in items]
    far = [apart(one, truths) for one in answers]
    found = []
    for step in horizons_of(max(map(len, far[0]))):
        counts = [distance_at(row, step) for row in far]
        measured = tuple(measure_counts("ade", by_track(one, names), BUCKET_RESAMPLES, SEED) for one in counts)
        found.append(Bucket(step, step, int(counts[0].items[:, 1].sum()), measured))
    return {"ade": tuple(found)}


def beside(items: Items, pipeline: Pipeline, run: Beside) -> Found:
    """The last velocity, which is hard to beat (Schöller et al. 2020), and ridge regression."""
    found = tracks_predicted(run, pipeline, [past.windows for past, _ in items])
    return replace(
        found,
        predicted=tuple(
            replace(one, predictions=[in_tuples(points_of(said).tolist()) for said in one.predictions])
            for one in found.predicted
        ),
    )


def identify(past: Past) -> object:
    digest = hashlib.sha256(past.windows.past.tobytes() + past.windows.others.tobytes())
    digest.update(past.windows.future.tobytes())  # what is known ahead is read as well
    return [past.windows.names[0], digest.hexdigest()]


def look(pipeline: Pipeline, items: Items) -> list[Truth]:
    return [answer for answer, _ in replies(pipeline, [past for past, _ in items], 0)]


def svg(item: Item, answer: Truth, **size: float) -> Html:
    past, (truth,) = item
    name = past.windows.names[0]
    return Html(track_svg(Drawn(name, past.features, past.points, (np.array(answer),), np.array(truth)), **size))


def distance(answer: Truth, item: Item) -> str:
    """How far it is from what came, on average."""
    mean = float(np.nanmean(apart([answer], [item[1]])[0]))
    return f"mean distance {number(mean, 3)}{f' {item[0].unit}' if item[0].unit else ''}"


def answer_cell(item: Item, answer: Truth) -> Content:
    drawn = svg(item, answer, width=SMALL[0], height=SMALL[1])
    return join([element("div", distance(answer, item)), drawn])


def nearness(good: Sequence[Sequence[float]], lengths: Sequence[int]) -> list[float]:
    """From where all are near to where all are far."""
    return [-sum(values) / len(values) for values in zip(*good, strict=True)]


def name_of(past: Any) -> str:
    step, line = divmod(int(past.windows.lines[0]), WITHIN)
    return f"{past.windows.names[0]}, line {line}{f', from step {step + 1}' if step else ''}"


TRACKS = Kind(
    name="tracks",
    config=Futures,
    learns_from="tracks",
    unit="tracks",
    words=Words(
        item="past",
        unit="tracks",
        tokens="future points",
        whys=("where all are near", "as it is usually", "where all are far off"),
        by="steps ahead",
        axis="steps ahead, and number of futures",
        by_title="By horizon",
        look_title="Futures over pasts",
        look="The same pasts gone on with by every model. Grey is the past, red the future that was said, dashed green "
        "the true one; the dot is its end. Both axes have one scale, and the bar tells it.",
        curve="ADE on the validation data against minutes of training, each model fed its own points; lower is better. "
        "A model that has not flattened out could use more time; one that rises has learned by heart.",
    ),
    keys=keys,
    read=read,
    replies=replies,
    lengths=lambda pipeline, items: [len(past.points) for past, _ in items],
    measures=measures,
    graded=lambda evaluation, items: measure_of("ade", items[0][0].unit),
    identify=identify,
    name_of=name_of,
    look=look,
    given=lambda item: [element("p", "track ", foreign(name_of(item[0]), 100), class_="said")],
    said=distance,
    drawn=lambda look, item, settings: svg(item, look),
    cells=answer_cell,
    truths=lambda item: f"{len(item[1][0])} steps, dashed green below",
    source=lambda item: foreign(name_of(item[0]), 100),
    same=tuple(
        f"data.{name}"
        for name in ("format", "id_field", "missing", "predicts", "reads", "context", "past", "future", "stride")
    ),
    curve="ade",
    buckets=by_horizon,
    opens=True,
    beside=beside,
    ranks=nearness,
    together=lambda items: [past.windows.names[0] for past, _ in items],
)
