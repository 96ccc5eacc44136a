"""The chapters of numbers: quality, cost, quality by length, learning."""

from collections.abc import Callable, Mapping

from dragoman.comparison.facts import Facts
from dragoman.comparison.judging import Judged, Score
from dragoman.comparison.kind import Measure, several
from dragoman.inspection.report.charts import Scale
from dragoman.inspection.report.page import (
    Content,
    Html,
    chance,
    element,
    fixed,
    folded,
    join,
    number,
    section,
    table,
    whole,
)
from dragoman.inspection.report.quality import span
from dragoman.inspection.report.series import Point, curve_chart, interval_bar, interval_chart, key, legend
from dragoman.metrics import Measured
from dragoman.metrics.significance import CHANCE, pairs_of, trials_of

ENDS = {"steps": "its steps", "epochs": "its epochs", "minutes": "its minutes", "patience": "no more improvement"}


def name_cell(facts: Facts, place: int) -> Html:
    contender = facts.models[place].contender
    name = element("span", key(place), element("bdi", contender.name), class_="name")
    return join([name, element("span", contender.title, class_="title")])


def metrics_section(facts: Facts, judged: Judged) -> Html:
    resamples, unit = facts.climb.evaluation.resamples, facts.climb.kind.words.unit
    how = (
        f"Below each value its 95 % interval ({whole(resamples)} bootstrap samples), and p: how likely so large a "
        "difference from the best is between models that are alike. It is that of paired approximate randomisation "
        f"over {unit} ({whole(trials_of(len(facts.models)))} exchanges, or all of them if they are fewer). Which is "
        f"best is known from the same {unit} only, so p is corrected by Holm's method for all pairs of models "
        f"({whole(pairs_of(len(facts.models)))}), metric by metric. Each model was trained once: what another seed "
        f"changes is not in it.{load_counts(facts)}"
    )
    rows: list[tuple[Content, ...]] = [
        (name_cell(facts, place), bar(facts, judged, place), *(cell(judged, name, scores) for name in judged.metrics))
        for place, scores in enumerate(judged.scores)
    ]
    rows += [
        (join([what, element("span", "baseline", class_="title")]), "", *cells(judged, values))
        for what, values in judged.beside.items()
    ]
    first = judged.measures[judged.decisive].title
    headings = ("model", f"{first} with its interval", *(heading(judged.measures[name]) for name in judged.metrics))
    signatures = [
        element("div", element("code", f"{name}: {score.measured.signature}"))
        for name, score in judged.scores[0].items()
    ]
    known = [judged.measures[name] for name in judged.metrics]
    meanings = [element("li", element("b", one.title), f": {one.meaning}") for one in known]
    return section(
        "quality",
        "Quality",
        how,
        table(headings, rows, numeric=range(2, len(headings))),
        folded("What the metrics are, and what it takes to repeat them", join([element("ul", *meanings), *signatures])),
    )


def load_counts(facts: Facts) -> str:
    """A budget of minutes buys as many updates as the machine has time for."""
    if not any(one.settings.training.minutes for one in facts.models):
        return ""
    return (
        " The budget was minutes, so the machine counts as quality: a slower model, or one whose turn came while other "
        "work ran here, made fewer updates (see Cost). To compare kinds of models, give --steps or --epochs."
    )


def heading(measure: Measure) -> str:
    return f"{measure.title} {'↑' if measure.higher else '↓'}"


def point_of(measured: Measured) -> Point:
    return Point(measured.value, measured.low, measured.high)


def bar(facts: Facts, judged: Judged, place: int) -> Html:
    first = judged.decisive
    points = [point_of(scores[first].measured) for scores in judged.scores]
    air = 0.08 * (max(one.high for one in points) - min(one.low for one in points)) or 1.0
    scale = Scale(min(one.low for one in points) - air, max(one.high for one in points) + air, 4, 226)
    return interval_bar(place, facts.names[place], points[place], scale)


def cells(judged: Judged, values: Mapping[str, Measured]) -> list[Html]:
    """Of what is no model, and not compared."""
    return [
        in_interval(point_of(values[name]), judged.measures[name].shown) if name in values else Html("–")
        for name in judged.metrics
    ]


def cell(judged: Judged, name: str, scores: Mapping[str, Score]) -> Html:
    score, shown = scores[name], judged.measures[name].shown
    value = shown(score.measured.value)
    low = f"{shown(score.measured.low)} … {shown(score.measured.high)}"
    told: list[Content] = [element("b", value) if score.best else value, element("span", low, class_="low")]
    if score.best:
        told.append(element("span", "best", class_="low near"))
    elif score.p is not None:
        told.append(element("span", chance(score.p), class_=f"low {'far' if score.p < CHANCE else ''}".strip()))
    return join(told)


def cost_section(facts: Facts) -> Html:
    words = facts.climb.kind.words
    how = (
        f"What each model took. Training speed is the median of the logged updates, in {words.tokens} a second; "
        f"answers are counted in {several(words.item)} a second with the search of each, on this machine and whatever "
        "else ran on it. The model that is measured is the best one on the validation data, at the step that is named."
    )
    rows = []
    for place, one in enumerate(facts.models):
        done, rate = one.trained, len(facts.climb.items) / max(one.answered.seconds, 1e-9)
        best = "" if done.best_step is None else f"best: {whole(done.best_step)}"
        rows.append(
            (
                name_cell(facts, place),
                whole(one.answered.parameters),
                f"{number(done.size / 1e6, 3)} MB",
                fixed(done.minutes, 1),
                fixed(done.epochs, 1),
                join([whole(done.steps), element("span", best, class_="low")]),
                whole(done.tokens_per_second),
                number(rate, 3),
                ENDS.get(done.finished, done.finished),
            )
        )
    headings = (
        "model",
        "parameters",
        "on disk",
        "minutes",
        "epochs",
        "steps",
        words.speed,
        "answers/s",
        "ended by",
    )
    return section("cost", "Cost", how, table(headings, rows, numeric=range(1, 8)))


def lengths_section(facts: Facts, judged: Judged) -> Html:
    """By the first metric; and, where that is all or nothing, by one that tells sentences apart."""
    words, first = facts.climb.kind.words, judged.measures[next(iter(judged.buckets))].title
    how = (
        f"The {first} of the same groups of {several(words.item)} for every model, by {words.by}, in about equal "
        "numbers. Strokes are 95 % intervals of each value alone."
    )
    if facts.climb.kind.buckets is not None:
        how = "The mean distance at some steps of the future, for every model. Strokes are 95 % intervals."
    return section("lengths", words.by_title, how, *(length_part(facts, judged, name) for name in judged.buckets))


def length_part(facts: Facts, judged: Judged, metric: str) -> Html:
    """One plot, and its numbers."""
    buckets, measure, words = judged.buckets[metric], judged.measures[metric], facts.climb.kind.words
    better = "higher" if measure.higher else "lower"
    axis = words.axis.format(first="" if facts.alike else f" of {facts.names[0]}")
    labels = [(span(one.shortest, one.longest), whole(one.count)) for one in buckets]
    points = [[point_of(one.measured[place]) for one in buckets] for place in range(len(facts.models))]
    title = f"{measure.title} by {words.by}; {better} is better"
    chart = interval_chart(title, labels, facts.names, points, axis)
    rows: list[tuple[Content, ...]] = [
        (name, *(in_interval(one, measure.shown) for one in row)) for name, row in zip(facts.names, points, strict=True)
    ]
    headings = (axis.partition(",")[0], *(label for label, _ in labels))
    numbers = folded("The same in numbers", table(headings, rows, numeric=range(1, len(headings))))
    caption = element("figcaption", title[:1].upper() + title[1:])
    return join([element("figure", caption, legend(facts.names), chart), numbers])


def in_interval(point: Point, shown: Callable[[float], str] = fixed) -> Html:
    return join([shown(point.value), element("span", f"{shown(point.low)} … {shown(point.high)}", class_="low")])


def curves_section(facts: Facts) -> Html:
    kind = facts.climb.kind
    curves = [one.trained.curve for one in facts.models]
    if not any(curves):
        return section("learning", "Learning", kind.words.curve, element("p", "There was no validation data."))
    alike = facts.alike or kind.scores is None
    note = "" if alike else " Vocabularies differ, so the heights of the curves cannot be compared."
    name = "Validation loss" if kind.curve == "loss" else f"{kind.curve.upper()} on the validation data"
    chart = curve_chart(f"{name} against minutes", facts.names, curves, "minutes of training")
    return section("learning", "Learning", kind.words.curve + note, element("figure", legend(facts.names), chart))
