"""The search report as one page: its head, and its chapters in order."""

from collections.abc import Sequence

import numpy

from dragoman.inspection.report.charts import histogram
from dragoman.inspection.report.contents import STYLE, link
from dragoman.inspection.report.page import (
    Content,
    Html,
    chance,
    cut,
    document,
    element,
    fixed,
    join,
    number,
    section,
    table,
    whole,
)
from dragoman.inspection.report.quality import metric_meaning, metric_name
from dragoman.inspection.report.series import Point, counted, interval_chart, series_style
from dragoman.inspection.search_report.asking import EXACT_LINES
from dragoman.inspection.search_report.errors import Share
from dragoman.inspection.search_report.facts import Facts
from dragoman.inspection.search_report.sides import falls_section, missed_section
from dragoman.inspection.search_report.verdict import verdict
from dragoman.inspection.search_report.widths import Width
from dragoman.metrics import METRICS, Measured
from dragoman.metrics.significance import pairs_of, trials_of

HALF, LOW = 500.0, 260.0  # of a chart that stands beside another
RATIOS = [step / 10 for step in range(21)]  # edges of the histograms; what is longer is in the last bar


def page(facts: Facts) -> str:
    """The whole HTML file."""
    chapters = [
        ("Width", widths_section(facts)),
        ("Search and model", errors_section(facts)),
        ("Length", lengths_section(facts)),
        ("Worse by a wider beam", falls_section(facts)),
        ("What the search missed", missed_section(facts)),
    ]
    links = join([link(title, chapter) for title, chapter in chapters], " · ")
    foot = element(
        "footer", f"Written by dragoman {facts.dragoman} on {facts.made_at}. This file needs nothing else to be read."
    )
    sections = [chapter for _, chapter in chapters]
    body = element("main", head(facts), element("nav", links, aria_label="chapters"), *sections, foot)
    style = STYLE.read_text("utf-8") + series_style()
    return document(f"{cut(facts.name, 200)} · dragoman search report", style, body)


def head(facts: Facts) -> Html:
    first, *others = verdict(facts)
    listed = [piece for name, value in about(facts) for piece in (element("dt", name), element("dd", value))]
    notes = [*facts.asked.notes]
    if facts.problems.count:
        notes.append(f"{counted(facts.problems.count, 'bad line')} of the data left out.")
    return element(
        "header",
        element("p", f"dragoman evaluate --search-report · {facts.made_at}", class_="kicker"),
        element("h1", element("bdi", cut(facts.name, 200))),
        element("div", element("p", first), element("p", " ".join(others)), class_="verdict"),
        *(element("p", note, class_="note") for note in notes),
        element("dl", *listed),
    )


def about(facts: Facts) -> list[tuple[str, str]]:
    own, size = facts.asked.own, whole(len(facts.items))
    if len(facts.items) < facts.total:
        size = f"{size} of {whole(facts.total)}"
    references = sum(len(targets) for _, targets in facts.items)
    alpha = f", α {number(own.alpha)}" if own.normalisation in ("power", "gnmt") else ""
    return [
        ("search", f"a beam of {whole(own.width)}, normalisation {own.normalisation}{alpha}"),
        (
            "measured on",
            f"{size} sources of {cut(', '.join(facts.files), 300)}, with {counted(references, 'reference')}",
        ),
    ]


def widths_section(facts: Facts) -> Html:
    first = metric_name(facts.curse.metric)
    how = (
        f"The same sources answered with beams of several widths, one after the other. Strokes are 95 % intervals "
        f"({whole(facts.resamples)} bootstrap samples). p says how likely so large a difference from the best {first} "
        "is for a wider beam that is as good: paired approximate randomisation over sentences "
        f"({whole(trials_of(len(facts.widths)))} exchanges, or all if they are fewer), corrected by Holm's method for "
        f"all pairs of widths ({whole(pairs_of(len(facts.widths)))}). Speed is that of this machine, and of whatever "
        "else ran on it."
    )
    names = [value.name for value in facts.widths[0].metrics]
    figures = [metric_figure(facts, place, name) for place, name in enumerate(names)]
    rates = [Point(one.answers_per_second, one.answers_per_second, one.answers_per_second) for one in facts.widths]
    figures.append(figure("Answers a second", labels_of(facts.widths), rates, "width of the beam"))
    headings = ("width", *(f"{metric_name(name)} {arrow(name)}" for name in names), "p", "answers/s", "unfinished")
    rows = [width_row(facts, one) for one in facts.widths]
    meanings = [element("li", element("b", metric_name(name)), f": {metric_meaning(name)}") for name in names]
    return section(
        "width",
        "Quality and speed against width",
        how,
        element("div", *figures, class_="pair broad"),
        table(headings, rows, numeric=range(len(headings))),
        element("details", element("summary", "What the metrics are"), element("ul", *meanings)),
    )


def labels_of(widths: Sequence[Width]) -> list[tuple[str, str]]:
    return [(whole(one.width), "") for one in widths]


def figure(title: str, labels: Sequence[tuple[str, str]], points: Sequence[Point], below: str) -> Html:
    chart = interval_chart(title, labels, [title], [points], below, HALF, LOW)
    return element("figure", element("figcaption", title), chart)


def metric_figure(facts: Facts, place: int, name: str) -> Html:
    points = [point_of(one.metrics[place]) for one in facts.widths]
    better = "higher" if METRICS[name].higher_is_better else "lower"
    return figure(f"{metric_name(name)}; {better} is better", labels_of(facts.widths), points, "width of the beam")


def point_of(measured: Measured) -> Point:
    return Point(measured.value, measured.low, measured.high)


def arrow(name: str) -> str:
    return "↑" if METRICS[name].higher_is_better else "↓"


def width_row(facts: Facts, one: Width) -> tuple[Content, ...]:
    curse = facts.curse
    own = [element("span", "the run's", class_="low")] if one.width == facts.own else []
    told: Content = ""
    if one.width == curse.best and len(facts.widths) > 1:
        told = element("span", "best", class_="near")
    elif one.width in curse.wider:
        place = curse.wider.index(one.width)
        told = element("span", chance(curse.p[place]), class_="far" if curse.begins == one.width else "")
    values = [
        join([fixed(value.value), element("span", f"{fixed(value.low)} … {fixed(value.high)}", class_="low")])
        for value in one.metrics
    ]
    return (
        join([whole(one.width), *own]),
        *values,
        told,
        number(one.answers_per_second, 3),
        whole(one.unfinished),
    )


def errors_section(facts: Facts) -> Html:
    errors = facts.errors
    limit = f" (at most {EXACT_LINES}, drawn by a key)" if len(facts.items) > EXACT_LINES else ""
    exact = (
        ""
        if errors.budget is None
        else f", an exact search that asks about {whole(errors.budget)} beginnings a sentence,"
    )
    how = (
        f"A search error: some sequence scores higher, by the same ranking, than what the beam of {whole(facts.own)} "
        f"answered. It is looked for by the other widths{exact} and among the references{limit}. A model error: the "
        "answer is no reference, and scores higher than every reference. Proved is what the exact search has shown: no "
        "other sequence can score higher. Open: nothing better was found, and nothing proves that there is none. "
        "Percentages have Wilson's 95 % interval."
    )
    if not errors.sentences:
        return section("errors", "Search errors and model errors", how, element("p", "There is no sentence to judge."))
    parts = [square(facts), found_table(facts)]
    if errors.left_out:
        left = counted(errors.left_out, "source")
        parts.append(element("p", f"{left} left out: the model cannot read them at once, so scores are of pieces."))
    if facts.asked.own.normalisation == "none" and errors.budget is not None:
        parts.append(element("p", empty_sentence(errors.empty)))
    elif errors.budget is not None and facts.asked.own.normalisation != "none":
        parts.append(
            element(
                "p",
                f"Under the normalisation {facts.asked.own.normalisation} a longer sequence may always still win, so "
                "little can be proved. Without any (search.normalisation=none) proofs are within reach.",
                class_="muted",
            )
        )
    return section("errors", "Search errors and model errors", how, *parts)


def empty_sentence(empty: Share | None) -> str:
    if empty is None:
        return "No most probable sequence was proved within the budget; --budget gives it more."
    return (
        f"Of {counted(empty.of, 'sentence')} whose most probable sequence is proved, it is empty in {told(empty)} "
        "(Stahlberg and Byrne 2019 found it so in more than half of theirs)."
    )


def told(share: Share) -> str:
    if not share.of:
        return "–"
    low, high = share.interval
    return f"{whole(share.count)} ({fixed(share.percent, 1)} %, {fixed(low, 1)} … {fixed(high, 1)})"


def square(facts: Facts) -> Html:
    errors = facts.errors

    def row(name: str, search_error: bool | None) -> tuple[Content, ...]:
        return (name, *(cell(errors.share(search_error, model)) for model in (True, False, None)))

    rows = [row("search error", True), row("none known", False), row("all", None)]
    proofs = element(
        "p",
        f"Of those with no search error known, {whole(errors.faultless)} are proved to be the best of all sequences "
        f"and {whole(errors.open)} are open. Of the search errors, the best sequence of all is proved for "
        f"{whole(errors.optimal)}.",
    )
    return join([table(("", "model error", "no model error", "all"), rows, numeric=(1, 2, 3)), proofs])


def cell(share: Share) -> Html:
    low, high = share.interval
    interval = f"{fixed(share.percent, 1)} % ({fixed(low, 1)} … {fixed(high, 1)})"
    return join([whole(share.count), element("span", interval, class_="low")])


def found_table(facts: Facts) -> Html:
    names = {"exact": "the exact search", "beam": "a beam of another width", "reference": "a reference"}
    found = facts.errors.found_by
    rows = [(names[name], whole(every), whole(alone)) for name, (every, alone) in found.items()]
    return join(
        [
            element("h3", "What found the search errors"),
            table(("found by", "search errors", "by nothing else"), rows, numeric=(1, 2)),
        ]
    )


def lengths_section(facts: Facts) -> Html:
    how = (
        "Symbols of an answer divided by those of its reference; of several references, the one nearest in length. The "
        "line of dashes in a distribution is the mean; what is twice as long or longer is in the last bar."
    )
    points = [point_of(one.ratio) for one in facts.widths]
    title = "Mean length of an answer over that of its reference"
    chart = element(
        "figure",
        element("figcaption", title),
        interval_chart(title, labels_of(facts.widths), [title], [points], "width of the beam", 1010, LOW),
    )
    rows = [
        (
            whole(one.width),
            fixed(one.ratio.value, 3),
            f"{fixed(one.ratio.low, 3)} … {fixed(one.ratio.high, 3)}",
            *(fixed(float(value), 3) for value in numpy.quantile(one.ratios, (0.1, 0.5, 0.9))),
        )
        for one in facts.widths
    ]
    headings = ("width", "mean", "95 % interval", "a tenth is below", "median", "a tenth is above")
    drawn = [element("figure", distribution(one)) for one in facts.widths]
    return section(
        "length",
        "Length against width",
        how,
        chart,
        table(headings, rows, numeric=range(len(headings))),
        element("div", *drawn, class_="pair"),
    )


def distribution(one: Width) -> Html:
    last = len(RATIOS) - 2
    places = [min(int(ratio * 10 + 1e-9), last) for ratio in one.ratios]
    counts = [places.count(place) for place in range(last + 1)]
    return histogram(f"width {whole(one.width)}", RATIOS, counts, [("mean", min(one.ratio.value, RATIOS[-1]))])
