"""What a search costs and what it misses, as one page."""

import json
from pathlib import Path

from dragoman.inspection.search_report.asking import BUDGET, WIDTHS, Request, check_page, read_widths
from dragoman.inspection.search_report.facts import Facts, as_json, gather
from dragoman.inspection.search_report.page import page
from dragoman.inspection.search_report.verdict import verdict
from dragoman.storage import ESCAPED, write_atomically

__all__ = [
    "BUDGET",
    "WIDTHS",
    "Facts",
    "Request",
    "as_json",
    "check_page",
    "gather",
    "page",
    "read_widths",
    "verdict",
    "write_page",
]


def write_page(facts: Facts, path: Path) -> Path:
    """The page, and its facts beside it; both are made before either is written. Returns where the facts are."""
    text, facts_text = page(facts), json.dumps(as_json(facts), ensure_ascii=False, indent=2) + "\n"
    beside = path.with_suffix(".json")
    write_atomically(beside, facts_text.encode("utf-8", ESCAPED))
    write_atomically(path, text.encode("utf-8", ESCAPED))
    return beside
