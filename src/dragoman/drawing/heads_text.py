"""What every head does, as a table for a terminal."""

from collections.abc import Iterator

from dragoman.drawing.doings import doings, explained, headings, written
from dragoman.drawing.heads import Heads, Kind


def heads_text(heads: Heads) -> str:
    """A table a kind, a line a head."""
    return "\n\n".join("\n".join(table(heads, kind)) for kind in heads.weights)


def table(heads: Heads, kind: Kind) -> Iterator[str]:
    """Numbers stand on the right of their columns; a layer's number stands before its first head."""
    names = headings(kind, heads.columns(kind))
    widths = [max(5, len(name)) for name in names]

    def line(layer: str, head: str, numbers: list[str], habit: str) -> str:
        cells = (f"{number:>{width}}" for number, width in zip(numbers, widths, strict=True))
        return f"{layer:>5}  {head:>4}  {'  '.join(cells)}  {habit}".rstrip()

    yield f"{kind}: {heads.about(kind)}"
    yield line("layer", "head", names, "mostly")
    for one, found in doings(heads, kind):
        numbers = written(found, kind, one.columns)
        yield line(str(one.layer) if one.head == 1 else "", str(one.head), numbers, found.mostly())


def key(heads: Heads) -> str:
    return explained(heads)
