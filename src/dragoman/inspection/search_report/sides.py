"""The chapters of examples: two answers side by side, with both scores and the reference."""

from collections.abc import Sequence

from dragoman.inspection.report.page import Html, element, fixed, foreign, join, section, whole
from dragoman.inspection.report.quality import TEXT, metric_name
from dragoman.inspection.report.series import counted
from dragoman.inspection.search_report.errors import Found, Sentence
from dragoman.inspection.search_report.examples import SHOWN, Fall
from dragoman.inspection.search_report.facts import Facts

REFERENCES = 3  # of a source that are shown


def falls_section(facts: Facts) -> Html:
    how = (
        f"Sentences for which a wider beam finds an answer that the model ranks higher, and that is worse by "
        f"{metric_name(facts.graded)} (of the sentence, from 0 to 100, higher is better). "
        f"{counted(len(facts.falls), 'sentence')} of {whole(len(facts.items))}"
        + (f"; the {SHOWN} that fall furthest." if len(facts.falls) > SHOWN else ".")
    )
    shown = [fall_table(facts, fall) for fall in facts.falls[:SHOWN]] or [element("p", "There is none.")]
    return section("falls", "Better by its score, worse by the reference", how, *shown)


def fall_table(facts: Facts, fall: Fall) -> Html:
    graded = metric_name(facts.graded)
    sides = zip((fall.narrow, fall.wide), (fall.before, fall.after), fall.goodness, strict=True)
    rows = [
        (
            f"width {whole(width)}",
            said(one.text, f"score {score(one.score)}, {graded} {fixed(good, 1)}"),
        )
        for width, one, good in sides
    ]
    return example(facts, fall.place, rows)


def missed_section(facts: Facts) -> Html:
    count = facts.errors.share(search_error=True).count
    how = (
        f"Search errors of the beam of {whole(facts.own)}: what it answered, and a sequence that scores higher. "
        f"{counted(count, 'sentence')} of {whole(len(facts.errors.sentences))}"
        + (f"; the {SHOWN} with the largest difference." if count > SHOWN else ".")
    )
    shown = [missed_table(facts, one) for one in facts.missed] or [element("p", "There is none.")]
    return section("missed", "What the search missed", how, *shown)


def missed_table(facts: Facts, one: Sentence) -> Html:
    best = one.better[0]
    ended = "" if one.answer.finished else ", never ended"
    proof = ", proved best" if one.proved else ""
    alike = ", the same text in other symbols" if best.text == one.answer.text else ""
    rows = [
        (f"width {whole(facts.own)}", said(one.answer.text, f"score {score(one.answer.score)}{ended}")),
        (finder_of(best), said(best.text, f"score {score(best.score)}{proof}{alike}")),
    ]
    return example(facts, one.place, rows, f"score {score(one.reference_rank)}, of the one that ranks highest")


def finder_of(found: Found) -> str:
    names = {"exact": "exact search", "beam": f"width {whole(found.width or 0)}", "reference": "a reference"}
    return names[found.finder]


def score(value: float) -> str:
    return fixed(value, 3)


def said(text: str, facts: str) -> Html:
    shown = foreign(text, TEXT) if text else element("span", "∅ (the empty answer)", class_="muted")
    return join([shown, element("span", facts, class_="low")])


def example(facts: Facts, place: int, rows: Sequence[tuple[str, Html]], note: str = "") -> Html:
    source, references = facts.items[place]
    expected = join([foreign(one, TEXT) for one in references[:REFERENCES]], " · ")
    every = [
        ("source", foreign(source, TEXT)),
        *rows,
        ("reference", join([expected, *([element("span", note, class_="low")] if note else [])])),
    ]
    body = [element("tr", element("th", name, scope="row"), element("td", content)) for name, content in every]
    return element("table", element("tbody", *body), class_="example")
