"""Where a model looked while it wrote: the facts behind every picture of it."""

from collections.abc import Iterable
from dataclasses import dataclass

Weights = tuple[tuple[float, ...], ...]
Window = tuple[int, float, int]  # first position, centre, last position; a first behind its last is an empty window
Windows = tuple[Window, ...]


@dataclass(frozen=True)
class Alignment:
    """A row an output symbol, a column a source token; END is the last of both, unless the answer is unfinished."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Weights
    log_probabilities: tuple[float, ...] = ()  # of each output symbol, or none
    finished: bool = True
    windows: Windows = ()  # of each output symbol, where attention is local (Luong et al. 2015), or none

    @property
    def hard(self) -> bool:
        """Each symbol looked at one token and at nothing else (Xu et al. 2015); local windows may do so by chance."""
        one_hot = (max(row) == 1 == sum(row) for row in self.weights)
        return len(self.source) > 1 and bool(self.weights) and not self.windows and all(one_hot)

    def chosen(self) -> tuple[int, ...]:
        """The position that each symbol chose, where attention is hard; else nothing."""
        return tuple(row.index(1) for row in self.weights) if self.hard else ()

    def links(self) -> tuple[tuple[int, int], ...]:
        """(source token, output symbol): what each symbol looked at most, counted from 0, in the order of the output.

        Positions are those of tokens, which may be parts of words. END is no token: its row has no link, and neither
        has a symbol that looked most at the source's END, as nothing in the source stands for it. Among equal weights
        the first counts.
        """
        end = len(self.source) - 1
        rows = self.weights[: len(self.target) - self.finished]
        looked = [(max(range(len(row)), key=row.__getitem__), number) for number, row in enumerate(rows) if any(row)]
        return tuple((position, number) for position, number in looked if position != end)


def centre_within(window: Window) -> float:
    """Where the centre is drawn: one outside of the source (cut windows have such) stands on the window's edge."""
    first, centre, last = window
    return min(max(centre, first - 0.5), last + 0.5)


def windows_within(rows: Iterable[Iterable[float]], columns: int) -> Windows:
    """(first, centre, last) a row, cut to the source; one outside of it is empty: its first is behind its last."""
    cut = ((round(first), float(centre), round(last)) for first, centre, last in rows)
    return tuple((max(first, 0), centre, min(last, columns - 1)) for first, centre, last in cut)
