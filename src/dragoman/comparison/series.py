"""Comparisons of models that say what frames are: numbers, or the pictures of clips."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.comparison.kind import Item, Items, Keyed, Kind, Measure, Truth, Words
from dragoman.data.frames import PictureFrames
from dragoman.data.labelling import Labelling, What, number_in
from dragoman.data.pictures import BadPictureError
from dragoman.data.readers.clips import Clips, leave_out_clip, read_clips
from dragoman.data.readers.example import Told as Labeled
from dragoman.data.readers.example import leave_out
from dragoman.data.readers.frames import Frames, label_field_of, read_frames, refuse_other_units, wanted_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.series import Series, SeriesStream
from dragoman.data.readers.tracks import known_features
from dragoman.evaluation.beside import features_of, frames_predicted
from dragoman.experiment import Experiment
from dragoman.frontends import ImageGrid
from dragoman.inspection.report.frame_chapters import STYLE, strip_figure
from dragoman.inspection.report.frames import strip_of
from dragoman.inspection.report.labels import Item as Told
from dragoman.inspection.report.labels import Strip
from dragoman.inspection.report.page import Content, Html, element, foreign, join, number
from dragoman.inspection.report.planes import dot_legend
from dragoman.metrics import Counts
from dragoman.metrics.labels import LABEL_METRICS, count_together
from dragoman.pipeline import Pipeline
from dragoman.preparation.labels import WHAT
from dragoman.served import Evaluation

NUMBERS = ("pearson", "spearman", "root_mean_squared_error")
PLAIN, SPANS = ("accuracy", "macro_f1"), ("span_f1", "accuracy")
TITLES = {"macro_f1": "macro F1", "span_f1": "span F1", "pearson": "Pearson", "spearman": "Spearman"}


@dataclass(frozen=True)
class Looked:
    """What was said of a sequence, over time if labels were."""

    answer: Truth
    strip: Strip | None
    names: tuple[str, ...]  # of labels, which have a colour each


def series_of(settings: Experiment, files: Sequence[str], problems: Problems) -> SeriesStream:
    """Those of files, or of all that training may hold out."""
    data, what = settings.data, WHAT[settings.model.head.kind]
    assert isinstance(data, Frames | Clips)  # noqa: S101
    named_files = files or data.files("train")
    if isinstance(data, Clips):
        return read_clips(data, named_files, what, problems)
    first = data.files("train")[0]
    features = known_features(first, wanted_of(data, label_field_of(first, data)))
    named = data.changed(features=tuple(feature.name for feature in features))
    refuse_other_units(named_files, named, features)
    return read_frames(named, named_files, what, problems)


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    data, what = settings.data, WHAT[settings.model.head.kind]
    assert isinstance(data, Frames | Clips)  # noqa: S101
    for one in series_of(settings, files, problems):
        if not files and not data.keeps(one.content, "test"):
            continue
        truth = truth_of(one, what, problems)
        if truth is not None and can_be_seen(one, settings, problems):
            yield f"{one.line}\t{one.name}", one, truth


def truth_of(one: Labeled, what: What, problems: Problems) -> Truth | None:
    """A label, tags or a number; None where the number is none."""
    if what != "numbers":
        return plain(one.labels, what)
    value = number_in(one.labels[0])
    if value is None:
        leave_out(problems, one.line, f"'{one.labels[0][:40]}' is no number")
    return value


def plain(labels: Any, what: What) -> Truth:
    """Tags as a tuple, a single label by itself, a number as it is."""
    return labels if what == "numbers" else tuple(labels) if what == "tags" else labels[0]


def can_be_seen(one: Series, settings: Experiment, problems: Problems) -> bool:
    """Whether all pictures of a clip can be read."""
    grid = getattr(settings.model, "source", None)
    if not isinstance(grid, ImageGrid):
        return True
    try:
        PictureFrames(1, grid.fit)(one)
    except BadPictureError as error:
        leave_out_clip(problems, one.line, error)
        return False
    return True


def keys(settings: Experiment) -> Iterator[str]:
    return (one.content for one in series_of(settings, (), Problems()))


def replies(pipeline: Pipeline, series: Sequence[Series], start: int) -> Iterator[tuple[Truth, bool]]:
    what = pipeline.known_labels.what
    for answer in pipeline.frame_reader.answers(series, pipeline.settings.limits.longer):
        said: Truth = answer.score if what == "numbers" else answer.tokens if what == "tags" else answer.text
        yield tuple(said) if what == "tags" else said, not answer.longer or what == "tags"


def names_of(items: Items) -> tuple[str, ...]:
    """What items are measured by, as what is true of them says."""
    truth = items[0][1][0]
    if isinstance(truth, float):
        return NUMBERS
    labels = tuple({label for _, (one,) in items for label in one}) if isinstance(truth, tuple) else ()
    return SPANS if labels and Labelling("tags", labels).has_spans else PLAIN


def measures(evaluation: Evaluation, items: Items) -> list[Measure]:
    return [measure_of(name) for name in names_of(items)]


def measure_of(name: str) -> Measure:
    metric = LABEL_METRICS[name]
    better = "higher" if metric.higher_is_better else "lower"
    of_numbers = name in NUMBERS
    return Measure(
        name,
        TITLES.get(name, name.replace("_", " ")),
        f"{metric.title}; {better} is better",
        metric.higher_is_better,
        partial(counted, name),
        None if of_numbers else 100.0,
        partial(number, digits=4) if name == "root_mean_squared_error" else Measure.shown,
    )


def counted(name: str, answers: Sequence[Sequence[Truth]], truths: Sequence[tuple[Truth, ...]]) -> list[Counts]:
    if name in NUMBERS:
        return count_together(name, answers, [true for (true,) in truths])
    return count_together(name, [list(map(listed, row)) for row in answers], [listed(true) for (true,) in truths])


def beside(items: Items, pipeline: Pipeline, run: Beside) -> Found:
    """Predictions in the form of answers: a label, tags or a number."""
    what, reader = pipeline.known_labels.what, pipeline.frame_reader
    series: list[Series] = [one for one, _ in items]
    seen = reader.seen(iter(series), Problems()) if isinstance(reader.lay, PictureFrames) else series
    return in_plain(frames_predicted(run, pipeline, [features_of(one, what) for one in seen]), what)


def in_plain(found: Found, what: What) -> Found:
    """Baselines with predictions in the form of answers."""
    rows = (replace(one, predictions=[plain(said, what) for said in one.predictions]) for one in found.predicted)
    return replace(found, predicted=tuple(rows))


def listed(labels: Truth) -> list[str]:
    return list(labels) if isinstance(labels, tuple) else [labels]


def graded(evaluation: Evaluation, items: Items) -> Measure:
    return measure_of("root_mean_squared_error" if names_of(items) == NUMBERS else "accuracy")


def identify(one: Series) -> object:
    if not isinstance(one.frames, tuple):
        return [one.name, one.content]
    digest = hashlib.sha256()
    for file in one.frames:
        digest.update(Path(file).read_bytes() if one.place is None else one.place.read(file))
    return [one.name, digest.hexdigest()]


def look(pipeline: Pipeline, items: Items) -> list[Looked]:
    """Asked again, and of one label for the whole also what would be said of its beginnings."""
    reader, names = pipeline.frame_reader, pipeline.known_labels.names
    answers = [answer for answer, _ in replies(pipeline, [one for one, _ in items], 0)]
    return [
        Looked(answer, None if isinstance(answer, float) else strip(reader, item, answer), names)
        for item, answer in zip(items, answers, strict=True)
    ]


def strip(reader: Any, item: Item, answer: Truth) -> Strip:
    one, (truth,) = item
    seen = replace(reader.read_of(one), frames=reader.laid(one)) if isinstance(one.frames, tuple) else one
    told = Told((one.name,), tuple(listed(truth)), tuple(listed(answer)), frames=len(one))
    return strip_of(reader, seen, told)


def drawn(look: Looked, item: Item, settings: Experiment) -> Html:
    return Html("") if look.strip is None else strip_figure(look.strip, labels_of(look))


def labels_of(look: Looked) -> list[str]:
    """Those of training, and what else is true of a strip."""
    more = () if look.strip is None else sorted({*look.strip.true} - {*look.names})
    return [*look.names, *more]


def legend(looks: Sequence[Looked]) -> list[Html]:
    return [dot_legend(labels_of(looks[0]))] if looks and looks[0].strip is not None else []


def answer_cell(item: Item, answer: Truth, noun: str = "frames") -> Content:
    truth = item[1][0]
    if isinstance(answer, float):
        return number(answer)
    if isinstance(answer, tuple):
        wrong = sum(one != other for one, other in zip(answer, truth, strict=True))
        return f"{wrong} of {len(truth)} {noun} wrong"
    right = element("span", " ✓", class_="right", title="right") if answer == truth else Html("")
    return join([foreign(answer, 100), right])


def truth_cell(item: Item) -> Content:
    truth = item[1][0]
    if isinstance(truth, float):
        return number(truth)
    return f"{len(truth)} frames, {len({*truth})} labels" if isinstance(truth, tuple) else foreign(truth, 100)


FRAMES = Kind(
    name="frames",
    config=Frames,
    learns_from="frames of numbers with labels",
    unit="sequences",
    words=Words(
        item="sequence",
        unit="sequences",
        tokens="labels",
        whys=("a short sequence", "of median length", "a long sequence"),
        by="length of the sequence",
        axis="frames, and number of sequences",
        by_title="Quality by length",
        look_title="Sequences side by side",
        look="The same sequences read by every model, and what each said. Labels are drawn over time, which runs to "
        "the right: above stands what is true, below it what was said of each frame (of a label of the whole: what "
        "would have been said of the frames so far), and below both what was read. Red marks are where both differ.",
        curve="Validation loss (of a label: its mean negative log-probability, without smoothing) against minutes of "
        "training; lower is better. A model that has not flattened out could use more time; one that rises has learned "
        "by heart.",
    ),
    keys=keys,
    read=read,
    replies=replies,
    lengths=lambda pipeline, items: [len(one) for one, _ in items],
    measures=measures,
    graded=graded,
    identify=identify,
    name_of=lambda one: one.name,
    look=look,
    given=lambda item: [
        element("p", foreign(item[0].name, 100), f", {len(item[0])} frames; true: ", truth_cell(item), class_="said")
    ],
    said=lambda look, item: "" if isinstance(look.answer, tuple) else answer_cell(item, look.answer),
    drawn=drawn,
    cells=answer_cell,
    truths=truth_cell,
    source=lambda item: join([foreign(item[0].name, 100), f" ({len(item[0])} frames)"]),
    same=(
        *(f"data.{name}" for name in ("format", "id_field", "missing", "features", "label_field")),
        "model.head.kind",
    ),
    legend=legend,
    beside=beside,
    style=STYLE,
)
CLIPS = replace(
    FRAMES,
    name="clips",
    config=Clips,
    learns_from="clips of pictures with labels",
    unit="clips",
    words=replace(
        FRAMES.words,
        item="clip",
        unit="clips",
        whys=("a short clip", "of median length", "a long clip"),
        by="length of the clip",
        axis="frames, and number of clips",
        look_title="Clips side by side",
        look=FRAMES.words.look.replace("sequences", "clips"),
    ),
    same=(
        *(f"data.{name}" for name in ("format", "pictures", "clip_field", "picture_field", "label_field")),
        "model.head.kind",
    ),
)
