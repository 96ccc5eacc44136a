"""The chapter on baselines: the model and what needs no neural network, on the same items."""

from dragoman.baselines.standing import Standing, chance_alone, shown
from dragoman.inspection.report.charts import Scale, range_bar
from dragoman.inspection.report.page import Content, Html, cut, element, section, table, whole
from dragoman.metrics import Measured
from dragoman.metrics.names import written
from dragoman.metrics.significance import TRIALS

HOW = (
    "The model beside baselines that need no neural network, computed from the training data and measured on the same "
    "items. The stroke is the value, the broad bar its 95 % interval. p: how likely so large a difference is between "
    "predictions that are alike, by paired approximate randomization ({trials} exchanges), corrected by Holm’s method."
)


def baselines_section(standing: Standing) -> Html:
    model = [] if standing.model is None else [("the model", standing.model, "")]
    rows = [
        (row.title, row.metrics[standing.metric], chance_alone(row.p))
        for row in standing.rows
        if standing.metric in row.metrics
    ]
    every = [*model, *rows]
    scale = scale_of([measured for _, measured, _ in every])
    better = "higher" if standing.higher else "lower"
    headings = ("", f"{written(standing.metric)} ({better} is better)", "95 % interval", "", "p")
    body = [row_of(title, measured, p, scale, place < len(model)) for place, (title, measured, p) in enumerate(every)]
    others = [element("p", note, class_="note") for note in (standing.note, unlike(standing)) if note]
    how = HOW.format(trials=whole(TRIALS))
    return section("baselines", "Baselines", how, table(headings, body, numeric=(1, 2, 4)), *others)


def row_of(title: str, measured: Measured, p: str, scale: Scale, bold: bool) -> tuple[Content, ...]:
    name, value = cut(title, 200), shown(measured.value)
    interval = f"{shown(measured.low)} … {shown(measured.high)}"
    bar = range_bar(name, measured.value, measured.low, measured.high, scale)
    return (element("b", name), element("b", value), interval, bar, p) if bold else (name, value, interval, bar, p)


def scale_of(measured: list[Measured]) -> Scale:
    """From 0, or below it, to the largest of all."""
    low, high = min(0.0, *(one.low for one in measured), 0.0), max(one.high for one in measured)
    return Scale(low, 1.02 * high if high > 0 else 1.0, 2, 218)


def unlike(standing: Standing) -> str:
    """Baselines that are measured by something else."""
    others = [row for row in standing.rows if standing.metric not in row.metrics]
    told = [
        f"{row.title}: {', '.join(f'{written(name)} {shown(one.value)}' for name, one in row.metrics.items())}"
        for row in others
    ]
    return f"Measured otherwise: {'; '.join(told)}." if told else ""
