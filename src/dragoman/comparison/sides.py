"""The chapters that put answers and settings side by side."""

import json
from pathlib import Path
from typing import Any

from dragoman.comparison.facts import Facts, Shown, settings_side_by_side
from dragoman.comparison.judging import SHOWN, Judged
from dragoman.comparison.kind import Item, counted_items, several
from dragoman.data.readers.pairs import SPLITS
from dragoman.inspection.report.page import Content, Html, cut, element, fixed, folded, join, section, table
from dragoman.inspection.report.series import key

VALUE = 80  # characters of a setting
FILES = tuple(f"data.{split}" for split in SPLITS)
BETTER, WORSE = "better than the median, alone", "worse, alone"


def looks_section(facts: Facts) -> Html:
    """The same few sources, in detail, by every model."""
    kind = facts.climb.kind
    cards = [card(facts, one) for one in facts.shown]
    nothing = element("p", f"Every test {kind.words.item} is too long to draw.")
    legend = kind.legend([look for one in facts.shown for look in one.looks])
    return section("alignments", kind.words.look_title, kind.words.look, *legend, *(cards or [nothing]))


def card(facts: Facts, shown: Shown) -> Html:
    item = facts.climb.items[shown.place]
    figures = [figure(facts, place, look, item) for place, look in enumerate(shown.looks)]
    return element(
        "div",
        element("h3", shown.why[:1].upper() + shown.why[1:]),
        *facts.climb.kind.given(item),
        element("div", *figures, class_="maps"),
        class_="card",
    )


def figure(facts: Facts, place: int, look: Any, item: Item) -> Html:
    name, kind = element("b", key(place), " ", element("bdi", facts.names[place])), facts.climb.kind
    said = element("figcaption", name, element("br"), kind.said(look, item))
    return element("figure", said, kind.drawn(look, item, facts.models[place].settings))


def alone_section(facts: Facts, judged: Judged) -> Html:
    """What one model can that no other can, and the other way round."""
    if judged.bar is None:
        rule = "An answer is right if it is equal to a reference."
    else:
        rule = (
            f"Few answers equal a reference, so none is called right or wrong: an answer is better if its "
            f"{judged.graded.title} is at least as good as the median of all answers of all models "
            f"({level(judged)}) and better than the worst, else it is worse."
        )
    headings = ("right alone", "wrong alone") if judged.bar is None else (BETTER, WORSE)
    noun = facts.climb.kind.words.item
    many = several(noun)
    told = (
        f"{many[:1].upper()}{many[1:]} that one model alone gets right, and those that it alone gets wrong."
        if judged.bar is None
        else f"{many[:1].upper()}{many[1:]} that one model alone answers better than the median, and those that it "
        "alone answers worse."
    )
    how = (
        f"{told} {rule} The most striking come first: those with the largest distance in "
        f"{judged.graded.title} from the mean of the others."
    )
    rows: list[tuple[Content, ...]] = [
        (
            join([key(place), " ", element("bdi", name)]),
            *(counted_items(len(places), noun) for places in (one.right, one.wrong)),
        )
        for place, (name, one) in enumerate(zip(facts.names, judged.alone, strict=True))
    ]
    parts = [table(("model", *headings), rows, numeric=(1, 2))]
    for place, one in enumerate(judged.alone):
        for what, places in zip(headings, (one.right, one.wrong), strict=True):
            if places:
                title = f"{facts.names[place]}: {what} ({counted_items(len(places), noun)})"
                parts += [element("h3", title), *(example(facts, judged, n, place) for n in places[:SHOWN])]
    return section("alone", alone_title(judged), how, *parts)


def alone_title(judged: Judged) -> str:
    return "Right and wrong alone" if judged.bar is None else "Better and worse alone"


def level(judged: Judged) -> str:
    """The bar in the metric's own direction."""
    value = judged.graded.level(judged.bar or 0.0)
    return fixed(value, 1) if judged.graded.top is not None else judged.graded.shown(value)


def example(facts: Facts, judged: Judged, place: int, own: int) -> Html:
    item, kind = facts.climb.items[place], facts.climb.kind
    rows: list[tuple[Content, Content, str]] = [
        (kind.words.item, kind.source(item), ""),
        ("expected", kind.truths(item), ""),
    ]
    for number, one in enumerate(facts.models):
        name = join([key(number), " ", element("bdi", facts.names[number])])
        rows.append((name, kind.cells(item, one.answered.answers[place]), "own" * (number == own)))
    body = [
        element("tr", element("th", name, scope="row"), element("td", content), class_=kind_)
        for name, content, kind_ in rows
    ]
    return element("table", element("tbody", *body), class_="example")


def settings_section(facts: Facts) -> Html:
    shared, differing = settings_side_by_side(facts.climb.settings)
    origin = (
        "Every recipe kept all its own settings."
        if facts.climb.request.as_is or facts.climb.kind.as_is
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
