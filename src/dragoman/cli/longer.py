"""What is said of lines that are longer than a model reads: a line for each of the first few, then their number."""

from dataclasses import dataclass, field

from dragoman.cli.progress import warn

SHOWN = 5  # lines that are named one by one
DONE = {"cut": "the rest was cut off", "split": "it was answered in pieces"}


@dataclass
class Longer:
    """The lines above limits.source so far."""

    limit: int  # source tokens
    lines: list[int] = field(default_factory=list)

    def tell(self, line: int, what: str) -> None:
        if not what:
            return
        self.lines.append(line)
        if len(self.lines) <= SHOWN:
            warn(f"line {line} is longer than limits.source = {self.limit} tokens; {DONE[what]}.")

    def summarise(self) -> None:
        if len(self.lines) > SHOWN:
            warn(
                f"{len(self.lines):,} lines were longer than limits.source = {self.limit} tokens; "
                f"the first: line {self.lines[0]}. --longer says what becomes of them."
            )
