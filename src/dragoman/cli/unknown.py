"""Sources that a model cannot read are told."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dragoman.contracts import Answer
    from dragoman.pipeline import Pipeline

MANY = 0.05


def warn_of_unknown(share: float, what: str = "source symbols") -> None:
    """Of the source symbols, those that the model has no symbol for."""
    from dragoman.cli.progress import warn

    if share > MANY:
        warn(f"{share:.0%} of the {what} are unknown to the model: is this the data it was made for?")


class Unknown:
    """Counts them answer by answer."""

    def __init__(self, pipeline: "Pipeline") -> None:
        from dragoman.data.tokenizers import UNKNOWN

        [self.name] = pipeline.source.symbols([UNKNOWN])
        self.seen = self.strange = 0

    def count(self, answer: "Answer") -> None:
        symbols = answer.best.source_tokens[:-1]  # without END
        self.seen, self.strange = self.seen + len(symbols), self.strange + symbols.count(self.name)

    def summarise(self) -> None:
        warn_of_unknown(self.strange / max(1, self.seen))


class UnknownInPrompts(Unknown):
    """The same of prompts, which are part of the answer: every one is told where it stands."""

    def __init__(self, pipeline: "Pipeline") -> None:
        super().__init__(pipeline)
        self.lines: list[int] = []
        self.number = 0

    def count(self, answer: "Answer") -> None:
        before, self.number = self.strange, self.number + 1
        super().count(answer)
        if self.strange > before:
            self.lines.append(self.number)

    def summarise(self) -> None:
        from dragoman.cli.progress import warn
        from dragoman.data.tokenizers import UNREADABLE

        if self.lines:
            warn(
                f"{self.strange:,} of the {self.seen:,} symbols of the prompts are unknown to the model, which was "
                f"trained without them, and stand as {UNREADABLE} in its texts; the first in line {self.lines[0]:,}."
            )
