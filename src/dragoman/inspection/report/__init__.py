"""A run as one HTML file that needs nothing else: how good the model is, how it learned, and what goes wrong."""

from pathlib import Path

from dragoman.inspection.report.contents import page
from dragoman.inspection.report.facts import Facts, as_json, gather
from dragoman.inspection.report.verdict import verdict
from dragoman.runs import Run
from dragoman.storage import write_atomically
from dragoman.watching import Watch, unwatched

__all__ = ["Facts", "as_json", "gather", "page", "verdict", "write_page", "write_report"]


def write_report(
    run: Run,
    on: tuple[str, ...] = (),
    lines: int = 500,
    out: Path | None = None,
    told: Watch = unwatched,
    device: str = "auto",
) -> Path:
    """Measure on at most `lines` sources of `on`, else of the run's own data, and write RUN/report.html."""
    return write_page(run, gather(run, on, lines, told, device), out)


def write_page(run: Run, facts: Facts, out: Path | None = None) -> Path:
    path = out or run.path / "report.html"
    write_atomically(path, page(facts))
    return path
