"""Run the Python blocks of a page in order, in its folder: python docs/run_page.py docs/soft-dictionary.md"""

import os
import re
import sys
from pathlib import Path
from typing import Any


def blocks(page: Path) -> list[tuple[int, str]]:
    """(line, code) of each Python block."""
    text = page.read_text("utf-8")
    found = re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in found]


def run(page: Path) -> None:
    """As one program; the lines of a traceback are those of the page."""
    names: dict[str, Any] = {}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), names)  # noqa: S102 (our own text)


if __name__ == "__main__":
    [given] = sys.argv[1:]
    place = Path(given).resolve()
    os.chdir(place.parent)
    run(place)
