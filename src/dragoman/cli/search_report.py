"""dragoman evaluate --search-report: what the search costs and what it misses, in a terminal."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.inspection.search_report import Facts
    from dragoman.pipeline import Pipeline


def refuse_alone(**options: object) -> None:
    """Options that mean something for a search report only."""
    for name, value in options.items():
        if value is not None:
            raise ConfigError(f"--{name} is for a search report. Give --search-report PAGE.html as well.")


def report_search(
    pipeline: "Pipeline", run: Path, files: tuple[str, ...], path: Path, widths: str | None, as_json: bool, **asked: Any
) -> None:
    """Answer, search, write the page, and print what matters of it."""
    import json

    from dragoman.cli.progress import metered, warn
    from dragoman.inspection import search_report as reports

    reports.check_page(path)
    chosen = reports.WIDTHS if widths is None else reports.read_widths(widths)
    if widths is not None and list(chosen) != [int(word) for word in widths.split(",")]:
        warn(f"The widths are measured in ascending order: {', '.join(map(str, chosen))}.")
    request = reports.Request(widths=chosen, **{name: value for name, value in asked.items() if value is not None})
    name = run.resolve().parent.name if run.name == "model" else run.resolve().name
    with metered() as tell:
        facts = reports.gather(pipeline, files, request, name, tell)
    beside = reports.write_page(facts, path)
    warn_of(facts, pipeline)
    if as_json:
        print(json.dumps({**reports.as_json(facts), "page": str(path)}, ensure_ascii=False, indent=2))
        return
    print_facts(facts)
    print(f"Page: {path}\nFacts: {beside}")


def warn_of(facts: "Facts", pipeline: "Pipeline") -> None:
    from dragoman.cli.progress import warn
    from dragoman.cli.unknown import warn_of_unknown

    for note in facts.asked.notes:
        warn(note)
    if facts.problems.count:
        warn(f"{facts.problems.count:,} bad lines were left out.\n{facts.problems.summary()}")
    warn_of_unknown(facts.unknown)
    if facts.longer:
        limit = pipeline.settings.limits.source
        warn(f"{facts.longer:,} sources were longer than limits.source = {limit} tokens.")


def print_facts(facts: "Facts") -> None:
    from rich.table import Table

    from dragoman.cli.progress import plain_console
    from dragoman.inspection.search_report import verdict

    table = Table(box=None, pad_edge=False)
    names = [value.name for value in facts.widths[0].metrics]
    for heading in ("width", names[0], "95 % interval", *names[1:], "answers/s", "length"):
        table.add_column(heading, justify="right")
    for one in facts.widths:
        first = one.metrics[0]
        table.add_row(
            f"{one.width:,}",
            f"{first.value:.2f}",
            f"{first.low:.2f} … {first.high:.2f}",
            *(f"{value.value:.2f}" for value in one.metrics[1:]),
            f"{one.answers_per_second:,.1f}",
            f"{one.ratio.value:.3f}",
        )
    console = plain_console()
    console.print(table)
    for sentence in verdict(facts):
        console.print(sentence, soft_wrap=True)
