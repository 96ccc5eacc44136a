"""The chapters that put answers and settings side by side."""

import json
from pathlib import Path
from typing import Any

from dragoman.comparison.facts import Facts, Shown, settings_side_by_side
from dragoman.comparison.judging import SHOWN, Judged
from dragoman.contracts import Prediction
from dragoman.data.readers.pairs import SPLITS
from dragoman.experiment import Experiment
from dragoman.inspection.alignment import alignment_svg
from dragoman.inspection.report.answers import is_legible
from dragoman.inspection.report.page import Content, Html, cut, element, fixed, folded, foreign, join, section, table
from dragoman.inspection.report.quality import TEXT, metric_name
from dragoman.inspection.report.series import counted, key
from dragoman.metrics import METRICS
from dragoman.pipeline import ONE_CONTEXT, has_one_context

VALUE = 80  # characters of a setting
FILES = tuple(f"data.{split}" for split in SPLITS)
BETTER, WORSE = "better than the median, alone", "worse, alone"


def alignments_section(facts: Facts) -> Html:
    how = (
        "The same sources answered by every model: down the side what was answered, across the top what was read; the "
        "scale below says how much attention was paid. A model without attention reads the source once, keeps a "
        "summary, and looks nowhere."
    )
    cards = [card(facts, one) for one in facts.shown]
    nothing = element("p", "Every test source is too long to draw.")
    return section("alignments", "Where they looked", how, *(cards or [nothing]))


def card(facts: Facts, shown: Shown) -> Html:
    source, references = facts.climb.items[shown.place]
    figures = [
        figure(facts, place, prediction, prediction.text in references)
        for place, prediction in enumerate(shown.predictions)
    ]
    expected = join([foreign(one, TEXT) for one in references[:3]], " · ")
    return element(
        "div",
        element("h3", shown.why[:1].upper() + shown.why[1:]),
        element("p", "source: ", foreign(source, TEXT), class_="said"),
        element("p", "expected: ", expected, class_="said"),
        element("div", *figures, class_="maps"),
        class_="card",
    )


def figure(facts: Facts, place: int, prediction: Prediction, right: bool) -> Html:
    name = element("b", key(place), " ", element("bdi", facts.names[place]))
    said = element(
        "figcaption", name, element("br"), foreign(prediction.text, TEXT) if prediction.text else "∅", sign(right)
    )
    if prediction.alignment is None:
        inside = element("p", looks_at_nothing(facts.models[place].settings), class_="none")
    elif not is_legible(prediction):
        inside = element("p", "The answer is too long to draw.", class_="none")
    else:
        inside = Html(alignment_svg(prediction))
    return element("figure", said, inside)


def looks_at_nothing(settings: Experiment) -> str:
    """Why there is no alignment."""
    if has_one_context(settings.model):
        return f"{ONE_CONTEXT[:1].upper()}{ONE_CONTEXT[1:]}."
    return "No attention: it looks nowhere."


def sign(right: bool) -> Html:
    return element("span", " ✓", class_="right", title="equal to a reference") if right else Html("")


def alone_section(facts: Facts, judged: Judged) -> Html:
    """What one model can that no other can, and the other way round."""
    if judged.bar is None:
        rule = "An answer is right if it is equal to a reference."
    else:
        rule = (
            f"Few answers equal a reference, so none is called right or wrong: an answer is better if its "
            f"{metric_name(judged.sentence_metric)} is at least as good as the median of all answers of all models "
            f"({fixed(level(judged), 1)}) and better than the worst, else it is worse."
        )
    headings = ("right alone", "wrong alone") if judged.bar is None else (BETTER, WORSE)
    told = (
        "Sources that one model alone gets right, and those that it alone gets wrong."
        if judged.bar is None
        else "Sources that one model alone answers better than the median, and those that it alone answers worse."
    )
    how = (
        f"{told} {rule} The most striking come first: those with the largest distance in "
        f"{metric_name(judged.sentence_metric)} from the mean of the others."
    )
    rows: list[tuple[Content, ...]] = [
        (
            join([key(place), " ", element("bdi", name)]),
            *(counted(len(places), "source") for places in (one.right, one.wrong)),
        )
        for place, (name, one) in enumerate(zip(facts.names, judged.alone, strict=True))
    ]
    parts = [table(("model", *headings), rows, numeric=(1, 2))]
    for place, one in enumerate(judged.alone):
        for what, places in zip(headings, (one.right, one.wrong), strict=True):
            if places:
                title = f"{facts.names[place]}: {what} ({counted(len(places), 'source')})"
                parts += [element("h3", title), *(example(facts, judged, n, place) for n in places[:SHOWN])]
    return section("alone", alone_title(judged), how, *parts)


def alone_title(judged: Judged) -> str:
    return "Right and wrong alone" if judged.bar is None else "Better and worse alone"


def level(judged: Judged) -> float:
    """The bar in the metric's own direction."""
    bar = judged.bar or 0.0
    return bar if METRICS[judged.sentence_metric].higher_is_better else 100 - bar


def example(facts: Facts, judged: Judged, place: int, own: int) -> Html:
    source, references = facts.climb.items[place]
    rows: list[tuple[Content, Content, str]] = [
        ("source", foreign(source, TEXT), ""),
        ("expected", join([foreign(one, TEXT) for one in references[:3]], " · "), ""),
    ]
    for number, one in enumerate(facts.models):
        text = one.answered.answers[place]
        name = join([key(number), " ", element("bdi", facts.names[number])])
        rows.append(
            (name, join([foreign(text, TEXT) if text else "∅", sign(text in references)]), "own" * (number == own))
        )
    body = [
        element("tr", element("th", name, scope="row"), element("td", content), class_=kind)
        for name, content, kind in rows
    ]
    return element("table", element("tbody", *body), class_="example")


def settings_section(facts: Facts) -> Html:
    shared, differing = settings_side_by_side(facts.climb.settings)
    origin = (
        "Every recipe kept all its own settings."
        if facts.climb.request.as_is
        else "Model, objective and regime are those of each recipe; tokenizers, lengths, batches, optimiser, budget, "
        "search and metrics follow from the data and are the same for all, unless a rung of the ladder says otherwise."
    )
    names = list(facts.climb.settings)
    contenders = [*(one.contender for one in facts.models), *(one.contender for one in facts.climb.failed)]
    recipes = {one.name: f"{Path(one.recipe).name}{f', scale {one.scale}' if one.scale else ''}" for one in contenders}
    rows: list[tuple[Content, ...]] = [(element("code", "recipe"), *(cut(recipes[name], VALUE) for name in names))]
    rows += [(element("code", key), *(value_of(key, value) for value in values)) for key, values in differing.items()]
    common = [(element("code", key), value_of(key, value)) for key, value in shared.items()]
    how = f"{origin} Seed, device and machine are the same. “–” is a setting that a part does not have."
    return section(
        "settings",
        "Settings",
        how,
        element("h3", f"What differs ({len(differing)})"),
        table(("setting", *(element("bdi", name) for name in names)), rows),
        folded(f"What all share ({len(shared)})", table(("setting", "value"), common)),
    )


def value_of(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if key in FILES:
        value = names_in(value)
    return cut(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False), VALUE)


def names_in(files: Any) -> Any:
    """Files without their folders; a corpus of two files is a list."""
    return [names_in(one) for one in files] if isinstance(files, list | tuple) else Path(files).name
