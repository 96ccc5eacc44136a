"""The chapters on pictures that were described."""

from dragoman.drawing.overlay import Overlay, data_uri, looks
from dragoman.inspection.report.captions import OVERLAID, SHOWN, Described, TestedCaptions
from dragoman.inspection.report.charts import range_bar
from dragoman.inspection.report.page import Content, Html, element, fixed, foreign, join, percent, section, table, whole
from dragoman.inspection.report.quality import metric_meaning, metric_name, scale_of
from dragoman.metrics import Measured

NO_LOOKS = "This model has no attention, so that there is nothing to see of where it looked."


def caption_metrics_section(tested: TestedCaptions) -> Html:
    drawn = tested.drawn
    sampled = f", drawn at random from {whole(drawn.total)}" if drawn.count < drawn.total else ""
    how = (
        f"Measured on {whole(drawn.count)} pictures{sampled}, each against all captions that it has. The stroke is the "
        "value, the broad bar its 95 % interval: how far it may move on other data of this size. Scales run from 0 to "
        "100."
    )
    parts = [
        table(
            ("metric", "value", "95 % interval", ""), [row_of_metric(value) for value in tested.metrics], numeric=(1, 2)
        )
    ]
    if tested.by_tag:
        headings = ("tag", *(value.name for value in tested.metrics))
        tags = [(tag, *(fixed(value.value) for value in values)) for tag, values in tested.by_tag.items()]
        parts.append(table(headings, tags, numeric=range(1, len(headings))))
    return section("metrics", "Metrics", how, *parts)


def row_of_metric(value: Measured) -> list[Content]:
    meaning = element("span", metric_meaning(value.name), class_="muted")
    named = join([element("b", metric_name(value.name)), element("br"), meaning])
    bar = range_bar(metric_name(value.name), value.value, value.low, value.high, scale_of(value, 0))
    return [named, element("b", fixed(value.value)), f"{fixed(value.low)} … {fixed(value.high)}", bar]


def pictures_section(tested: TestedCaptions) -> Html:
    how = join(
        ["What the model said of some pictures; ", element("b", "✓"), " is equal to a caption that a person gave."]
    )
    shown = [card(item) for item in tested.items[:SHOWN] if item.overlay is not None]
    return section("pictures", "Pictures and captions", how, element("div", *shown, class_="pictures"))


def card(item: Described) -> Html:
    picture = Html("") if item.overlay is None else picture_of(item.overlay)
    said = element("p", element("b", "✓ " if item.right else "✗ "), foreign(item.answer or "(nothing)", 200))
    true = [] if item.right else [element("p", element("small", "right: ", foreign(item.references[0], 200)))]
    tag = [element("p", element("small", item.tag))] if item.tag else []
    return element("div", picture, said, *true, *tag)


def picture_of(overlay: Overlay) -> Html:
    return element("img", src=data_uri(overlay.pixels), alt=overlay.caption or "a picture")


def looks_section(tested: TestedCaptions) -> Html:
    how = (
        "The picture, then as each word of the caption saw it: it is light where the model looked before it wrote the "
        "word. Below each word stands how probable it was."
    )
    drawn = [item.overlay for item in tested.items if item.overlay is not None][:OVERLAID]
    figures = [element("figure", element("figcaption", foreign(one.caption, 200)), Html(looks(one))) for one in drawn]
    return section("looks", "Where each word looked", how if drawn else NO_LOOKS, *figures)


def wrong_captions_section(tested: TestedCaptions) -> Html:
    wrong = sorted((item for item in tested.items if not item.right), key=lambda item: item.f1)
    every = len(tested.items)
    share = percent(len(wrong), every)
    count = f"{whole(len(wrong))} of {whole(every)} captions are equal to none of their picture's ({share})."
    rows = [row_of(item) for item in wrong[:SHOWN]]
    listed = [table(("picture", "said", "right", "F1 of words"), rows, numeric=(3,))] if rows else []
    how = "Those that share the fewest words come first."
    return section("errors", "The worst errors", how, element("p", count), *listed)


def row_of(item: Described) -> list[Content]:
    texts = (item.name, item.answer or "(nothing)", item.references[0])
    return [*(foreign(text, 300) for text in texts), fixed(100 * item.f1, 0)]


def caption_verdict(tested: TestedCaptions) -> list[str]:
    data = "validation" if tested.drawn.split == "valid" else "test"
    every = len(tested.items)
    others = "; ".join(f"{one.name} {fixed(one.value, 1)}" for one in tested.metrics if one.name != "exact_match")
    right = f"{percent(tested.right, every)} of {whole(every)} {data} pictures described as a person did"
    return [f"{right}{f'; {others}' if others else ''}."]
