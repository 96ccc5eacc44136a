"""What may be said of a text: the labels or tags of the training data, the scale of its numbers, or whether questions
have answers."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from dragoman.data.readers.example import Told, leave_out
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.questions import Question
from dragoman.errors import DataError, StorageError
from dragoman.storage import read_record, write_record

What = Literal["labels", "tags", "numbers", "spans"]
# iob2: every span begins with B-, and I- stands behind B- or I- of its own kind (Tjong Kim Sang and Veenstra 1999)
Scheme = Literal["", "iob2"]
MOST = 65_000  # labels; more are no labels
NOTHING, SPAN = "nothing", "span"
Item = TypeVar("Item", bound=Told)
FEW = 100  # labels that nobody takes for numbers or texts


@dataclass(frozen=True)
class Labelling:
    """Learned once from the training data and kept beside the weights, which know it by its hash."""

    what: What
    names: tuple[str, ...] = ()  # of spans: what a question may have
    mean: float = 0.0  # of numbers
    deviation: float = 1.0
    reading: Mapping[str, Any] = field(default_factory=dict)  # settings of the data that say how files are read
    scheme: Scheme = ""  # of tags: what all sentences of the training data keep to

    @property
    def size(self) -> int:
        return max(1, len(self.names))

    @cached_property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(json.dumps(self.record, sort_keys=True).encode()).hexdigest()

    @property
    def record(self) -> dict[str, Any]:
        """What is written; without a scheme as it was before there were any."""
        return {name: value for name, value in asdict(self).items() if name != "scheme" or value}

    @cached_property
    def has_spans(self) -> bool:
        """Whether tags mark spans: B-person, I-person, O."""
        marked = [name for name in self.names if name[:2] in ("B-", "I-", "E-", "S-")]
        return bool(marked) and {*self.names} - {*marked} <= {"O"}

    @cached_property
    def follows(self) -> NDArray[np.bool_] | None:
        """Which tag (column) may stand behind which (row; the last one: at the start), where a scheme says so."""
        if not self.scheme:
            return None
        return np.array([[may_follow(before, tag) for tag in self.names] for before in (*self.names, "")])

    @property
    def may_be_nothing(self) -> bool:
        """Whether the training data has questions without an answer."""
        return NOTHING in self.names

    def scaled(self, number: float) -> float:
        return (number - self.mean) / self.deviation

    def unscaled(self, number: float) -> float:
        return self.mean + self.deviation * number

    def write(self, path: Path) -> None:
        write_record(path, self.record)

    @staticmethod
    def load(path: Path) -> "Labelling":
        record = read_record(path)
        try:
            found = Labelling(**record | {"names": tuple(record["names"])})
            well = found.what in get_args(What) and len({*found.names}) == len(found.names) <= MOST
            well = well and all(isinstance(name, str) for name in found.names) and isinstance(found.reading, dict)
            well = well and bool(found.names) == (found.what != "numbers") and found.deviation > 0
            well = well and found.scheme in get_args(Scheme)
        except (KeyError, TypeError) as error:
            raise StorageError(f"{path} is damaged: it does not say what the labels are. Copy it again.") from error
        if not well:
            raise StorageError(f"{path} is damaged: its labels do not fit together. Copy it again.")
        return found


def learn_labelling(what: What, examples: Iterable[Told], reading: Mapping[str, Any]) -> Labelling:
    """The labels in the order of the alphabet; of numbers their mean and standard deviation."""
    if what == "numbers":
        return learn_scale(examples, reading)
    counts: Counter[str] = Counter()
    seen, strict = 0, what == "tags"
    for example in examples:
        counts.update(example.labels)
        strict = strict and all(may_follow(*two) for two in pairwise(("", *example.labels)))
        seen += 1
        if len(counts) > MOST:
            break
    if counts:
        refuse_strange(what, counts, seen)
    found = Labelling(what, tuple(sorted(counts)) or ("",), reading=reading)
    spans = found.has_spans and not any(name[:2] in ("E-", "S-") for name in found.names)
    return replace(found, scheme="iob2") if strict and spans else found


def may_follow(before: str, tag: str) -> bool:
    """Whether a tag may stand behind another in IOB2, or at the start, behind none."""
    return not tag.startswith("I-") or before in (tag, f"B-{tag[2:]}")


def refuse_strange(what: What, counts: Counter[str], seen: int) -> None:
    if len(counts) == 1:
        raise DataError(
            f"All {seen:,} training examples have the label '{next(iter(counts))}', so that there is nothing to learn. "
            "Give data with two labels or more, or name the column that holds them (data.label_field, "
            "data.tag_column)."
        )
    if len(counts) > max(FEW, counts.total() // 2):
        first = ", ".join(f"'{name[:30]}'" for name in list(counts)[:3])
        advice = (
            "if they are numbers, set model.head.kind=number objective.kind=squared_error" if what == "labels" else ""
        )
        raise DataError(
            f"There are {len(counts):,} different labels in {seen:,} examples ({first} …), which are none to learn. "
            f"Name the column that holds them (data.label_field, data.tag_column){'; ' if advice else ''}{advice}."
        )


def learn_scale(examples: Iterable[Told], reading: Mapping[str, Any]) -> Labelling:
    """By Welford's sums, which do not cancel."""
    count, mean, squares = 0, 0.0, 0.0
    for example in examples:
        if (value := number_in(example.labels[0])) is not None:
            count += 1
            missed = value - mean
            mean += missed / count
            squares += missed * (value - mean)
    deviation = math.sqrt(squares / count) if count else 0.0
    return Labelling("numbers", (), mean, deviation or 1.0, reading)


def number_in(label: str) -> float | None:
    """A finite number that single precision can hold, or nothing."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if abs(value) < 1e30 else None


def usable(examples: Iterable[Item], labelling: Labelling, problems: Problems) -> Iterator[Item]:
    """The examples whose labels are known; the others are counted and located."""
    for example in examples:
        if reason := reason_against(example, labelling):
            leave_out(problems, example.line, reason)
        else:
            yield example


def reason_against(example: Told, labelling: Labelling) -> str:
    if labelling.what == "numbers":
        return "" if number_in(example.labels[0]) is not None else f"'{example.labels[0][:40]}' is no number"
    title = {"labels": "label", "tags": "tag"}[labelling.what]
    unseen = next((label for label in example.labels if label not in labelling.numbers), None)
    return "" if unseen is None else f"the {title} '{unseen[:40]}' does not occur in the training data"


def learn_answers(questions: Iterable[Question], reading: Mapping[str, Any]) -> Labelling:
    """Whether there are questions without an answer."""
    nothing = any(not one.answers for one in questions)
    return Labelling("spans", (NOTHING, SPAN) if nothing else (SPAN,), reading=reading)


def judged(example: Told, labelling: Labelling, problems: Problems, unseen: Problems) -> bool:
    """A label that is unknown is wrong whatever is said; what is no number cannot be compared."""
    reason = reason_against(example, labelling)
    if not reason:
        return True
    if labelling.what == "numbers" and number_in(example.labels[0]) is None:
        leave_out(problems, example.line, reason)
        return False
    unseen.files = problems.files
    leave_out(unseen, example.line, reason)
    return True
