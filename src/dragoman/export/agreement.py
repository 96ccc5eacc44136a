"""Two ways to compute the same model, on the same lines: do they agree, and which is faster?"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.errors import NumericalError
from dragoman.export import Wanted
from dragoman.export.held_out import within_limits
from dragoman.pipeline import Pipeline, Scored
from dragoman.search import Rules

LARGEST_DIFFERENCE = 1e-4  # of the log-probability of a symbol, where nothing is rounded
LEAST_EQUAL = {"none": 1.0, "int8": 0.97}  # share of greedy texts


@dataclass(frozen=True)
class Agreement:
    """What was found on held-out lines."""

    lines: int
    equal_texts: int
    largest_difference: float  # of the log-probabilities of the same symbols
    mean_difference: float
    worse: float  # nats a symbol that answers which are not equal are less probable, by the original; on average
    seconds: float  # of the original
    other_seconds: float

    def facts(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "equal_texts": self.equal_texts,
            "largest_difference": self.largest_difference,
            "mean_difference": self.mean_difference,
            "other_texts_worse": self.worse,
            "sentences_per_second": {
                "torch": round(self.lines / self.seconds, 2),
                "export": round(self.lines / self.other_seconds, 2),
            },
            "faster": round(self.seconds / self.other_seconds, 3),
        }

    def sentences(self, name: str) -> list[str]:
        return [
            f"{self.equal_texts} of {self.lines} greedy answers are those of torch; log-probabilities of the same "
            f"symbols differ by {self.largest_difference:.2g} at most, {self.mean_difference:.2g} on average."
            + (f" {self.of_others()}" if self.equal_texts < self.lines else ""),
            f"{name}: {self.lines / self.other_seconds:,.0f} sentences a second, torch: "
            f"{self.lines / self.seconds:,.0f}, greedy, in batches.",
        ]

    def of_others(self) -> str:
        how = f"{abs(self.worse):.2g} nats a symbol {'less' if self.worse >= 0 else 'more'} probable"
        return f"By the run itself, the other {self.lines - self.equal_texts} are {how} than its own, on average."


def plain(pipeline: Pipeline) -> Pipeline:
    """What answers by the model alone: rules and risk belong to a search."""
    rules = [f"rules.{name}={value}" for name, value in Rules().model_dump().items()]
    return pipeline.changed([*rules, "risk.utility=none"])


def left_out(pipeline: Pipeline) -> list[str]:
    """What a run does beyond what was exported."""
    if pipeline.settings.rules == Rules():
        return []
    return ["The model's rules (no_repeat_ngram, repetition_penalty) are its search's, and not in these files."]


def compared(
    ours: Pipeline, other: Pipeline, texts: Sequence[str], wanted: Wanted, watch: Callable[[float], None]
) -> Agreement:
    """Greedy answers of both, and what each says of the original's; too little agreement is an error."""
    ours, other, texts = plain(ours), plain(other), within_limits(texts, ours)
    answers, seconds = answered(ours, texts)
    watch(0.4)
    others, other_seconds = answered(other, texts)
    watch(0.6)
    pairs = list(zip(texts, answers, strict=True))
    scored = [pair for pair in pairs if within(ours, pair[1])]
    differences = [
        abs(one - two)
        for mine, theirs in zip(ours.score(scored), other.score(scored), strict=True)
        for one, two in zip(mine.token_log_probabilities, theirs.token_log_probabilities, strict=True)
    ]
    equal = sum(one == two for one, two in zip(answers, others, strict=True))
    mean = sum(differences) / max(1, len(differences))
    worse = less_probable(ours, pairs, others)
    found = Agreement(len(texts), equal, max(differences, default=0.0), mean, worse, seconds, other_seconds)
    refuse_apart(found, wanted, pairs, others)
    return found


def within(pipeline: Pipeline, text: str) -> bool:
    """Whether it can be scored: a text may be spelled with more symbols than it was written with."""
    return len(pipeline.target.encode([text])[0]) < pipeline.settings.limits.answer


def less_probable(ours: Pipeline, pairs: Sequence[tuple[str, str]], others: Sequence[str]) -> float:
    """Where answers are not equal: by how much the original prefers its own, in nats a symbol, on average."""
    each = [(source, one, two) for (source, one), two in zip(pairs, others, strict=True) if one != two]
    apart = [row for row in each if within(ours, row[1]) and within(ours, row[2])]
    own = ours.score((source, one) for source, one, _ in apart)
    theirs = ours.score((source, two) for source, _, two in apart)
    return sum(a_symbol(one) - a_symbol(two) for one, two in zip(own, theirs, strict=True)) / max(1, len(apart))


def a_symbol(scored: Scored) -> float:
    return scored.log_probability / len(scored.tokens)


def answered(pipeline: Pipeline, texts: Sequence[str]) -> tuple[list[str], float]:
    next(pipeline.stream(texts[:1], beam=1))  # what is prepared once is not counted
    began = time.perf_counter()
    answers = [answer.text for answer in pipeline.stream(texts, beam=1)]
    return answers, time.perf_counter() - began


def refuse_apart(found: Agreement, wanted: Wanted, pairs: Sequence[tuple[str, str]], others: Sequence[str]) -> None:
    least = LEAST_EQUAL[wanted.quantize] if wanted.equal is None else wanted.equal
    if found.equal_texts < least * found.lines:
        apart = [(source, one, two) for (source, one), two in zip(pairs, others, strict=True) if one != two]
        shown = "".join(f" {source!r} → {one!r} (run), {two!r} (export)." for source, one, two in apart[:1])
        raise NumericalError(
            f"The export does not answer as the run does: {found.equal_texts} of {found.lines} greedy texts are equal, "
            f"and {least:.0%} must be.{shown} Nothing was left." + (accept(found) if wanted.quantize == "int8" else "")
        )
    if wanted.quantize == "none" and not found.largest_difference <= LARGEST_DIFFERENCE:  # NaN is not
        raise NumericalError(
            f"The export does not compute what the run does: log-probabilities of the same symbols differ by up to "
            f"{found.largest_difference:.2g}, and {LARGEST_DIFFERENCE} is allowed. Nothing was left."
        )


def accept(found: Agreement) -> str:
    """What to do where rounding has changed more than it may."""
    share = int(100 * found.equal_texts / found.lines) / 100
    return (
        f" {found.of_others()} Where symbols are often nearly tied, 8 bits decide otherwise now and then: if these "
        f"answers are as good, say --equal {share:.2f}; else export without --quantize."
    )
