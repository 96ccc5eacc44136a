"""The chapters of numbers: quality, cost, quality by length, learning."""

from dragoman.comparison.facts import Facts
from dragoman.comparison.judging import Judged, Score
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
from dragoman.inspection.report.quality import metric_meaning, metric_name, span
from dragoman.inspection.report.series import Point, curve_chart, interval_bar, interval_chart, key, legend
from dragoman.metrics import METRICS, Measured
from dragoman.metrics.significance import CHANCE, pairs_of, trials_of

ENDS = {"steps": "its steps", "epochs": "its epochs", "minutes": "its minutes", "patience": "no more improvement"}


def name_cell(facts: Facts, place: int) -> Html:
    contender = facts.models[place].contender
    name = element("span", key(place), element("bdi", contender.name), class_="name")
    return join([name, element("span", contender.title, class_="title")])


def metrics_section(facts: Facts, judged: Judged) -> Html:
    resamples = facts.climb.evaluation.resamples
    how = (
        f"Below each value its 95 % interval ({whole(resamples)} bootstrap samples), and p: how likely so large a "
        "difference from the best is between models that are alike. It is that of paired approximate randomisation "
        f"over sentences ({whole(trials_of(len(facts.models)))} exchanges, or all of them if they are fewer). Which is "
        "best is known from the same sentences only, so p is corrected by Holm's method for all pairs of models "
        f"({whole(pairs_of(len(facts.models)))}), metric by metric. Each model was trained once: what another seed "
        f"changes is not in it.{load_counts(facts)}"
    )
    rows = [
        (name_cell(facts, place), bar(facts, judged, place), *(cell(scores[name]) for name in judged.metrics))
        for place, scores in enumerate(judged.scores)
    ]
    first = metric_name(judged.decisive)
    headings = ("model", f"{first} with its interval", *(heading(name) for name in judged.metrics))
    signatures = [
        element("div", element("code", f"{name}: {score.measured.signature}"))
        for name, score in judged.scores[0].items()
    ]
    meanings = [element("li", element("b", metric_name(name)), f": {metric_meaning(name)}") for name in judged.metrics]
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


def heading(name: str) -> str:
    better = name in METRICS and METRICS[name].higher_is_better
    return f"{metric_name(name)} {'↑' if better else '↓'}"


def point_of(measured: Measured) -> Point:
    return Point(measured.value, measured.low, measured.high)


def bar(facts: Facts, judged: Judged, place: int) -> Html:
    first = judged.decisive
    points = [point_of(scores[first].measured) for scores in judged.scores]
    air = 0.08 * (max(one.high for one in points) - min(one.low for one in points)) or 1.0
    scale = Scale(min(one.low for one in points) - air, max(one.high for one in points) + air, 4, 226)
    return interval_bar(place, facts.names[place], points[place], scale)


def cell(score: Score) -> Html:
    value = fixed(score.measured.value)
    low = f"{fixed(score.measured.low)} … {fixed(score.measured.high)}"
    told: list[Content] = [element("b", value) if score.best else value, element("span", low, class_="low")]
    if score.best:
        told.append(element("span", "best", class_="low near"))
    elif score.p is not None:
        told.append(element("span", chance(score.p), class_=f"low {'far' if score.p < CHANCE else ''}".strip()))
    return join(told)


def cost_section(facts: Facts) -> Html:
    how = (
        "What each model took. Training speed is the median of the logged updates, in target tokens a second; answers "
        "are counted in sources a second with the search of each, on this machine and whatever else ran on it. The "
        "model that is measured is the best one on the validation data, at the step that is named."
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
        "training tokens/s",
        "answers/s",
        "ended by",
    )
    return section("cost", "Cost", how, table(headings, rows, numeric=range(1, 8)))


def lengths_section(facts: Facts, judged: Judged) -> Html:
    """By the first metric; and, where that is all or nothing, by one that tells sentences apart."""
    how = (
        f"The {metric_name(judged.metrics[0])} of the same groups of sources for every model, by length, in about "
        "equal numbers. Strokes are 95 % intervals of each value alone."
    )
    return section("lengths", "Quality by length", how, *(length_part(facts, judged, name) for name in judged.buckets))


def length_part(facts: Facts, judged: Judged, metric: str) -> Html:
    """One plot, and its numbers."""
    buckets, better = judged.buckets[metric], "higher" if METRICS[metric].higher_is_better else "lower"
    measure = "source tokens" if facts.alike else f"source tokens of {facts.names[0]}"
    labels = [(span(one.shortest, one.longest), whole(one.count)) for one in buckets]
    points = [[point_of(one.measured[place]) for one in buckets] for place in range(len(facts.models))]
    title = f"{metric_name(metric)} by length of the source; {better} is better"
    chart = interval_chart(title, labels, facts.names, points, f"{measure}, and number of sources")
    rows: list[tuple[Content, ...]] = [
        (name, *map(in_interval, row)) for name, row in zip(facts.names, points, strict=True)
    ]
    headings = (measure, *(label for label, _ in labels))
    numbers = folded("The same in numbers", table(headings, rows, numeric=range(1, len(headings))))
    caption = element("figcaption", title[:1].upper() + title[1:])
    return join([element("figure", caption, legend(facts.names), chart), numbers])


def in_interval(point: Point) -> Html:
    return join([fixed(point.value), element("span", f"{fixed(point.low)} … {fixed(point.high)}", class_="low")])


def curves_section(facts: Facts) -> Html:
    how = (
        "Validation loss (mean negative log-probability of a target token, without smoothing) against minutes of "
        "training; lower is better. A model that has not flattened out could use more time; one that rises has learned "
        "by heart."
    )
    curves = [one.trained.curve for one in facts.models]
    if not any(curves):
        return section("learning", "Learning", how, element("p", "There was no validation data."))
    note = "" if facts.alike else " Vocabularies differ, so the heights of the curves cannot be compared."
    chart = curve_chart("Validation loss against minutes", facts.names, curves, "minutes of training")
    return section("learning", "Learning", how + note, element("figure", legend(facts.names), chart))
