"""Several recipes on one's own data, under one budget, on one page."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dragoman.comparison.climbing import Began, Climb, Climbed, Failed, Told, climb
from dragoman.comparison.facts import Facts, as_json, gather, notes_of, verdict
from dragoman.comparison.page import page
from dragoman.comparison.request import Request
from dragoman.preparation.corpora import Preparing, silent
from dragoman.storage import write_atomically
from dragoman.watching import Watch, unwatched

__all__ = ["Began", "Climbed", "Compared", "Facts", "Failed", "Request", "as_json", "compare", "notes_of", "verdict"]


@dataclass(frozen=True)
class Compared:
    """The comparison is over, and the page written."""

    facts: Facts
    page: Path
    json: Path


def compare(request: Request, preparing: Preparing = silent, watch: Watch = unwatched) -> Iterator[Told | Compared]:
    """Train and measure all contenders, and write OUT/report.html and OUT/report.json; what happens is told."""
    for event in climb(request, preparing, watch):
        if not isinstance(event, Climb):
            yield event
            continue
        facts = gather(event, watch)
        write_atomically(event.folder.page, page(facts))
        write_atomically(event.folder.facts, json.dumps(as_json(facts), ensure_ascii=False, indent=2) + "\n")
        yield Compared(facts, event.folder.page, event.folder.facts)
