"""Alignments as a page of HTML that stands alone, and as a piece of one for notebooks."""

import base64
import hashlib
from collections.abc import Iterable
from html import escape

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.summary import sentences
from dragoman.drawing.svg import printable, svg

# Nothing is loaded, and no script runs; pictures stand in the page itself.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = (
    ":root{color-scheme:light dark}"
    "body{margin:2rem;font:16px/1.5 system-ui,sans-serif;background:Canvas;color:CanvasText}"
    "figure{margin:0 0 3rem}figcaption{margin-bottom:.5rem;max-width:70em;overflow-wrap:anywhere}"
)


def figure(
    alignment: Alignment,
    source: str,
    answer: str,
    note: str = "",
    values: bool = False,
    entropies: bool = False,
    numbers: list[str] | None = None,
) -> str:
    """The picture below its caption, `source → answer`, and above its numbers; a wide one scrolls."""
    said = f"{bidirectional(source)} → {bidirectional(answer)}"
    caption = f"<figcaption>{said}{f' <small>({escape(note)})</small>' if note else ''}</figcaption>"
    drawn = f'<div style="overflow-x:auto">{svg(alignment, values=values, entropies=entropies)}</div>'
    below = " · ".join(sentences(alignment) if numbers is None else numbers)
    return f"<figure>{caption}{drawn}<div><small>{escape(below)}</small></div></figure>"


def page(figures: Iterable[str], title: str = "Alignments", style: str = "", script: str = "") -> str:
    """A whole document, with more style where its figures need it; browsers are told to load nothing for it, and to run
    no script but the one given."""
    policy = f"{POLICY}; script-src 'sha256-{digest(script)}'" if script else POLICY
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(figures)
        + (f"\n<script>{script}</script>" if script else "")
        + "\n</body>\n</html>\n"
    )


def digest(script: str) -> str:
    """How a content security policy names a script."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def bidirectional(text: str) -> str:
    """Text whose own direction does not turn what stands around it."""
    return f"<bdi>{escape(printable(text)) or '∅'}</bdi>"
