"""The chapters on tracks and how they go on."""

from dragoman.drawing.tracks import Drawn as Picture
from dragoman.drawing.tracks import track_svg
from dragoman.inspection.report.charts import Line, Scale, line_chart, range_bar
from dragoman.inspection.report.page import Content, Html, element, join, number, section, table, whole
from dragoman.inspection.report.tracks import TestedTracks
from dragoman.metrics import Measured
from dragoman.metrics.displacement import title_of

STYLE = (
    ".tracks{display:flex;flex-wrap:wrap;gap:14px}.tracks figure{margin:0}.tracks figcaption{font-size:12px}"
    ".tracks svg{border:1px solid color-mix(in srgb,currentColor 18%,transparent);border-radius:6px}"
)
LEGEND = (
    "Grey is the past, red the future that was said, dashed green the true one; the dot is its end. Both axes have one "
    "scale, and the bar tells it."
)


def track_metrics_section(tested: TestedTracks) -> Html:
    drawn = tested.drawn
    sampled = f", drawn at random from {whole(drawn.total)}" if drawn.count < drawn.total else ""
    unit = f" All in {tested.unit}." if tested.unit else ""
    how = (
        f"Measured on {whole(drawn.count)} futures{sampled}. The stroke is the value, the broad bar its 95 % interval: "
        f"how far it may move on other data of this size. Lower is better.{unit}"
    )
    highest = max(one.high for one in (*tested.metrics, *tested.still))
    rows = [row_of(value, value.name, title_of(value.name), highest) for value in tested.metrics]
    rows += [
        row_of(value, f"{value.name}, on at the last velocity", "what is hard to beat where things move on", highest)
        for value in tested.still
    ]
    return section("metrics", "Metrics", how, table(("metric", "value", "95 % interval", ""), rows, numeric=(1, 2)))


def row_of(value: Measured, name: str, meaning: str, highest: float) -> tuple[Content, ...]:
    told = join([element("b", name), element("br"), element("span", meaning, class_="muted")])
    bar = range_bar(name, value.value, value.low, value.high, Scale(0, highest * 1.05 or 1.0, 2, 218))
    return told, element("b", number(value.value, 3)), f"{number(value.low, 3)} … {number(value.high, 3)}", bar


def horizon_section(tested: TestedTracks) -> Html:
    unit = f", in {tested.unit}" if tested.unit else ""
    how = f"Mean distance from the true point at each step of the future{unit}: how fast it is lost."
    lines = [
        Line("the model", tuple(enumerate(tested.steps, start=1)), dots=True),
        Line("on at the last velocity", tuple(enumerate(tested.still_steps, start=1)), "two", dots=True),
    ]
    if len(tested.steps) < 2:
        return section("horizon", "By horizon", how)
    return section("horizon", "By horizon", how, element("figure", line_chart("distance by step", lines)))


def futures_section(tested: TestedTracks) -> Html:
    several = (
        f" Pale lines are {tested.futures - 1} futures drawn from the model: where they spread, it is not sure."
        if tested.futures > 1
        else ""
    )
    parts = []
    for kind, title in (("typical", "From near to far, as they came"), ("worst", "The farthest")):
        figures = [figure(picture, distance, tested.unit) for picture, distance in tested.pictures[kind]]
        parts += [element("h3", title), element("div", *figures, class_="tracks")]
    return section("futures", "Futures over pasts", LEGEND + several, *parts)


def figure(picture: Picture, distance: float, unit: str) -> Html:
    said = f"mean distance {number(distance, 3)}{f' {unit}' if unit else ''}"
    return element("figure", Html(track_svg(picture)), element("figcaption", said))


def track_verdict(tested: TestedTracks) -> list[str]:
    """How good the model is, in plain words."""
    ade, fde = tested.metrics[:2]
    still = tested.still[0]
    unit = f" {tested.unit}" if tested.unit else ""
    share = ade.value / still.value if still.value else 1.0
    than = f"{share:.0%} of" if share < 1 else f"{share:.2f} times"
    said = [
        f"On average {number(ade.value, 3)}{unit} from the true point, and {number(fde.value, 3)}{unit} at the end, "
        f"over {whole(tested.drawn.count)} futures."
    ]
    if tested.standing is None or tested.standing.best is None:  # else the first sentence says more
        said.append(f"That is {than} what going on at the last velocity gives ({number(still.value, 3)}{unit}).")
    if tested.futures > 1:
        best = next(one for one in tested.metrics if one.name.startswith("ade_best_of_"))
        said.append(f"The nearest of {tested.futures} futures is {number(best.value, 3)}{unit} away.")
    return said
