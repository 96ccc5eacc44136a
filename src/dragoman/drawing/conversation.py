"""A conversation whose words are shaded by how much a model looked at them while it answered."""

from collections.abc import Sequence
from html import escape

from dragoman.drawing.svg import printable

FULL = 12  # cells of a bar that is all of it
EIGHTHS = " ▏▎▍▌▋▊▉█"
STYLE = (
    ".talk{border-collapse:collapse;max-width:60em;margin-bottom:1rem}"
    ".talk td{padding:.25rem .5rem;vertical-align:top;border-top:1px solid color-mix(in srgb,CanvasText 15%,Canvas)}"
    ".talk .share{width:8rem;white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".talk .bar{display:inline-block;height:.7em;background:#0c929a;vertical-align:baseline;margin-right:.4em}"
    ".talk .word{border-radius:.2em;padding:0 .05em}"
    ".talk .answer td{font-weight:600}"
)


def bars(texts: Sequence[str], shares: Sequence[float], width: int | None = None) -> list[str]:
    """Each turn in a line, behind its number, a bar and the share of all looks that it got."""
    lines = []
    for number, (text, share) in enumerate(zip(texts, shares, strict=True), start=1):
        whole, part = divmod(round(share * FULL * 8), 8)
        bar = ("█" * whole + (EIGHTHS[part] if part else "")).ljust(FULL)
        line = f"{number:>3} {bar} {share:4.0%}  {printable(text)}"
        lines.append(line if width is None or len(line) <= width else f"{line[: width - 1]}…")
    return lines


def table(
    turns: Sequence[Sequence[str]],
    texts: Sequence[str],
    shares: Sequence[float] | None,
    words: Sequence[Sequence[float]] | None,
    answer: str,
    between: str = "",
) -> str:
    """As HTML: `shares` are those of all looks that each turn got, if there are any; `words` the weights of each turn's
    symbols, of which the largest is shaded most; `between` stands between symbols (words, or pieces of them)."""
    most = max((weight for turn in words or () for weight in turn), default=0.0)
    rows = []
    for number, text in enumerate(texts):
        said = escape(printable(text)) if words is None else shaded(turns[number], words[number], most, between)
        bar = "" if shares is None else bar_of(shares[number])
        rows.append(f'<tr><td class="share">{bar}</td><td>{number + 1}</td><td>{said}</td></tr>')
    rows.append(f'<tr class="answer"><td></td><td>→</td><td>{escape(printable(answer)) or "∅"}</td></tr>')
    return f'<table class="talk">{"".join(rows)}</table>'


def bar_of(share: float) -> str:
    return f'<span class="bar" style="width:{5 * share:.2f}rem"></span>{share:.0%}'


def shaded(symbols: Sequence[str], weights: Sequence[float], most: float, between: str = "") -> str:
    """Symbols as text, a space where ▁ stands."""
    pieces = []
    for symbol, weight in zip(symbols, weights, strict=True):
        share = 0.0 if most <= 0 else 85 * weight / most
        text = escape(printable(symbol.replace("▁", " ")))
        style = f"background:color-mix(in srgb,#02b7a0 {share:.0f}%,Canvas)"
        pieces.append(f'<span class="word" style="{style}" title="{weight:.3f}">{text}</span>')
    return between.join(pieces)
