"""The chapters on models that only read: what is right, what is taken for what, and where they go wrong."""

from collections.abc import Sequence

from dragoman.inspection.report.charts import Column, Scale, column_chart, range_bar
from dragoman.inspection.report.labels import Item, TestedLabels
from dragoman.inspection.report.page import (
    Content,
    Html,
    cut,
    element,
    fixed,
    foreign,
    join,
    number,
    percent,
    section,
    table,
    whole,
)
from dragoman.inspection.report.planes import Dot, heat_map, scatter
from dragoman.inspection.report.quality import metric_name, span
from dragoman.metrics import Measured
from dragoman.metrics.classes import ClassReport, OfClass
from dragoman.metrics.labels import LABEL_METRICS

NOUNS = {"labels": "texts", "numbers": "texts", "tags": "sentences"}
MATRIX = 24  # labels of a heat map; of more, those that are confused most
LISTED = 60  # labels of a table
CONFUSED = 20
WRONG = 20  # examples
SENTENCES = 12  # with wrong tags
TEXT = 400  # characters of one
WORDS = 60  # of a tagged sentence
SCATTERED = 1500  # points


def label_metrics_section(tested: TestedLabels) -> Html:
    drawn = tested.drawn
    sampled = f", drawn at random from {whole(drawn.total)}" if drawn.count < drawn.total else ""
    how = (
        f"Measured on {whole(drawn.count)} {noun_of(tested)}{sampled}. The stroke is the value, the broad bar its "
        "95 % interval: how far it may move on other data of this size. Scales run from 0 to 100, of correlations from "
        "−100."
    )
    rows = [metric_row(value) for value in tested.metrics]
    signatures = [element("div", element("code", f"{value.name}: {value.signature}")) for value in tested.metrics]
    return section(
        "metrics",
        "Metrics",
        how,
        table(("metric", "value", "95 % interval", ""), rows, numeric=(1, 2)),
        element("details", element("summary", "Signatures: what it takes to repeat these numbers"), *signatures),
    )


def noun_of(tested: TestedLabels) -> str:
    return tested.noun or NOUNS[tested.what]


def metric_row(value: Measured) -> tuple[Content, ...]:
    metric = LABEL_METRICS[value.name]
    meaning = f"{metric.title}; {'higher' if metric.higher_is_better else 'lower'} is better"
    name = join([element("b", metric_name(value.name)), element("br"), element("span", meaning, class_="muted")])
    interval = f"{fixed(value.low)} … {fixed(value.high)}"
    bar = range_bar(metric_name(value.name), value.value, value.low, value.high, scale_of(value))
    return name, element("b", fixed(value.value)), interval, bar


def scale_of(value: Measured) -> Scale:
    if value.name == "root_mean_squared_error":
        return Scale(0, value.high * 1.5 or 1.0, 2, 218)
    return Scale(-100 if value.name in ("matthews", "pearson", "spearman") else 0, 100, 2, 218)


def classes_section(tested: TestedLabels, report: ClassReport) -> Html:
    how = (
        "Precision: of the times that a label was said, it was true. Recall: of the times that it was true, it was "
        "said. F1 is their harmonic mean; support is how often it was true. All in percent."
    )
    parts = [class_table(report.classes)]
    if tested.spans:
        words = "Spans that tags mark (B-, I-): kind, begin and end must all be right."
        parts += [element("h3", "Spans"), element("p", words, class_="how"), class_table(tested.spans)]
    return section("labels", "Every label by itself", how, *parts)


def class_table(classes: Sequence[OfClass]) -> Html:
    """The most frequent first."""
    ranked = sorted(classes, key=lambda one: -one.support)
    rows = [
        (foreign(one.label, 60), fixed(one.precision, 1), fixed(one.recall, 1), fixed(one.f1, 1), whole(one.support))
        for one in ranked[:LISTED]
    ]
    more = f"and {whole(len(ranked) - LISTED)} more" if len(ranked) > LISTED else ""
    listed = table(("label", "precision", "recall", "F1", "support"), rows, numeric=range(1, 5))
    return join([listed, element("p", more, class_="muted")]) if more else listed


def confusion_section(report: ClassReport) -> Html:
    labels, counts = confused_part(report)
    some = f" The {whole(MATRIX)} labels that are confused most are drawn." if len(labels) < len(report.labels) else ""
    how = (
        "A row is a true label, a column one that was said; colour is the share of the row, blue where they are the "
        f"same and orange where they are not.{some}"
    )
    rows = [
        (foreign(true, 60), foreign(said, 60), whole(count), percent(count, sum(counts_of(report, true))))
        for true, said, count in report.confused(CONFUSED)
    ]
    listed = table(("true", "said", "times", "of the true ones"), rows, numeric=(2, 3))
    parts = [element("figure", heat_map("What was taken for what", labels, counts))]
    parts += [element("h3", "Most often"), listed] if rows else [element("p", "Nothing is confused.")]
    return section("confusions", "What is taken for what", how, *parts)


def counts_of(report: ClassReport, label: str) -> tuple[int, ...]:
    return report.confusion[report.labels.index(label)]


def confused_part(report: ClassReport) -> tuple[list[str], list[list[int]]]:
    """All labels, or those that take part in most errors."""
    size = len(report.labels)
    errors = [
        sum(report.confusion[place][other] + report.confusion[other][place] for other in range(size) if other != place)
        for place in range(size)
    ]
    kept = sorted(sorted(range(size), key=lambda place: -errors[place])[:MATRIX])
    return [report.labels[place] for place in kept], [[report.confusion[row][one] for one in kept] for row in kept]


def label_lengths_section(tested: TestedLabels) -> Html:
    unit = "frames" if tested.noun else "words"
    how = (
        f"How many labels are right, by the number of {unit}, in groups of about equal size. Whiskers are 95 % "
        "intervals: where they overlap widely, a difference may be chance."
    )
    columns = [
        Column(
            span(one.shortest, one.longest),
            one.measured.value,
            one.measured.low,
            one.measured.high,
            f"{whole(one.count)}",
        )
        for one in tested.buckets
    ]
    drawn = column_chart("Accuracy by length", columns, f"{unit}, and number of {noun_of(tested)}")
    return section("lengths", "Quality by length", how, element("figure", drawn))


def scatter_section(tested: TestedLabels) -> Html:
    how = (
        "Each point is a text: across, the true number; up, what the model said. On the dashed line both are the same. "
        "A point says its text where the mouse rests on it."
    )
    some = tested.items[:SCATTERED]
    dots = [
        Dot(*item.values, 0, f"{number(item.values[0])}, said {number(item.values[1])}: {' ⇥ '.join(item.texts)}")
        for item in some
    ]
    shown = f"{whole(len(some))} texts"
    described = "; ".join(f"{metric_name(value.name)} {fixed(value.value)}" for value in tested.metrics)
    drawn = scatter(f"{shown}: true and said", f"{described}.", dots, ("true", "said"), same=True, height=460)
    caption = element("figcaption", f"{shown}. {described}.")
    return section("scatter", "True and said", how, element("figure", drawn, caption))


def wrong_section(tested: TestedLabels) -> Html:
    draw = {"labels": wrong_labels, "numbers": wrong_numbers, "tags": wrong_tags}[tested.what]
    return draw(tested)


def wrong_labels(tested: TestedLabels) -> Html:
    noun = noun_of(tested)
    how = (
        f"{noun.capitalize()} whose label is wrong, those first of which the model was surest. Behind each label "
        "stands its probability."
    )
    wrong = sorted((item for item in tested.items if item.wrong), key=lambda item: -item.probabilities[0])
    rows = [
        (
            text_of(item),
            foreign(item.true[0], 60),
            "unseen" if item.of_true is None else fixed(item.of_true),
            element("b", foreign(item.said[0], 60)),
            fixed(item.probabilities[0]),
        )
        for item in wrong[:WRONG]
    ]
    shown = table((noun.removesuffix("s"), "true", "p", "said", "p"), rows, numeric=(2, 4))
    return listed_errors(how, len(wrong), len(tested.items), noun, shown)


def wrong_numbers(tested: TestedLabels) -> Html:
    how = "Texts whose number is farthest from the true one."
    ranked = sorted(tested.items, key=lambda item: -abs(item.off))[:WRONG]
    rows: list[tuple[Content, ...]] = [
        (text_of(item), *(number(value) for value in (*item.values, item.off))) for item in ranked
    ]
    return section(
        "errors", "The worst errors", how, table(("text", "true", "said", "off by"), rows, numeric=(1, 2, 3))
    )


def wrong_tags(tested: TestedLabels) -> Html:
    how = join(
        [
            "Sentences with wrong tags, ranked by their number times their share. Below each word stands its tag; "
            "where it is wrong, first the ",
            element("b", "one that was said"),
            " with its probability, then the true one.",
        ]
    )
    wrong = sorted((item for item in tested.items if item.wrong), key=lambda item: -(item.wrong**2 / len(item.true)))
    shown = [tagged_sentence(item) for item in wrong[:SENTENCES]]
    return listed_errors(how, len(wrong), len(tested.items), "sentences", *shown)


def tagged_sentence(item: Item) -> Html:
    words = []
    for word, true, said, probability in list(zip(item.texts, item.true, item.said, item.probabilities, strict=True))[
        :WORDS
    ]:
        below: tuple[Content, ...] = (cut(true, 20),)
        if true != said:
            below = (element("b", cut(said, 20)), f" {fixed(probability)} ≠ {cut(true, 20)}")
        kind = "" if true == said else "wrong"
        words.append(element("span", foreign(word, 40), element("small", *below), class_=kind))
    dots = [element("span", "…")] if len(item.texts) > WORDS else []
    count = muted(f"{whole(item.wrong)} of {whole(len(item.true))} wrong")
    return element("figure", element("div", *words, *dots, class_="tagged"), element("figcaption", count))


def listed_errors(how: Content, wrong: int, of: int, noun: str, *shown: Html) -> Html:
    what = "tag" if noun == "sentences" else "label"
    count = element("p", f"{whole(wrong)} of {whole(of)} {noun} have a wrong {what} ({percent(wrong, of)}).")
    return section(
        "errors", "The worst errors", how, *((count, *shown) if wrong else (element("p", "There are none."),))
    )


def text_of(item: Item) -> Html:
    return join([foreign(text, TEXT) for text in item.texts], " ⇥ ")


def muted(words: str) -> Html:
    return element("span", words, class_="muted")


def label_verdict(tested: TestedLabels) -> list[str]:
    """How good it is, in plain words."""
    values = {value.name: fixed(value.value, 1) for value in tested.metrics}
    data = "test" if tested.drawn.split != "valid" else "validation"
    if tested.what == "numbers":
        off = next(value.value for value in tested.metrics if value.name == "root_mean_squared_error")
        return [
            f"Pearson’s correlation {values['pearson']}, Spearman’s {values['spearman']} on {whole(len(tested.items))} "
            f"{data} {noun_of(tested)}.",
            f"The root of the mean squared error is {number(off)}.",
        ]
    each = "frames" if tested.noun else "words"
    several = f"{each} in {whole(len(tested.items))} {data} {noun_of(tested)}"
    what = f"{data} {noun_of(tested)}" if tested.what == "labels" else several
    rest = "; ".join(
        f"{metric_name(name)} {value}" for name, value in values.items() if name not in ("accuracy", "micro_f1")
    )
    said = [f"{percent(tested.right, tested.labels)} of {whole(tested.labels)} {what} right; {rest}."]
    if tested.classes is not None and (top := tested.classes.confused(1)):
        true, wrong, count = top[0]
        said.append(f"Most often “{cut(true, 30)}” was taken for “{cut(wrong, 30)}” ({whole(count)} times).")
    if tested.unseen:
        said.append(
            f"{whole(tested.unseen)} examples have labels that the model was never taught; they count as wrong."
        )
    return said
