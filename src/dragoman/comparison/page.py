"""The comparison as one page: its head, and its chapters in order."""

from collections.abc import Iterable
from pathlib import Path

from dragoman.comparison.facts import Facts, notes_of, verdict
from dragoman.comparison.kind import several
from dragoman.comparison.sides import alone_section, alone_title, looks_section, settings_section
from dragoman.comparison.tables import cost_section, curves_section, lengths_section, metrics_section
from dragoman.inspection.report.contents import STYLE, link
from dragoman.inspection.report.page import Html, cut, document, element, join, whole
from dragoman.inspection.report.series import counted, series_style
from dragoman.runs import LIMITS

OWN_STYLE = Path(__file__).with_name("style.css")


def page(facts: Facts) -> str:
    """The whole HTML file."""
    chapters: list[tuple[str, Html]] = []
    if facts.judged is not None:
        chapters += [
            ("Quality", metrics_section(facts, facts.judged)),
            ("Cost", cost_section(facts)),
            (by_what(facts), lengths_section(facts, facts.judged)),
            ("Learning", curves_section(facts)),
            (facts.climb.kind.words.look_title, looks_section(facts)),
        ]
        if len(facts.models) > 1:
            chapters.append((alone_title(facts.judged), alone_section(facts, facts.judged)))
    chapters.append(("Settings", settings_section(facts)))
    links = join([link(title, chapter) for title, chapter in chapters], " · ")
    foot = element(
        "footer", f"Written by dragoman {facts.dragoman} on {facts.made_at}. This file needs nothing else to be read."
    )
    sections = [chapter for _, chapter in chapters]
    body = element("main", head(facts), element("nav", links, aria_label="chapters"), *sections, foot)
    style = STYLE.read_text("utf-8") + series_style() + OWN_STYLE.read_text("utf-8") + facts.climb.kind.style
    return document(f"{title_of(facts)} · dragoman compare", style, body)


def by_what(facts: Facts) -> str:
    return facts.climb.kind.words.by_title.removeprefix("Quality ").capitalize()


def title_of(facts: Facts) -> str:
    """The folder's own name; where it lies is nobody else's business."""
    return cut(facts.climb.folder.path.resolve().name, 200)


def file_names(files: Iterable[str]) -> str:
    return cut(", ".join(Path(file).name for file in files), 300)


def head(facts: Facts) -> Html:
    first, *others = verdict(facts)
    said = [element("p", sentence) for sentence in (first, " ".join(others)) if sentence]
    listed = [piece for name, value in about(facts) for piece in (element("dt", name), element("dd", value))]
    return element(
        "header",
        element("p", f"dragoman compare · {facts.made_at}", class_="kicker"),
        element("h1", element("bdi", title_of(facts))),
        element("div", *said, class_="verdict"),
        *(element("p", note, class_="note") for note in notes_of(facts)),
        element("dl", *listed),
    )


def about(facts: Facts) -> list[tuple[str, str]]:
    """What was done, a line each."""
    climb = facts.climb
    data, references = climb.data, sum(len(targets) for _, targets in climb.items)
    size = (
        whole(len(climb.items))
        if len(climb.items) == climb.sources
        else f"{whole(len(climb.items))} of {whole(climb.sources)}"
    )
    words = climb.kind.words
    key = "the source" if climb.kind.name == "pairs" else f"what tells {climb.kind.unit} apart"
    part = f"held out of the training files by the hash of {key}" if climb.held_out else "files of their own"
    valid = "held out of the training files" if data.holds_out else file_names(data.files("valid")) or "nothing"
    known = f" with {counted(references, 'reference')}" if climb.kind.scores is not None else ""
    return [
        ("models", counted(len(climb.settings), "model") + f", {whole(len(climb.failed))} failed" * bool(climb.failed)),
        ("budget", budget(facts)),
        ("trained on", file_names(data.files("train"))),
        ("validated on", valid),
        ("tested on", f"{size} {several(words.item)}{known}, {part}; no model was chosen by them"),
    ]


def budget(facts: Facts) -> str:
    """The limit that all share, or that each has its own."""
    found = {
        ", ".join(f"{getattr(one.training, name):g} {name}" for name in LIMITS if getattr(one.training, name))
        for one in facts.climb.settings.values()
    }
    return f"{found.pop()} each" if len(found) == 1 else "each as its recipe says"
