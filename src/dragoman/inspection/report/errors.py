"""What goes wrong: the worst answers, the most frequent confusions, and answers that are no answers."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dragoman.data.tokenizers.base import UNREADABLE
from dragoman.inspection.report.answers import Example
from dragoman.inspection.report.units import Unit

LOOP = 3  # times the same pieces in a row
LOOP_PIECES = 4  # at most that come again


@dataclass(frozen=True)
class Confusion:
    """One piece taken for another; None is nothing at all."""

    expected: str | None
    got: str | None
    count: int
    occurrences: int  # of the expected piece in the references, or of the piece that is too many in the answers
    example: Example


def confusions(examples: Sequence[Example], most: int) -> tuple[Confusion, ...]:
    """The most frequent first, each with an example in which little else is wrong."""
    counts: Counter[tuple[str | None, str | None]] = Counter()
    clearest: dict[tuple[str | None, str | None], Example] = {}
    expected: Counter[str | None] = Counter()
    got: Counter[str | None] = Counter()
    for example in sorted(examples, key=lambda one: (one.wrong, len(one.edits))):
        for edit in example.edits:
            expected[edit.expected] += 1
            got[edit.got] += 1
            if edit.wrong:
                counts[edit.expected, edit.got] += 1
                clearest.setdefault((edit.expected, edit.got), example)
    return tuple(
        Confusion(*pair, count, expected[pair[0]] if pair[0] is not None else got[pair[1]], clearest[pair])
        for pair, count in counts.most_common(most)
    )


def worst(examples: Sequence[Example], most: int) -> list[Example]:
    return sorted((one for one in examples if not one.right), key=lambda one: -one.weight)[:most]


@dataclass(frozen=True)
class Fault:
    """A way in which an answer can fail as a whole."""

    name: str
    meaning: str
    found: tuple[Example, ...]


def faults(examples: Sequence[Example], unit: Unit) -> tuple[Fault, ...]:
    tests: list[tuple[str, str, Callable[[Example], bool]]] = [
        ("empty", "nothing was answered", lambda one: not one.answer.strip()),
        ("cut", "the answer reached the length limit before its end", lambda one: not one.finished),
        ("loop", "the same pieces three times in a row, as in no reference", lambda one: loops(one, unit)),
        ("copy", "the answer is the source, and should not be", lambda one: one.answer == one.source and not one.right),
        ("unknown", f"the answer holds {UNREADABLE}, a symbol outside the vocabulary", unknown),
        ("too short", "less than half as long as the nearest reference", lambda one: lengths(one)[1] < 0.5),
        ("too long", "more than twice as long as the nearest reference", lambda one: lengths(one)[1] > 2),
        (
            "long source",
            "the source is longer than the model reads: it was cut, or answered in parts",
            lambda one: bool(one.longer),
        ),
    ]
    return tuple(Fault(name, meaning, tuple(filter(test, examples))) for name, meaning, test in tests)


def unknown(example: Example) -> bool:
    return UNREADABLE in example.answer


def lengths(example: Example) -> tuple[int, float]:
    """Pieces of the answer, and how many times as long as the nearest reference it is."""
    got = sum(edit.got is not None for edit in example.edits)
    return got, got / max(sum(edit.expected is not None for edit in example.edits), 1)


def loops(example: Example, unit: Unit) -> bool:
    return repeats(unit.cut(example.answer)) and not any(repeats(unit.cut(text)) for text in example.references)


def repeats(pieces: Sequence[str]) -> bool:
    """Whether one to four pieces come three times in a row."""
    for size in range(1, LOOP_PIECES + 1):
        run = 0  # pieces in a row that equal the one `size` before them
        for place in range(size, len(pieces)):
            run = run + 1 if pieces[place] == pieces[place - size] else 0
            if run >= size * (LOOP - 1):
                return True
    return False
