"""Pieces of HTML: whatever is not HTML already is escaped, made visible and cut to a bounded length on its way in."""

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dragoman.data.tokenizers.conversation import shown
from dragoman.drawing.page import POLICY
from dragoman.metrics.significance import written_p

LONGEST = 1_000  # characters of any text that comes from outside
THIN = "\u202f"  # a narrow space, and never the end of a line
NO_BREAK = "\u00a0"
KEPT = f"\u200c\u200d{THIN}"  # joiners are invisible, but words of several scripts and many pictures need them
VOID = ("meta", "br", "img")


@dataclass(frozen=True)
class Html:
    """Text that is HTML already."""

    text: str


Content = Html | str
Number = int | float


def element(name: str, /, *children: Content, **attributes: str | Number) -> Html:
    """element("td", "a < b", class_="n") is <td class="n">a &lt; b</td>; stroke_width is stroke-width."""
    given = "".join(f' {key_of(key)}="{value_of(value)}"' for key, value in attributes.items() if value != "")
    inside = "".join(text_of(child) for child in children)
    return Html(f"<{name}{given}>" if name in VOID else f"<{name}{given}>{inside}</{name}>")


def key_of(name: str) -> str:
    return {"viewBox": name}.get(name, name.strip("_").replace("_", "-"))


def value_of(value: str | Number) -> str:
    return html.escape(visible(value)) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text_of(child: Content) -> str:
    return child.text if isinstance(child, Html) else html.escape(cut(visible(child)), quote=False)


def join(pieces: Iterable[Content], between: str = "") -> Html:
    return Html(html.escape(between).join(text_of(piece) for piece in pieces))


def visible(text: str) -> str:
    """Nothing that could turn the line around, or that no one could see; wide and odd spaces are spaces."""
    if text.isprintable():
        return text
    text = shown(text)
    return "".join(
        symbol if symbol.isprintable() or symbol in KEPT else " " if symbol.isspace() else "�" for symbol in text
    )


def cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def foreign(text: str, longest: int = LONGEST) -> Html:
    """Text of a corpus: its direction is its own and turns nothing around it."""
    return element("bdi", cut(text, longest))


def long_text(text: str, longest: int) -> Html:
    """A line that may be longer than others."""
    return Html(html.escape(cut(visible(text), longest), quote=False))


def lines_of(text: str, longest: int) -> Html:
    """Text of many lines, for <pre>; `longest` counts all of its characters."""
    return join((cut(line) for line in cut(text, longest).splitlines()), "\n")


def whole(count: Number) -> str:
    return f"{count:,.0f}".replace(",", THIN)


def number(value: Number, digits: int = 4) -> str:
    """About four digits that matter: 74.51, 0.008, 13 616; very small and very large ones as powers of ten."""
    if not math.isfinite(value):
        return "∞" if value == math.inf else "−∞" if value == -math.inf else "not a number"
    if value == 0 or 1e-4 <= abs(value) < 1e9:
        places = digits if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{places}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text.replace(",", THIN).replace("-", "−")
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa.removesuffix('.0')}·10{powers(int(exponent))}".replace("-", "−")


def powers(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def fixed(value: Number, places: int = 2) -> str:
    return f"{value:,.{places}f}".replace(",", THIN).replace("-", "−") if math.isfinite(value) else number(value)


def percent(part: Number, of: Number, places: int = 1) -> str:
    return f"{fixed(100 * part / of, places)}{THIN}%" if of else "–"


def chance(p: float | None) -> str:
    """p = 0.012, on one line."""
    return "" if p is None else written_p(p).replace(" ", NO_BREAK)


def table(headings: Sequence[Content], rows: Iterable[Sequence[Content]], numeric: Sequence[int] = ()) -> Html:
    """Columns listed in `numeric` stand on the right."""
    classes = ["n" if column in numeric else "" for column in range(len(headings))]
    head = [element("th", heading, scope="col", class_=kind) for heading, kind in zip(headings, classes, strict=True)]
    body = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, classes, strict=True)))
        for row in rows
    ]
    inside = (element("thead", element("tr", *head)), element("tbody", *body))
    return element("div", element("table", *inside), class_="wide")


def section(name: str, title: str, how: Content, *content: Html) -> Html:
    """A chapter with the line that says how to read it."""
    return element("section", element("h2", title), element("p", how, class_="how"), *content, id=name)


def folded(title: str, content: Html) -> Html:
    return element("details", element("summary", title), content)


def document(title: str, style: str, *content: Html) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="dragoman"),
        element("title", title),
        element("style", Html(style)),
    )
    return "<!doctype html>\n" + element("html", head, element("body", *content), lang="en").text + "\n"
