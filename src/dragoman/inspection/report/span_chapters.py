"""The chapters on answers that stand in documents."""

from dragoman.inspection.report.charts import Column, column_chart
from dragoman.inspection.report.label_chapters import metric_row
from dragoman.inspection.report.page import (
    Content,
    Html,
    element,
    fixed,
    foreign,
    join,
    percent,
    section,
    table,
    whole,
)
from dragoman.inspection.report.quality import span
from dragoman.inspection.report.spans import Asked, TestedSpans

WRONG = 20  # answers that are shown
AROUND = 120  # characters of a document before and behind an answer
NAMES = {"exact_match": "exact match", "f1": "F1 of words"}
CUT_DOCUMENTS = "Of a document, only a few words on either side of the answer are read here: no map shows it whole."


def span_metrics_section(tested: TestedSpans) -> Html:
    drawn = tested.drawn
    sampled = f", drawn at random from {whole(drawn.total)}" if drawn.count < drawn.total else ""
    how = (
        f"Measured on {whole(drawn.count)} questions{sampled}, by SQuAD's rules. The stroke is the value, the broad "
        "bar its 95 % interval: how far it may move on other data of this size. Scales run from 0 to 100."
    )
    parts = [table(("metric", "value", "95 % interval", ""), map(metric_row, tested.metrics), numeric=(1, 2))]
    if tested.parts:
        rows = [(f"questions {what}", *(fixed(value) for value in of.values())) for what, of in tested.parts.items()]
        headings = ("", *(NAMES.get(name, name) for name in next(iter(tested.parts.values()))))
        parts.append(table(headings, rows, numeric=range(1, len(headings))))
    return section("metrics", "Metrics", how, *parts)


def span_lengths_section(tested: TestedSpans) -> Html:
    how = (
        "F1 of words by the number of words of the document, in groups of about equal size. Whiskers are 95 % "
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
    drawn = column_chart("F1 by length of the document", columns, "words of the document, and number of questions")
    return section("lengths", "Quality by length", how, element("figure", drawn))


def wrong_answers_section(tested: TestedSpans) -> Html:
    how = join(
        [
            "Answers of which no word is right come first. Around each stands the document; what was answered is ",
            element("mark", "marked"),
            ".",
        ]
    )
    wrong = sorted((item for item in tested.items if item.f1 < 1), key=lambda item: item.f1)
    every = len(tested.items)
    count = f"{whole(len(wrong))} of {whole(every)} answers are not right ({percent(len(wrong), every)})."
    shown = [wrong_answer(place, item) for place, item in enumerate(wrong[:WRONG], start=1)]
    return section("errors", "The worst errors", how, element("p", count), *shown)


def wrong_answer(place: int, item: Asked) -> Html:
    right = join([foreign(one or "(no answer)", 200) for one in item.references[:3]], " · ")
    rows: list[tuple[str, Content]] = [
        ("question", foreign(item.question, 300)),
        ("right", right),
        ("answer", foreign(item.answer, 300) if item.answer else "(no answer)"),
    ]
    if item.place is not None:
        rows.append(("found in", in_document(item.document, *item.place)))
    body = [element("tr", element("th", name, scope="row"), element("td", content)) for name, content in rows]
    caption = element("caption", element("b", f"{place}. "), f"F1 {fixed(100 * item.f1, 0)}")
    return element("table", caption, element("tbody", *body), class_="example")


def in_document(document: str, start: int, end: int) -> Html:
    before, behind = document[max(0, start - AROUND) : start], document[end : end + AROUND]
    dots = ("…" if start > AROUND else "", "…" if end + AROUND < len(document) else "")
    return join([dots[0], foreign(before), element("mark", document[start:end]), foreign(behind), dots[1]])


def span_verdict(tested: TestedSpans) -> list[str]:
    values = {value.name: fixed(value.value, 1) for value in tested.metrics}
    data = "validation" if tested.drawn.split == "valid" else "test"
    return [
        f"{values['exact_match']} % of {whole(len(tested.items))} {data} questions answered exactly; F1 of words "
        f"{values['f1']}."
    ]
