"""What an alignment says in a few numbers: how widely it looked, in what order, and what it left out."""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dragoman.drawing.alignment import Alignment
from dragoman.drawing.labels import shortened, visible

NEGLECTED = 0.2  # weight in total under which a source token was hardly looked at
OVERUSED = 2.0  # and above which it was looked at for two symbols and more
BACKWARDS = 1e-4  # positions that a mean may move back: rounding of weights
NAMED = 5  # tokens that a sentence names
LONGEST_NAME = 24


@dataclass(frozen=True)
class Summary:
    """Numbers of one alignment; None where there is nothing to count."""

    entropy: tuple[float | None, ...]  # of each row, in nats; None where a row has no weight
    entropy_share: tuple[float | None, ...]  # of the entropy of looking everywhere alike
    mean_entropy: float | None  # over the rows that have weight
    mean_entropy_share: float | None
    monotonicity: float | None  # share of steps that do not move backwards
    kendall_tau: float | None  # between the output's order and the source tokens looked at most
    coverage: tuple[float, ...]  # the weight that each source position got in total, END last
    neglected: tuple[int, ...]  # source tokens that got less than NEGLECTED in total
    overused: tuple[int, ...]  # source tokens that got more than OVERUSED in total


def summarise(alignment: Alignment) -> Summary:
    """All numbers of an alignment. END is a position and a step as any other, but no source token."""
    columns = len(alignment.source)
    entropies = tuple(map(entropy, alignment.weights))
    shares = tuple(None if value is None else share_of_most(value, columns) for value in entropies)
    coverage = tuple(math.fsum(row[column] for row in alignment.weights) for column in range(columns))
    tokens = list(enumerate(coverage[:-1]))
    return Summary(
        entropy=entropies,
        entropy_share=shares,
        mean_entropy=mean(entropies),
        mean_entropy_share=mean(shares),
        monotonicity=monotonicity(alignment.weights),
        kendall_tau=kendall_tau([source for source, _ in alignment.links()]),
        coverage=coverage,
        neglected=tuple(place for place, total in tokens if total < NEGLECTED),
        overused=tuple(place for place, total in tokens if total > OVERUSED),
    )


def entropy(weights: Sequence[float]) -> float | None:
    """H = −Σ_j p_j ln p_j with p = α / Σα, as local weights need not add up to 1 (Ghader and Monz 2017); in nats."""
    total = math.fsum(weights)
    if not total > 0:
        return None
    shares = (weight / total for weight in weights if weight > 0)
    return max(0.0, -math.fsum(share * math.log(share) for share in shares))


def share_of_most(value: float, columns: int) -> float:
    """H / ln S: 0 looks at one position, 1 everywhere alike; with a single position there is no choice."""
    return min(1.0, value / math.log(columns)) if columns > 1 else 0.0


def monotonicity(rows: Iterable[Sequence[float]]) -> float | None:
    """The share of steps t with m_t ≥ m_{t−1}, where m_t = Σ_j j α_tj / Σ_j α_tj is the mean position.

    A definition of our own; compare Rios et al. 2021, whose loss asks attention to move forwards. A row without weight
    is no step; None where there are fewer than two others.
    """
    totals = [(row, math.fsum(row)) for row in rows]
    means = [
        math.fsum(place * weight for place, weight in enumerate(row)) / total for row, total in totals if total > 0
    ]
    steps = [after >= before - BACKWARDS for before, after in pairwise(means)]
    return sum(steps) / len(steps) if steps else None


def kendall_tau(positions: Sequence[int]) -> float | None:
    """τ_b = (C − D) / √(P (P − ties)) over the P pairs of symbols (Kendall 1945): 1 in order, −1 reversed.

    A pair is concordant (C) if the later symbol looked further to the right. None where all positions are equal.
    """
    seen: list[int] = []
    concordant = discordant = 0
    for position in positions:
        concordant += bisect_left(seen, position)
        discordant += len(seen) - bisect_right(seen, position)
        insort(seen, position)
    pairs = len(seen) * (len(seen) - 1) // 2
    untied = concordant + discordant
    return (concordant - discordant) / math.sqrt(pairs * untied) if untied else None


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that there are."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def beside(alignment: Alignment, values: bool, entropies: bool) -> list[tuple[str, list[str]]]:
    """The columns of numbers that stand beside the rows of a picture, each with its name."""
    columns = []
    if values and alignment.log_probabilities:
        columns.append(("log-probability", [f"{value:.3f}" for value in alignment.log_probabilities]))
    if entropies:
        found = map(entropy, alignment.weights)
        columns.append(("entropy in nats", ["–" if value is None else f"{value:.3f}" for value in found]))
    return columns


def sentences(alignment: Alignment) -> list[str]:
    """The numbers in words, for the line below a picture; those that there are not are left out."""
    found = summarise(alignment)
    said = []
    if found.mean_entropy is not None and found.mean_entropy_share is not None:
        said.append(f"entropy {found.mean_entropy:.2f} nats ({found.mean_entropy_share:.0%} of looking everywhere)")
    if found.monotonicity is not None:
        said.append(f"{found.monotonicity:.0%} of steps do not go back")
    if found.kendall_tau is not None:
        said.append(f"Kendall's tau {found.kendall_tau:.2f}")
    for places, what in ((found.neglected, f"under {NEGLECTED:g}"), (found.overused, f"over {OVERUSED:g}")):
        if places and alignment.weights:
            said.append(f"{what} in total: {named(alignment.source, places)}")
    return said


def named(tokens: Sequence[str], places: Sequence[int]) -> str:
    names = [shortened(visible(tokens[place]), LONGEST_NAME) for place in places[:NAMED]]
    return " ".join(names) + (f" and {len(places) - NAMED} more" if len(places) > NAMED else "")
