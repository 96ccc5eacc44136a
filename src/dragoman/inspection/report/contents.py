"""The report as one page: its head, and its chapters in order."""

from collections.abc import Sequence
from pathlib import Path

from dragoman.drawing import overlay
from dragoman.drawing.heads_grid import grid_style
from dragoman.inspection.report.answers import Sample, Tested
from dragoman.inspection.report.baseline_chapter import baselines_section
from dragoman.inspection.report.caption_chapters import (
    caption_metrics_section,
    looks_section,
    pictures_section,
    wrong_captions_section,
)
from dragoman.inspection.report.captions import TestedCaptions
from dragoman.inspection.report.drawn import Drawn
from dragoman.inspection.report.facts import Facts, Findings, Model
from dragoman.inspection.report.frame_chapters import STYLE as STRIP_STYLE
from dragoman.inspection.report.frame_chapters import strips_section
from dragoman.inspection.report.heads import heads_section
from dragoman.inspection.report.history import curves_section, data_section, settings_section
from dragoman.inspection.report.label_chapters import (
    classes_section,
    confusion_section,
    label_lengths_section,
    label_metrics_section,
    scatter_section,
    wrong_section,
)
from dragoman.inspection.report.labels import TestedLabels
from dragoman.inspection.report.page import (
    Html,
    cut,
    document,
    element,
    join,
    number,
    whole,
)
from dragoman.inspection.report.pretrained import TestedReading
from dragoman.inspection.report.pretrained_chapters import (
    gaps_section,
    reading_metrics_section,
)
from dragoman.inspection.report.quality import (
    alignments_section,
    confusions_section,
    faults_section,
    lengths_section,
    metric_name,
    metrics_section,
    worst_section,
)
from dragoman.inspection.report.series import palette_style
from dragoman.inspection.report.span_chapters import (
    CUT_DOCUMENTS,
    span_lengths_section,
    span_metrics_section,
    wrong_answers_section,
)
from dragoman.inspection.report.spans import TestedSpans
from dragoman.inspection.report.talks import STYLE as TALKS
from dragoman.inspection.report.talks import Talk, talks_section
from dragoman.inspection.report.text_chapters import (
    continued_section,
    hard_section,
    places_section,
    text_metrics_section,
)
from dragoman.inspection.report.texts import TestedText
from dragoman.inspection.report.track_chapters import STYLE as TRACK_STYLE
from dragoman.inspection.report.track_chapters import (
    futures_section,
    horizon_section,
    track_metrics_section,
)
from dragoman.inspection.report.tracks import TestedTracks
from dragoman.inspection.report.vector_map import vectors_section
from dragoman.inspection.report.verdict import DATA, verdict

OVERLAYS = overlay.STYLE + (
    ".pictures{display:grid;grid-template-columns:repeat(auto-fill,minmax(10rem,1fr));gap:1.25rem}"
    ".pictures img{width:9rem;height:9rem}.pictures p{margin:.25rem 0}"
)
STYLE = Path(__file__).with_name("style.css")
UNITS = {
    "pairs": "pairs",
    "conversations": "turns",
    "texts": "windows",
    "tagged": "sentences",
    "questions": "questions",
    "captions": "captions",
    "frames": "sequences",
    "clips": "clips",
    "tracks": "pasts with futures",
}  # of what was learned from
SAMPLED = {
    "pairs": "sources",
    "conversations": "turns",
    "labelled": "texts",
    "texts": "windows",
    "tagged": "sentences",
    "questions": "questions",
    "captions": "pictures",
    "frames": "sequences",
    "clips": "clips",
    "tracks": "futures",
}
COLOURED = {
    "labels": " Colour and shape are the true label; what was labelled wrongly has a ring.",
    "numbers": " Colour is the true number.",
    "tags": " A sentence with a wrong tag has a ring.",
}
REASONS = {"steps": "the number of steps", "epochs": "the number of epochs", "minutes": "the number of minutes"}


Chapters = list[tuple[str, Html]]  # each with its name in the list at the top


def page(facts: Facts) -> str:
    """The whole HTML file."""
    measured = measured_chapters(facts)
    standing = facts.standing
    beside = [] if standing is None or standing.best is None else [("Baselines", baselines_section(standing))]
    chapters = [*measured[:1], *beside, ("Learning", curves_section(facts)), *measured[1:]]
    chapters += [("Data", data_section(facts)), ("Settings", settings_section(facts))]
    sections = [chapter for _, chapter in chapters]
    links = join([link(title, chapter) for title, chapter in chapters], " · ")
    name = cut(facts.record.name, 200)
    foot = element(
        "footer", f"Written by dragoman {facts.dragoman} on {facts.made_at}. This file needs nothing else to be read."
    )
    body = element("main", head(facts), element("nav", links, aria_label="chapters"), *sections, foot)
    coloured = facts.labelled is not None or facts.reading is not None
    style = STYLE.read_text("utf-8") + (palette_style() if coloured else "")
    style += OVERLAYS if facts.captions is not None else ""
    style += TRACK_STYLE if facts.tracks is not None else ""
    tested = facts.tested or facts.labelled or facts.text or facts.reading or facts.spans or facts.tracks
    if tested is not None and tested.headed is not None:
        style += grid_style()
    if facts.talks:
        style += TALKS
    style += STRIP_STYLE if facts.labelled is not None and facts.labelled.strips else ""
    return document(f"{name} · dragoman report", style, body)


def measured_chapters(facts: Facts) -> Chapters:
    """What was measured, its numbers first; learning stands behind them."""
    if facts.tested is not None and facts.findings is not None:
        if facts.talks:
            return talk_chapters(facts.tested, facts.findings, facts.talks)
        return answer_chapters(facts.tested, facts.findings)
    if facts.labelled is not None:
        return label_chapters(facts.labelled)
    if facts.reading is not None:
        return reading_chapters(facts.reading)
    if facts.spans is not None:
        return span_chapters(facts.spans)
    if facts.captions is not None:
        return caption_chapters(facts.captions)
    if facts.tracks is not None:
        return track_chapters(facts.tracks)
    return [] if facts.text is None else text_chapters(facts.text)


def answer_chapters(tested: Tested, findings: Findings) -> Chapters:
    return [
        ("Metrics", metrics_section(tested)),
        *([("By length", lengths_section(tested))] if tested.buckets else []),
        ("Where it looked", alignments_section(tested)),
        *([("Heads", heads_section(tested.headed))] if tested.headed is not None else []),
        ("Worst errors", worst_section(tested, findings)),
        ("Confusions", confusions_section(tested, findings)),
        ("Failures", faults_section(tested, findings)),
    ]


def talk_chapters(tested: Tested, findings: Findings, talks: Sequence[Talk]) -> Chapters:
    """There are many good answers to a turn, so that others than the true one are no errors."""
    return [
        ("Metrics", metrics_section(tested)),
        ("Conversations", talks_section(talks)),
        ("Where it looked", alignments_section(tested)),
        *([("Heads", heads_section(tested.headed))] if tested.headed is not None else []),
        ("Failures", faults_section(tested, findings)),
    ]


def label_chapters(tested: TestedLabels) -> Chapters:
    chapters = [("Metrics", label_metrics_section(tested))]
    if tested.what == "numbers":
        chapters.append(("True and said", scatter_section(tested)))
    if tested.classes is not None:
        chapters.append(("Every label", classes_section(tested, tested.classes)))
        chapters.append(("Confusions", confusion_section(tested.classes)))
    if tested.buckets:
        chapters.append(("By length", label_lengths_section(tested)))
    if tested.strips:
        chapters.append(("Over time", strips_section(tested)))
    if not (tested.strips and tested.what == "tags"):
        chapters.append(("Worst errors", wrong_section(tested)))
    if tested.vectors is not None:
        chapters.append(("Map", vectors_section(tested.vectors, COLOURED[tested.what])))
    if tested.headed is not None:
        chapters.append(("Heads", heads_section(tested.headed)))
    return chapters


def reading_chapters(tested: TestedReading) -> Chapters:
    return [
        ("Metrics", reading_metrics_section(tested)),
        *([("Gaps", gaps_section(tested))] if tested.gaps else []),
        *([("Map", vectors_section(tested.vectors, ""))] if tested.vectors is not None else []),
        *([("Heads", heads_section(tested.headed))] if tested.headed is not None else []),
    ]


def span_chapters(tested: TestedSpans) -> Chapters:
    return [
        ("Metrics", span_metrics_section(tested)),
        *([("By length", span_lengths_section(tested))] if tested.buckets else []),
        ("Worst errors", wrong_answers_section(tested)),
        *([("Heads", heads_section(tested.headed, CUT_DOCUMENTS))] if tested.headed is not None else []),
    ]


def caption_chapters(tested: TestedCaptions) -> Chapters:
    return [
        ("Metrics", caption_metrics_section(tested)),
        ("Pictures", pictures_section(tested)),
        ("Where it looked", looks_section(tested)),
        ("Worst errors", wrong_captions_section(tested)),
    ]


def track_chapters(tested: TestedTracks) -> Chapters:
    return [
        ("Metrics", track_metrics_section(tested)),
        ("By horizon", horizon_section(tested)),
        ("Futures", futures_section(tested)),
    ]


def text_chapters(tested: TestedText) -> Chapters:
    return [
        ("Metrics", text_metrics_section(tested)),
        ("By place", places_section(tested)),
        ("How it goes on", continued_section(tested)),
        ("What is hard", hard_section(tested)),
        *([("Heads", heads_section(tested.headed))] if tested.headed is not None else []),
    ]


def link(title: str, chapter: Html) -> Html:
    name = chapter.text.split('id="', 1)[1].split('"', 1)[0]
    return element("a", title, href=f"#{name}")


def head(facts: Facts) -> Html:
    first, *others = verdict(facts)
    said = [element("p", sentence) for sentence in (first, " ".join(others)) if sentence]
    listed = [piece for name, value in about(facts) for piece in (element("dt", name), element("dd", value))]
    notes = [element("p", note, class_="note") for note in notes_of(facts)]
    return element(
        "header",
        element("p", f"dragoman report · {facts.made_at}", class_="kicker"),
        element("h1", element("bdi", cut(facts.record.name, 200))),
        element("div", *said, class_="verdict"),
        *notes,
        element("dl", *listed),
    )


def notes_of(facts: Facts) -> list[str]:
    notes = []
    sample = facts.drawn
    if sample is not None and sample.changed:
        what = DATA[sample.split]
        notes.append(f"The {what} data has changed since the run began: these numbers are those of the new data.")
    if sample is not None and sample.bad_lines:
        notes.append(f"{whole(sample.bad_lines)} bad lines of the {DATA[sample.split]} data were left out.")
    if not facts.record.status.get("finished"):
        notes.append("The training is unfinished: the same command goes on with it.")
    return notes


def about(facts: Facts) -> list[tuple[str, str]]:
    """What the run is, a line each."""
    record, found = facts.record, []
    if recipe := given_recipe(record.given):
        found.append(("recipe", recipe))
    if facts.model is not None:
        kind = str(record.settings.get("model", {}).get("kind", "model")).replace("_", "-")
        symbols = symbols_of(facts.model, kind)
        found.append(("model", f"{kind}, {whole(facts.model.parameters)} parameters, {symbols}"))
    train = record.data.get("train")
    if isinstance(train, dict):
        pairs = (train.get("counts") or {}).get("pairs")
        noun = UNITS.get(record.kind, "examples")
        counted = f"{whole(pairs)} {noun} from " if isinstance(pairs, int) else ""
        found.append(("trained on", counted + cut(", ".join(map(str, train.get("files", ()))), 300)))
    if facts.drawn is not None:
        found.append(("measured on", measured_on(facts.drawn, noun_of(facts))))
    found.append(("training", training_line(facts)))
    if "step" in record.best:
        value = record.best.get("value")
        monitored = f", {metric_name(record.best.get('monitor', ''))} {number(float(value))}" if value else ""
        found.append(("best model", f"step {whole(float(record.best['step']))}{monitored}"))
    return found


def noun_of(facts: Facts) -> str:
    """What was measured one by one."""
    return "examples" if facts.reading is not None else SAMPLED.get(facts.record.kind, "examples")


def symbols_of(model: Model, kind: str) -> str:
    """What it reads and what it may say."""
    if kind == "encoder-decoder":
        if not model.source_symbols:
            return f"{whole(model.target_symbols)} target symbols"
        return f"{whole(model.source_symbols)} source and {whole(model.target_symbols)} target symbols"
    if kind == "forecaster":
        return "of tracks"
    said = {0: "", 1: ", a number"}.get(model.labels, f", {whole(model.labels)} labels")
    return f"{whole(model.source_symbols)} symbols{said}" if model.source_symbols else said.removeprefix(", ")


def measured_on(sample: Sample | Drawn, noun: str) -> str:
    kind = {
        "given": "given for this report",
        "test": "the run's test data, by which nothing was chosen",
        "valid": "the run's validation data, by which the best model was chosen",
    }[sample.split]
    size = whole(sample.count)
    size = size if sample.count == sample.total else f"{size} of {whole(sample.total)}"
    return f"{size} {noun} of {cut(', '.join(sample.files), 300)} ({kind})"


def training_line(facts: Facts) -> str:
    status = facts.record.status
    step = status.get("step")
    steps = f"{whole(step if isinstance(step, int) else facts.curves.last_step)} steps"
    reason = status.get("finished")
    if not reason:
        return f"{steps} so far, unfinished"
    return f"{steps}, ended by {REASONS.get(str(reason), str(reason))} on {status.get('at', 'an unknown day')}"


def given_recipe(given: str) -> str:
    """Recipe and scale from the first lines of given.toml."""
    values = dict(line.split(" = ", 1) for line in given.splitlines()[:2] if " = " in line)
    recipe, scale = (values.get(name, "").strip('"') for name in ("recipe", "scale"))
    return f"{recipe}, scale {scale}" if recipe and scale else recipe
