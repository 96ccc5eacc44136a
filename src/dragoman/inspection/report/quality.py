"""The chapters on how good the answers are, and what is wrong with the rest."""

from collections.abc import Sequence

from dragoman.contracts import Prediction
from dragoman.drawing.summary import NEGLECTED, OVERUSED
from dragoman.inspection.alignment import alignment_svg
from dragoman.inspection.report.answers import Example, Tested
from dragoman.inspection.report.charts import Column, Scale, column_chart, range_bar
from dragoman.inspection.report.edits import Edit
from dragoman.inspection.report.errors import Confusion
from dragoman.inspection.report.facts import Findings
from dragoman.inspection.report.looks import Looks
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
from dragoman.inspection.report.units import Unit
from dragoman.metrics import METRICS, Measured
from dragoman.metrics.names import written

TEXT = 400  # characters of a source or a reference
PIECES = 80  # of a marked text
PIECE = 40  # characters of one of them
AROUND = 7  # pieces on either side of a confusion
MEANINGS = {"bleu": "shares of word sequences found in a reference", "chrf": "character n-gram F-score"}


def metric_name(name: str) -> str:
    return cut(written(name), PIECE)


def metric_meaning(name: str) -> str:
    if name not in METRICS:
        return "symbols it hesitates between; lower is better"
    metric = METRICS[name]
    return f"{MEANINGS.get(name, metric.title)}; {'higher' if metric.higher_is_better else 'lower'} is better"


def metrics_section(tested: Tested) -> Html:
    sample = tested.sample
    drawn = len(sample.items) < sample.total
    how = (
        f"Measured on {whole(len(sample.items))} sources with {whole(tested.references)} references"
        + (f", drawn at random from {whole(sample.total)}. " if drawn else ". ")
        + "The stroke is the value, the broad bar its 95 % interval: how far it may move on other data of this size. "
        "Scales run from 0 to 100; that of perplexity, in powers, from 1 (certain) to the size of the vocabulary."
    )
    rows = [
        (
            join(
                [
                    element("b", metric_name(value.name)),
                    element("br"),
                    element("span", metric_meaning(value.name), class_="muted"),
                ]
            ),
            element("b", fixed(value.value)),
            f"{fixed(value.low)} … {fixed(value.high)}",
            range_bar(metric_name(value.name), value.value, value.low, value.high, scale_of(value, tested.symbols)),
        )
        for value in tested.metrics
    ]
    signatures = [element("div", element("code", f"{value.name}: {value.signature}")) for value in tested.metrics]
    return section(
        "metrics",
        "Metrics",
        how,
        table(("metric", "value", "95 % interval", ""), rows, numeric=(1, 2)),
        element("details", element("summary", "Signatures: what it takes to repeat these numbers"), *signatures),
    )


def scale_of(value: Measured, symbols: int) -> Scale:
    if value.name == "perplexity":
        return Scale(1, max(symbols, 2), 2, 218, logarithmic=True)
    return Scale(0, max(100, value.high), 2, 218)


def lengths_section(tested: Tested) -> Html:
    metric = tested.buckets[0].measured.name
    better = "higher" if METRICS[metric].higher_is_better else "lower"
    how = (
        f"The {metric_name(metric)} of sources by their length in {tested.source.name}, in groups of about equal size; "
        f"{better} is better. Whiskers are 95 % intervals: where they overlap widely, a difference may be chance."
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
    below = f"{tested.source.name} of the source, and number of sources"
    return section(
        "lengths",
        "Quality by length",
        how,
        element("figure", column_chart(f"{metric_name(metric)} by length", columns, below)),
    )


def span(low: int, high: int) -> str:
    return whole(low) if low == high else f"{whole(low)}–{whole(high)}"


def alignments_section(tested: Tested) -> Html:
    how = (
        "Down the side what was answered, across the top what was read; the scale below says how much attention was "
        "paid to a piece of the source. A diagonal means that the model went along the source as it wrote."
    )
    if not tested.attends:
        nothing = element("p", "The model has no attention, so there is nothing to draw and nothing to count here.")
        return section("alignments", "Where it looked", how, nothing)
    parts = [] if tested.looks is None else [looks_table(tested.looks)]
    if not tested.good and not tested.bad:
        parts.append(element("p", "There is no alignment to draw: every text is too long to be read in a picture."))
    for title, chosen in (("Best answers", tested.good), ("Worst answers", tested.bad)):
        if chosen:
            drawn = [alignment(example, prediction) for example, prediction in chosen]
            parts += [element("h3", title), element("div", *drawn, class_="maps")]
    return section("alignments", "Where it looked", how, *parts)


def looks_table(looks: Looks) -> Html:
    """Means over answers, each with what it counts."""
    values = (
        ("entropy", told(looks.entropy, " nats"), "of the attention of a symbol; 0 looks at one piece"),
        ("entropy, as a share", share(looks.entropy_share), "of looking everywhere alike"),
        ("monotonicity", share(looks.monotonicity), "of the steps, the mean position does not go back"),
        ("Kendall’s tau", told(looks.kendall_tau), "1: looked at in the order of the source, −1: in reverse"),
        ("hardly looked at", share(looks.neglected), f"of the source tokens got under {NEGLECTED:g} in total"),
        ("looked at often", share(looks.overused), f"of the source tokens got over {OVERUSED:g} in total"),
    )
    rows = [(element("b", name), value, element("span", what, class_="muted")) for name, value, what in values]
    return table((f"mean over {whole(looks.answers)} answers", "value", ""), rows, numeric=(1,))


def told(value: float | None, unit: str = "") -> str:
    return "–" if value is None else fixed(value) + unit


def share(value: float | None) -> str:
    return "–" if value is None else percent(value, 1)


def alignment(example: Example, prediction: Prediction) -> Html:
    said: list[Content] = [foreign(example.source, 160), " → ", foreign(prediction.text, 160)]
    if not example.right:
        said += [element("br"), "expected: ", foreign(example.nearest, 160)]
    return element("figure", Html(alignment_svg(prediction)), element("figcaption", *said))


def worst_section(tested: Tested, findings: Findings) -> Html:
    wrong = len(tested.examples) - findings.right
    model_errors = wrong - findings.search_errors
    unit = tested.target.name
    how = join(
        [
            f"Ranked by the number of wrong {unit} times their share of the answer. In each pair ",
            element("mark", "substituted"),
            f" {unit} stand in bold, ",
            element("del", "missing"),
            " ones have a minus and a dashed frame, and ",
            element("ins", "surplus"),
            " ones a plus and an underline.",
        ]
    )
    count = element(
        "p",
        f"{whole(wrong)} of {whole(len(tested.examples))} answers are not equal to a reference. ",
        f"In {whole(findings.search_errors)} of them ({percent(findings.search_errors, wrong)}) the search would rank "
        "a reference above its answer, so it missed it; in "
        f"{whole(model_errors)} it would not, so the model is wrong (or the reference is).",
    )
    shown = [worst_example(place, one, tested.target) for place, one in enumerate(findings.worst, start=1)]
    return section("errors", "The worst errors", how, count if wrong else element("p", "There are none."), *shown)


def worst_example(place: int, example: Example, unit: Unit) -> Html:
    pieces = sum(edit.expected is not None for edit in example.edits)
    kind = "search error" if example.search_error else "model error"
    facts = (
        f"{whole(example.wrong)} wrong for {whole(pieces)} expected {unit.name} · {kind} · score "
        f"{fixed(example.score)}, of the best reference {fixed(example.reference_score)}"
        + ("" if example.finished else " · cut at the length limit")
    )
    others = [one for one in example.references if one != example.nearest]
    rows: list[tuple[str, Content]] = [
        ("source", foreign(example.source, TEXT)),
        ("expected", marked(example.edits, "expected", unit)),
        ("answer", marked(example.edits, "got", unit)),
    ]
    if others:
        rows.append(("or", join([foreign(one, TEXT) for one in others[:3]], " · ")))
    body = [element("tr", element("th", name, scope="row"), element("td", content)) for name, content in rows]
    caption = element("caption", element("b", f"{place}. "), facts)
    return element("table", caption, element("tbody", *body), class_="example")


def marked(edits: Sequence[Edit], side: str, unit: Unit) -> Html:
    """One side of an alignment with what is wrong in it."""
    pieces: list[Content] = []
    for edit in edits:
        piece = getattr(edit, side)
        if piece is None:
            continue
        if len(pieces) == PIECES:
            pieces.append("…")
            break
        name = "mark" if edit.expected and edit.got else "del" if edit.got is None else "ins"
        pieces.append(element(name, cut(piece, PIECE)) if edit.wrong else cut(piece, PIECE))
    return element(
        "bdi", join(pieces, unit.between) if pieces else Html("∅"), class_="piece" if unit.between == "" else ""
    )


def confusions_section(tested: Tested, findings: Findings) -> Html:
    unit = tested.target.name
    how = (
        f"What was taken for what, among the {whole(findings.edits)} edits between answers and nearest references. "
        f"∅ is nothing: one of the {unit} is missing, or one too many. “Of” says how often the expected one occurs "
        "(for one too many: how often it was answered)."
    )
    if not findings.confusions:
        return section("confusions", "What is confused", how, element("p", "Nothing is."))
    rows = [
        (
            piece(one.expected),
            piece(one.got),
            whole(one.count),
            whole(one.occurrences),
            percent(one.count, one.occurrences),
            in_place(one, tested.target),
        )
        for one in findings.confusions
    ]
    headings = ("expected", "got", "times", "of", "share", "an example: source, then answer")
    return section("confusions", "What is confused", how, table(headings, rows, numeric=(2, 3, 4)))


def piece(text: str | None) -> Html:
    return element("bdi", "∅" if text is None else cut(text, PIECE).replace(" ", "␣"), class_="piece")


def in_place(confusion: Confusion, unit: Unit) -> Html:
    """The neighbourhood of a confusion in an answer."""
    edits = confusion.example.edits
    at = next(n for n, edit in enumerate(edits) if (edit.expected, edit.got) == (confusion.expected, confusion.got))
    near = edits[max(at - AROUND, 0) : at + AROUND + 1]
    side = "expected" if confusion.got is None else "got"
    said = marked(near, side, unit)
    dots = ["… " if at > AROUND else "", " …" if at + AROUND + 1 < len(edits) else ""]
    return join([foreign(confusion.example.source, 60), ": ", dots[0], said, dots[1]])


def faults_section(tested: Tested, findings: Findings) -> Html:
    total = len(tested.examples)
    how = (
        "Faults that need no reference to be seen, or hardly. An answer may have several. All answers together have "
        f"{number(findings.length_ratio, 3)} times the {tested.target.name} of their nearest references."
    )
    rows = [
        (
            join([element("b", fault.name), element("br"), element("span", fault.meaning, class_="muted")]),
            whole(len(fault.found)),
            percent(len(fault.found), total),
            instance(fault.found[0]) if fault.found else "",
        )
        for fault in findings.faults
    ]
    headings = ("fault", "answers", "share", "an example: source → answer")
    return section("faults", "Answers that fail as a whole", how, table(headings, rows, numeric=(1, 2)))


def instance(example: Example) -> Html:
    return join([foreign(example.source, 80), " → ", foreign(example.answer, 80) if example.answer else "∅"])
