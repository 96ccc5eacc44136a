"""Comparisons of classifiers, regressors and taggers of texts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.comparison.kind import Item, Items, Keyed, Kind, Truth, Words
from dragoman.comparison.series import answer_cell, graded, in_plain, measures, plain, truth_of
from dragoman.data.readers.example import Example, Examples
from dragoman.data.readers.labelled import Labelled, read_labelled
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.tagged import Tagged, read_tagged
from dragoman.evaluation.beside import labels_predicted
from dragoman.experiment import Experiment
from dragoman.inspection.report.label_chapters import tagged_sentence, text_of
from dragoman.inspection.report.labels import Item as Told
from dragoman.inspection.report.labels import answered_window
from dragoman.inspection.report.page import Content, Html, cut, element, fixed, foreign, join, number
from dragoman.models import EncoderOnly
from dragoman.pipeline import Pipeline
from dragoman.preparation.labels import WHAT

TAGS_SHOWN = 60  # of a sentence


def examples_of(settings: Experiment, files: Sequence[str], problems: Problems) -> Examples:
    """Those of files, or of all that training may hold out."""
    data, model = settings.data, settings.model
    assert isinstance(data, Labelled | Tagged) and isinstance(model, EncoderOnly)  # noqa: S101, PT018
    named = files or data.files("train")
    if isinstance(data, Tagged):
        return read_tagged(data, named, problems)
    return read_labelled(data, named, model.sentences == "two", problems)


def key_of(one: Example, settings: Experiment) -> str:
    """What decides whether an example is held out."""
    return (" " if isinstance(settings.data, Tagged) else "\t").join(one.texts)


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    data, what = settings.data, WHAT[settings.model.head.kind]
    assert isinstance(data, Labelled | Tagged)  # noqa: S101
    for one in examples_of(settings, files, problems):
        key = key_of(one, settings)
        if not files and not data.keeps(key, "test"):
            continue
        truth = truth_of(one, what, problems)
        if truth is not None:
            yield f"{one.line}\t{key}", one, truth


def keys(settings: Experiment) -> Iterator[str]:
    return (key_of(one, settings) for one in examples_of(settings, (), Problems()))


def look(pipeline: Pipeline, items: Items) -> list[Told]:
    return answered_window(pipeline, [one for one, _ in items], 0)


def replies(pipeline: Pipeline, examples: Sequence[Example], start: int) -> Iterator[tuple[Truth, bool]]:
    what = pipeline.known_labels.what
    for one in answered_window(pipeline, examples, start):
        yield plain(one.values[1] if what == "numbers" else one.said, what), True


def beside(items: Items, pipeline: Pipeline, run: Beside) -> Found:
    return in_plain(labels_predicted(run, pipeline, [one.texts for one, _ in items]), pipeline.known_labels.what)


def words_in(pipeline: Pipeline, items: Items) -> list[int]:
    return [Told(one.texts, one.labels, one.labels).words for one, _ in items]


def source_cell(item: Item) -> Content:
    one = item[0]
    if isinstance(item[1][0], tuple):
        return foreign(" ".join(one.texts), 400)
    return text_of(Told(one.texts, one.labels, one.labels))


def truth_cell(item: Item) -> Content:
    truth = item[1][0]
    if isinstance(truth, float):
        return number(truth)
    if isinstance(truth, tuple):
        return cut(" ".join(truth[:TAGS_SHOWN]), 400)
    return foreign(truth, 100)


def cells(item: Item, answer: Truth) -> Content:
    return answer_cell(item, answer, "words")


def said(look: Told, item: Item) -> Content:
    """A label with its probability, a number, or how many tags are wrong."""
    truth = item[1][0]
    if isinstance(truth, float):
        return cells(item, look.values[1])
    if isinstance(truth, tuple):
        return cells(item, look.said)
    return join([cells(item, look.said[0]), f" {fixed(look.probabilities[0])}"])


def drawn(look: Told, item: Item, settings: Experiment) -> Html:
    return tagged_sentence(look) if isinstance(item[1][0], tuple) else Html("")


def given(item: Item) -> list[Html]:
    return [
        element("p", "text: ", source_cell(item), class_="said"),
        element("p", "expected: ", truth_cell(item), class_="said"),
    ]


CURVE = (
    "Validation loss (of a label: its mean negative log-probability, without smoothing) against minutes of training; "
    "lower is better. A model that has not flattened out could use more time; one whose loss rises overfits."
)
LABELS = Kind(
    name="labelled",
    config=Labelled,
    learns_from="texts with labels",
    unit="texts",
    words=Words(
        item="text",
        unit="texts",
        tokens="labels",
        whys=("a short text", "of median length", "a long text"),
        by="length of the text",
        axis="words, and number of texts",
        by_title="Quality by length",
        look_title="Texts side by side",
        look="The same texts classified by every model; ✓ is right. The probability of the label stands behind it.",
        curve=CURVE,
    ),
    keys=keys,
    read=read,
    replies=replies,
    lengths=words_in,
    measures=measures,
    graded=graded,
    identify=lambda one: list(one.texts),
    name_of=lambda one: "\t".join(one.texts),
    look=look,
    given=given,
    said=said,
    drawn=drawn,
    cells=cells,
    truths=truth_cell,
    source=source_cell,
    same=(
        *(f"data.{name}" for name in ("format", "text_field", "second_field", "label_field")),
        "model.sentences",
        "model.head.kind",
    ),
    shared=("model.sentences", "model.head.kind", "objective.kind", "training.monitor"),
    opens=True,
    beside=beside,
)
TAGS = replace(
    LABELS,
    name="tagged",
    config=Tagged,
    learns_from="sentences with a tag for each word",
    unit="sentences",
    words=replace(
        LABELS.words,
        item="sentence",
        unit="sentences",
        tokens="tags",
        whys=("a short sentence", "of median length", "a long sentence"),
        by="length of the sentence",
        axis="words, and number of sentences",
        look_title="Sentences side by side",
        look="The same sentences tagged by every model. Below each word stands its tag; where it is wrong, first the "
        "predicted one with its probability, then the true one.",
    ),
    name_of=lambda one: " ".join(one.texts),
    same=("data.word_column", "data.tag_column"),
    shared=(),
    style=".maps figure{width:100%}",  # sentences below one another
)
