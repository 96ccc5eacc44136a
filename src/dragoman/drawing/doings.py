"""What a head does, in a few numbers: how widely it looks, at which places, and in what order."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.drawing.heads import Heads, Kind, Map
from dragoman.drawing.summary import entropy, kendall_tau, mean, monotonicity, share_of_most

MOSTLY = 0.5  # share of its weight from which on a head is named after a place
IN_ORDER = 0.8  # Kendall's tau of a head that goes along the source
EVERYWHERE = 0.9  # entropy, as a share, of a head that looks at nothing in particular


@dataclass(frozen=True)
class Doing:
    """Numbers of one head; None where there is nothing to count. A share is a mean over the rows with such a place."""

    entropy_share: float | None  # of looking alike at all that may be seen
    before: float | None  # weight on the position before one's own, in self-attention
    same: float | None  # on one's own; in the decoder that is the symbol just written
    behind: float | None  # on the next one
    first: float | None  # on START, of maps that have one: a decoder's own, and those of a model that only reads
    last: float | None  # on END, of maps onto the source
    monotonicity: float | None  # share of steps that do not go back, of maps from answer to source
    kendall_tau: float | None  # between the answer's order and the tokens looked at most
    agreement: float | None  # share of symbols that look most where the mean of all heads does

    def mostly(self) -> str:
        """One word for a head that has a habit."""
        habits = {"previous": self.before, "itself": self.same, "next": self.behind, "START": self.first}
        name, share = max(((n, s or 0.0) for n, s in (habits | {"END": self.last}).items()), key=lambda one: one[1])
        if share >= MOSTLY:
            return name
        if self.kendall_tau is not None and abs(self.kendall_tau) >= IN_ORDER:
            return "in order" if self.kendall_tau > 0 else "in reverse"
        return "everywhere" if (self.entropy_share or 0.0) >= EVERYWHERE else ""


def doing(one: Map, whole: Map) -> Doing:
    """Of one head; `whole` is the mean of all heads of its kind."""
    onto_source, itself = one.kind != "target", one.kind != "source"
    across, starts = one.kind == "source", has_start(one.kind, one.columns)
    return Doing(
        entropy_share=mean(row_entropy(row, number, one.kind) for number, row in enumerate(one.weights)),
        before=along(one, -1) if itself else None,
        same=along(one, 0) if itself else None,
        behind=along(one, 1) if one.kind == "encoder" else None,
        first=mean(row[0] for row in one.weights[1:]) if starts else None,
        last=mean(row[-1] for row in one.weights) if onto_source else None,
        monotonicity=monotonicity(one.weights) if across else None,
        kendall_tau=kendall_tau([source for source, _ in one.alignment().links()]) if across else None,
        agreement=agreement(one, whole) if across else None,
    )


def has_start(kind: Kind, columns: Sequence[str]) -> bool:
    """Whether START is looked at; a source has none, but for a model that only reads."""
    return kind == "target" or (kind == "encoder" and columns[:1] == ("START",))


def row_entropy(row: Sequence[float], number: int, kind: Kind) -> float | None:
    """As a share of the most it could be; a decoder sees one symbol more at every step, at the first nothing else."""
    seen = number + 1 if kind == "target" else len(row)
    value = entropy(row)
    return None if value is None or seen == 1 else share_of_most(value, seen)


def along(one: Map, offset: int) -> float | None:
    """The mean weight on the position so far from one's own; the decoder's first step sees nothing but START."""
    rows = list(enumerate(one.weights))[one.kind == "target" :]
    return mean(row[number + offset] for number, row in rows if 0 <= number + offset < len(row))


def agreement(one: Map, whole: Map) -> float | None:
    """Looks most at the same token, END of the answer left out: it stands for nothing in the source."""
    rows = range(len(one.rows) - one.finished)
    return mean(float(most(one.weights[row]) == most(whole.weights[row])) for row in rows)


def most(row: Sequence[float]) -> int:
    return max(range(len(row)), key=row.__getitem__)


def doings(heads: Heads, kind: Kind) -> list[tuple[Map, Doing]]:
    """Every head of a kind with what it does."""
    whole = heads.map(kind)
    return [(one, doing(one, whole)) for one in heads.maps(kind)]


COLUMNS: dict[Kind, tuple[str, ...]] = {
    "source": ("entropy_share", "last", "monotonicity", "kendall_tau", "agreement"),
    "target": ("entropy_share", "before", "same", "first"),
    "encoder": ("entropy_share", "before", "same", "behind", "last"),
}
NAMES = {
    "entropy_share": "entropy",
    "before": "previous",
    "same": "itself",
    "behind": "next",
    "first": "START",
    "last": "END",
    "monotonicity": "not back",
    "kendall_tau": "tau",
    "agreement": "as the mean",
}
MEANINGS = {
    "entropy": "of its weights, as a share of looking alike at all that may be seen",
    "previous": "weight on the position before its own",
    "itself": "weight on its own position; while an answer is written, on the symbol just written",
    "next": "weight on the position behind its own",
    "START": "weight on the start of the text, from the second symbol on",
    "END": "weight on the end of the source",
    "not back": "share of steps whose mean position does not go back",
    "tau": "Kendall's tau between the answer's order and the tokens looked at most",
    "as the mean": "share of symbols that look most where the mean of all heads does",
}


def numbers_of(kind: Kind, columns: Sequence[str]) -> tuple[str, ...]:
    """What is told of such a map."""
    starts = kind == "encoder" and has_start(kind, columns)
    return (*COLUMNS[kind], *(("first",) if starts else ()))


def headings(kind: Kind, columns: Sequence[str]) -> list[str]:
    return [NAMES[name] for name in numbers_of(kind, columns)]


def written(found: Doing, kind: Kind, columns: Sequence[str]) -> list[str]:
    """The numbers of a head in the order of the headings."""
    return [number_of(name, getattr(found, name)) for name in numbers_of(kind, columns)]


def number_of(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.2f}" if name == "kendall_tau" else f"{value:.0%}"


def said(one: Map, whole: Map) -> list[str]:
    """The numbers of one map in words, for the line below its picture."""
    found = doing(one, whole)
    numbers = zip(headings(one.kind, one.columns), written(found, one.kind, one.columns), strict=True)
    return [f"{name} {value}" for name, value in numbers if value != "–"] + [found.mostly()] * bool(found.mostly())


def explained(heads: Heads) -> str:
    """What the headings mean, each once."""
    names = dict.fromkeys(name for kind in heads.weights for name in headings(kind, heads.columns(kind)))
    return ". ".join(f"{name}: {MEANINGS[name]}" for name in names) + "."
