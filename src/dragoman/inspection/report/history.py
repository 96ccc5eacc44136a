"""The chapters on where a model comes from: its training, its data, its settings."""

import json
import shlex
from typing import Any

from dragoman.inspection.report.charts import Line, histogram, line_chart
from dragoman.inspection.report.curves import Curves, is_number
from dragoman.inspection.report.facts import Facts
from dragoman.inspection.report.page import (
    Content,
    Html,
    Number,
    cut,
    element,
    folded,
    foreign,
    join,
    lines_of,
    long_text,
    number,
    percent,
    section,
    table,
    whole,
)
from dragoman.inspection.report.quality import metric_name

SETTINGS = 40_000  # characters of a settings file
COMMAND = 8_000
LISTED = 20  # files, findings
PLACES = 5  # lines that are named for a finding
BARS = 200  # of a histogram
SMALL = ("rate", "gradient_norm", "tokens_per_second", "truth", "baseline")
BOTH = ("longest_source", "longest_target")  # side by side
LOST = {"too long": ("dropped_long", "truncated"), "bad lines": ("bad",)}
COUNTED: dict[str, dict[str, tuple[str, ...]]] = {  # headings of the table of data, and the counts below them
    "pairs": {
        "pairs": ("pairs",),
        "source tokens": ("source_tokens",),
        "target tokens": ("target_tokens",),
        "longest": BOTH,
        **LOST,
        "unknown": ("unknown_source", "unknown_target"),
    },
    "conversations": {
        "turns to say": ("pairs",),
        "source tokens": ("source_tokens",),
        "target tokens": ("target_tokens",),
        "longest": BOTH,
        **LOST,
        "unknown": ("unknown_source", "unknown_target"),
    },
    "texts": {
        "documents": ("documents",),
        "characters": ("characters",),
        "symbols": ("target_tokens",),
        "windows": ("pairs",),
        "bad lines": ("bad",),
        "unknown": ("unknown_target",),
    },
    "labelled": {
        "examples": ("pairs",),
        "tokens": ("source_tokens",),
        "longest": ("longest_source",),
        **LOST,
        "unknown": ("unknown_source",),
    },
    "tagged": {
        "sentences": ("pairs",),
        "tokens": ("source_tokens",),
        "tags": ("target_tokens",),
        "longest": ("longest_source",),
        **LOST,
        "unknown": ("unknown_source",),
    },
}
LEARNED = {
    "labelled": "labels",
    "tagged": "tags",
    "texts": "symbols",
    "tracks": "steps",
    "frames": "labels",
    "clips": "labels",
}  # what counts as a target token
KNOWN = ("loss", "epoch", "seconds")  # of the log, beside values that have a chart of their own
OTHERS = 8  # of the small charts
SMALL_TITLES = {
    "rate": "learning rate",
    "gradient_norm": "norm of the gradient",
    "truth": "share of true inputs",
    "baseline": "squared error of the foreseen reward",
}


def curves_section(facts: Facts) -> Html:
    curves = facts.curves
    smoothing = facts.record.settings.get("objective", {}).get("smoothing")
    smoothed = f" and label smoothing of {number(smoothing)}" if is_number(smoothing) and smoothing else ""
    how = (
        f"Over {whole(curves.last_step)} steps. The training loss is a mean since the record before it, with dropout"
        f"{smoothed}, so it may lie above the validation loss. A validation loss that rises while the other falls is "
        "overfitting."
    )
    losses = [
        training_line(curves, "loss", "training loss") if "loss" in curves.training else None,
        Line("validation loss", curves.validation["loss"], "two", dots=True) if "loss" in curves.validation else None,
    ]
    lines = [line for line in losses if line is not None]
    if not lines:
        return section("learning", "Learning", how, element("p", "Nothing has been logged yet."))
    if not any(map(drawable, lines)):
        said = "; ".join(
            f"{line.name} {number(line.points[-1][1])} at step {whole(line.points[-1][0])}" for line in lines
        )
        return section("learning", "Learning", how, element("p", f"There are too few records for a curve: {said}."))
    best = curves.best_step
    title = f"Loss over steps{f'; the best model is that of step {whole(best)}' if best else ''}"
    faint = (
        " Curves of many records are means; the faint ones behind them show least and greatest." if curves.means else ""
    )
    figure = element("figure", line_chart(title, lines, best), element("figcaption", f"{title}.{faint}"))
    return section(
        "learning", "Learning", how, figure, element("div", *small_charts(curves, facts.record.kind), class_="pair")
    )


def drawable(line: Line) -> bool:
    """One point is no curve."""
    return len(line.points) > 1


def training_line(curves: Curves, name: str, title: str) -> Line:
    """A long log as means over its extremes, a short one as it is."""
    points, means = curves.training[name], curves.means.get(name)
    return Line(title, points) if means is None else Line(title, means, extremes=points)


def small_charts(curves: Curves, kind: str = "pairs") -> list[Html]:
    """Losses by their names and other values of the validation, then what tells a healthy training."""
    named = [name for name in curves.training if name not in KNOWN and name not in SMALL]
    others = list(dict.fromkeys([*named, *(name for name in curves.validation if name != "loss")]))[:OTHERS]
    charts = [(metric_name(name), lines_named(curves, name)) for name in others]
    titles = SMALL_TITLES | {"tokens_per_second": f"{LEARNED.get(kind, 'target tokens')} a second"}
    charts += [(titles[name], [training_line(curves, name, titles[name])]) for name in SMALL if name in curves.training]
    charts = [(title, lines) for title, lines in charts if any(map(drawable, lines))]
    return [
        element("figure", line_chart(f"{title} over steps", lines, curves.best_step, width=350, height=180))
        for title, lines in charts
    ]


def lines_named(curves: Curves, name: str) -> list[Line]:
    """A value that training, validation or both have told."""
    lines = [training_line(curves, name, metric_name(name))] if name in curves.training else []
    if name in curves.validation:
        said = f"validation: {metric_name(name)}" if not lines else "validation"
        lines.append(Line(said, curves.validation[name], "two", dots=True))
    return lines


def data_section(facts: Facts) -> Html:
    how = (
        "What was learned from and what was validated on, as it was when the run began. Those that are too long are "
        "left out or cut, bad lines are left out; unknown symbols are outside the vocabulary."
    )
    record = facts.record.data
    splits = [name for name in ("train", "valid") if isinstance(record.get(name), dict)]
    if not splits:
        return section("data", "Data", how, element("p", "The run has no record of its data."))
    summaries = record.get("summary") if isinstance(record.get("summary"), dict) else {}
    columns = COUNTED.get(facts.record.kind, COUNTED["labelled"])
    rows = [(element("b", name), *split_row(record[name], columns)) for name in splits]
    headings = ("", "files", *columns)
    parts = [table(headings, rows, numeric=range(2, len(headings)))]
    for name in splits:
        summary = (summaries or {}).get(name)
        parts += summary_parts(name, summary) if isinstance(summary, dict) else []
    return section("data", "Data", how, *parts)


def split_row(split: dict[str, Any], columns: dict[str, tuple[str, ...]]) -> tuple[Content, ...]:
    """Counts that an older run does not have are left open."""
    counts = split.get("counts") if isinstance(split.get("counts"), dict) else {}

    def count(*names: str) -> str:
        found = [counts[name] for name in names if is_number((counts or {}).get(name))] if counts else []
        return whole(sum(found)) if found else "–"

    files = [foreign(str(file), 200) for file in split.get("files", ())[:LISTED]]
    longest = f"{count('longest_source')} / {count('longest_target')}"
    counted = [longest if names == BOTH else count(*names) for names in columns.values()]
    return join(files, ", "), *counted


def summary_parts(name: str, summary: dict[str, Any]) -> list[Html]:
    parts: list[Html] = []
    drawn = list(length_charts(name, summary.get("lengths")))
    if drawn:
        parts.append(element("div", *drawn, class_="pair"))
    coverage = summary.get("coverage")
    if isinstance(coverage, dict) and any(is_number(value) for value in coverage.values()):
        said = ", ".join(
            f"{percent(value, 1, 2)} of the {side}" for side, value in coverage.items() if is_number(value)
        )
        parts.append(element("p", f"{name}: the vocabularies cover {said}."))
    filtered = summary.get("filtered")
    if isinstance(filtered, dict) and filtered:
        said = ", ".join(
            f"{kind} {whole(count)}" for kind, count in list(filtered.items())[:LISTED] if is_number(count)
        )
        parts.append(element("p", f"{name}: filtered out: {said}."))
    if found := [one for one in summary.get("findings") or () if isinstance(one, dict)]:
        rows = [finding_row(one) for one in found[:LISTED]]
        parts += [element("h3", f"Found in {name}"), table(("what", "lines", "share", "where"), rows, numeric=(1, 2))]
    return parts


def finding_row(finding: dict[str, Any]) -> tuple[Content, ...]:
    count, share = finding.get("count", ""), finding.get("share", "")
    places = ", ".join(cut(str(place), 200) for place in (finding.get("places") or ())[:PLACES])
    return (
        str(finding.get("name", "")),
        whole(count) if is_number(count) else "–",
        percent(share, 1, 2) if is_number(share) else "–",
        foreign(places),
    )


def length_charts(name: str, lengths: Any) -> list[Html]:
    """Histograms of lengths, a side and a unit each."""
    sides = lengths if isinstance(lengths, dict) else {}
    found = [
        (f"{name}: {side} {unit}", shape)
        for side, units in sides.items()
        if isinstance(units, dict)
        for unit, shape in units.items()
        if is_histogram(shape)
    ]
    return [
        element("figure", histogram(title, shape["edges"], shape["counts"], marks_of(shape)))
        for title, shape in found[:8]
    ]


def is_histogram(shape: Any) -> bool:
    if not isinstance(shape, dict):
        return False
    edges, counts = shape.get("edges"), shape.get("counts")
    if not isinstance(edges, list) or not isinstance(counts, list) or not 0 < len(counts) <= BARS:
        return False
    return len(edges) == len(counts) + 1 and all(map(is_number, [*edges, *counts]))


def marks_of(shape: dict[str, Any]) -> list[tuple[str, Number]]:
    names = {"median": "median", "p99": "99 % below"}
    return [(said, shape[name]) for name, said in names.items() if is_number(shape.get(name))]


def settings_section(facts: Facts) -> Html:
    record = facts.record
    how = (
        "The command that trains the same model again, what was given, what that makes with all defaults, the machine."
    )
    command = record.environment.get("command")
    parts = []
    if isinstance(command, list):
        parts += [
            element("h3", "To repeat it"),
            element("pre", long_text(shlex.join(map(str, command)), COMMAND)),
        ]
    if record.given:
        parts.append(folded("Settings as given (given.toml)", element("pre", lines_of(record.given, SETTINGS))))
    parts.append(folded("All settings (config.toml)", element("pre", lines_of(record.config, SETTINGS))))
    rows = [
        (cut(name, 100), foreign(value if isinstance(value, str) else json.dumps(value), 300))
        for name, value in list(record.environment.items())[:40]
        if name != "command"
    ]
    if rows:
        parts += [element("h3", "Environment of the training"), table(("", ""), rows)]
    return section("settings", "Settings and environment", how, *parts)
