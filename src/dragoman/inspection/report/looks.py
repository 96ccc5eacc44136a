"""How a model looks at its sources on the whole: means over answers."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.contracts import Answer
from dragoman.data.permutation import permutation
from dragoman.drawing.summary import mean, summarise
from dragoman.pipeline import Pipeline
from dragoman.watching import Watch

LOOKED = 200  # answers at most
LONGEST = 100  # pieces of a source or an answer: all weights of a text are in memory at once
WINDOW = 16  # texts whose weights are


@dataclass(frozen=True)
class Looks:
    """Means over answers; None where no answer has such a number."""

    answers: int
    entropy: float | None  # nats, of a row
    entropy_share: float | None  # of looking everywhere alike
    monotonicity: float | None  # steps that do not go back
    kendall_tau: float | None
    neglected: float | None  # share of source tokens that got under 0.2 in total
    overused: float | None  # and over 2


def measure_looks(pipeline: Pipeline, texts: Sequence[str], told: Watch) -> Looks | None:
    """Of at most LOOKED texts, drawn by a key; None without attention, or without a text."""
    drawn = permutation(len(texts), "looks")[:LOOKED].tolist()
    if not drawn or not pipeline.attends:
        return None
    stream = pipeline.stream([texts[number] for number in drawn], alignments=True, window=WINDOW)
    rows = []
    for done, answer in enumerate(stream, start=1):
        if answer.alignment:
            rows.append(numbers_of(answer))
        told("Looking", done, len(drawn))
    return Looks(len(rows), *map(mean, zip(*rows, strict=True))) if rows else None


def numbers_of(answer: Answer) -> tuple[float | None, ...]:
    """In the order of the fields of Looks."""
    aligned = answer.best.aligned()
    found = summarise(aligned)
    tokens = max(1, len(aligned.source) - 1)
    shares = (len(found.neglected) / tokens, len(found.overused) / tokens)
    return (found.mean_entropy, found.mean_entropy_share, found.monotonicity, found.kendall_tau, *shares)
