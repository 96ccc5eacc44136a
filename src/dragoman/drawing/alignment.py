"""Where a model looked while it wrote: the facts behind every picture of it."""

from dataclasses import dataclass

Weights = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Alignment:
    """A row an output symbol, a column a source token; END is the last of both, unless the answer is unfinished."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: Weights
    log_probabilities: tuple[float, ...] = ()  # of each output symbol, or none
    finished: bool = True

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
