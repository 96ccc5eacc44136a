"""Comparisons of models that answer texts."""

from collections.abc import Iterator, Sequence
from typing import Any

from dragoman.baselines.predicted import Found
from dragoman.baselines.training_data import Beside
from dragoman.comparison.kind import Item, Items, Keyed, Kind, Measure, Words
from dragoman.contracts import Prediction
from dragoman.data.readers.pairs import Pairs, Problems, read_split
from dragoman.evaluation.beside import pairs_predicted
from dragoman.experiment import Experiment
from dragoman.inspection.alignment import alignment_svg
from dragoman.inspection.report.answers import DRAWN_TOKENS, is_legible
from dragoman.inspection.report.page import Content, Html, element, foreign, join
from dragoman.inspection.report.quality import TEXT, metric_meaning, metric_name
from dragoman.metrics import METRICS, Counts, count, graded_of
from dragoman.metrics.measured import References
from dragoman.pipeline import ONE_CONTEXT, Pipeline, has_one_context
from dragoman.pipeline.teaching import Scored
from dragoman.served import Evaluation

LOSS = (
    "Validation loss (mean negative log-probability of a target token, without smoothing) against minutes of training; "
    "lower is better. A model that has not flattened out could use more time; one that rises has learned by heart."
)


def read(settings: Experiment, files: Sequence[str], problems: Problems) -> Iterator[Keyed]:
    """Test files are a part of the settings, as those of training are."""
    assert isinstance(settings.data, Pairs)  # noqa: S101
    for pair in read_split(settings.data, "test", problems):
        yield pair.source, pair.source, pair.target


def keys(settings: Experiment) -> Iterator[str]:
    """What is held out together: a source, or a whole conversation."""
    assert isinstance(settings.data, Pairs)  # noqa: S101
    whole = settings.data.changed(hold_out=0.0, hold_out_test=0.0)
    return (pair.together or pair.source for pair in read_split(whole, "train", Problems()))


def replies(pipeline: Pipeline, sources: Sequence[Any], start: int) -> Iterator[tuple[str, bool]]:
    for answer in pipeline.stream(sources):
        yield answer.text, answer.best.finished


def scores(pipeline: Pipeline, items: Items) -> Iterator[Scored]:
    return pipeline.score((source, target) for source, targets in items for target in targets)


def tokens(pipeline: Pipeline, items: Items) -> list[int]:
    return [len(row) for row in pipeline.source.encode([source for source, _ in items])]


def measure_of(name: str, tokenise: str = "auto") -> Measure:
    def counted(answers: Sequence[Sequence[str]], references: References) -> list[Counts]:
        return [count(name, one, references, tokenise) for one in answers]

    return Measure(name, metric_name(name), metric_meaning(name), METRICS[name].higher_is_better, counted)


def measures(evaluation: Evaluation, items: Items) -> list[Measure]:
    return [measure_of(name, evaluation.tokenise) for name in evaluation.metrics or ("exact_match",)]


def graded(evaluation: Evaluation, items: Items) -> Measure:
    name = graded_of(evaluation.metrics)
    return measure_of(name, evaluation.tokenise if name in evaluation.metrics else "auto")


def beside(items: Items, pipeline: Pipeline, run: Beside) -> Found:
    return pairs_predicted(run, pipeline, [source for source, _ in items], [known for _, known in items])


def look(pipeline: Pipeline, items: Items) -> list[Prediction]:
    return [answer.best for answer in pipeline.predict([source for source, _ in items])]


def given(item: Item) -> list[Html]:
    return [
        element("p", "source: ", source_cell(item), class_="said"),
        element("p", "expected: ", truths_cell(item), class_="said"),
    ]


def source_cell(item: Item) -> Content:
    return foreign(item[0], TEXT)


def truths_cell(item: Item) -> Content:
    return join([foreign(one, TEXT) for one in list(dict.fromkeys(item[1]))[:3]], " · ")


def answer_cell(item: Item, answer: str) -> Content:
    return join([foreign(answer, TEXT) if answer else "∅", sign(answer in item[1])])


def said(prediction: Prediction, item: Item) -> Content:
    return answer_cell(item, prediction.text)


def sign(right: bool) -> Html:
    return element("span", " ✓", class_="right", title="equal to a reference") if right else Html("")


def drawn(prediction: Prediction, item: Item, settings: Experiment) -> Html:
    """Where it looked."""
    if prediction.alignment is None:
        return element("p", looks_at_nothing(settings), class_="none")
    if not is_legible(prediction):
        return element("p", "The answer is too long to draw.", class_="none")
    return Html(alignment_svg(prediction))


def looks_at_nothing(settings: Experiment) -> str:
    """Why there is no alignment."""
    if has_one_context(settings.model):
        return f"{ONE_CONTEXT[:1].upper()}{ONE_CONTEXT[1:]}."
    return "No attention: it looks nowhere."


PAIRS = Kind(
    name="pairs",
    config=Pairs,
    learns_from="pairs of texts",
    unit="pairs",
    words=Words(
        item="source",
        unit="sentences",
        tokens="target tokens",
        whys=("a short source", "of median length", "a long source"),
        by="length of the source",
        axis="source tokens{first}, and number of sources",
        by_title="Quality by length",
        look_title="Where they looked",
        look="The same sources answered by every model: down the side what was answered, across the top what was read; "
        "the scale below says how much attention was paid. A model without attention reads the source once, keeps a "
        "summary, and looks nowhere.",
        curve=LOSS,
    ),
    keys=keys,
    read=read,
    replies=replies,
    lengths=tokens,
    measures=measures,
    graded=graded,
    identify=lambda source: source,
    name_of=str,
    look=look,
    given=given,
    said=said,
    drawn=drawn,
    cells=answer_cell,
    truths=truths_cell,
    source=source_cell,
    as_is=False,
    scores=scores,
    longest=DRAWN_TOKENS,
    beside=beside,
)
