"""What an answer must begin with, must contain and must not contain: from texts to what a search understands."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Bool
from torch import Tensor

from dragoman.data.readers.pairs import read_lines
from dragoman.data.tokenizers import END, UNKNOWN, Tokenizer
from dragoman.errors import ConfigError, DataError, unknown
from dragoman.scripts import is_spaceless
from dragoman.search import Required
from dragoman.search.loop import Processor
from dragoman.search.phrases import Phrase, Phrases
from dragoman.search.processors import BarredPhrases, BarredSymbols

ONE_SPELLING = ("words", "characters", "features", "bytes")  # kinds of tokenizer that write a text in one way only


@dataclass(frozen=True)
class Constraints:
    """What is asked of one answer beside its source."""

    prefix: str = ""
    """What it begins with."""
    must: tuple[str, ...] = ()
    """Words and phrases that it contains."""
    never: tuple[str, ...] = ()
    """Words and phrases that it does not contain."""
    place: str = field(default="", compare=False)
    """Where it was read, for errors."""

    def __bool__(self) -> bool:
        return bool(self.prefix or self.must or self.never)


NO_CONSTRAINTS = Constraints()
NAMES = ("prefix", "must", "never")


@contextmanager
def blamed(one: Constraints) -> Iterator[None]:
    """An error in a file of constraints names its line; one in an option is the option's."""
    try:
        yield
    except (ConfigError, DataError) as error:
        if not one.place:
            raise
        raise DataError(f"{one.place}: {error}") from error


class Target:
    """How texts of one tokenizer contain one another."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer

    @cached_property
    def before(self) -> list[int]:
        """A symbol that is a whole word, to see what becomes of others behind it; none where there is no such."""
        candidates = ([n] for n in range(END + 1, self.tokenizer.size))
        words = ((row, self.tokenizer.decode(row)) for row in candidates)
        return next((row for row, text in words if text.isalnum() and self.tokenizer.encode([text]) == [row]), [])

    @cached_property
    def surfaces(self) -> tuple[str, ...]:
        """Every symbol behind a word, as text."""
        word = self.tokenizer.decode(self.before)
        return tuple(
            self.tokenizer.decode([*self.before, number]).removeprefix(word) for number in range(self.tokenizer.size)
        )

    @cached_property
    def continuing(self) -> Bool[Tensor, " V"]:
        """Symbols that make a word longer instead of ending it."""
        return torch.tensor([text[:1].isalnum() and not is_spaceless(text[0]) for text in self.surfaces])

    def continues(self, symbol: int) -> bool:
        return self.tokenizer.kind not in ONE_SPELLING and bool(self.continuing[symbol])

    def contains(self, text: str, phrase: str) -> bool:
        """As whole words, where the tokenizer knows words and the script writes spaces."""
        if self.tokenizer.kind in ("characters", "features", "bytes"):
            return phrase in text
        return re.search(f"{left(phrase)}{re.escape(phrase)}{right(phrase)}", text) is not None

    def symbols(self, what: str, text: str) -> tuple[int, ...]:
        """A text that an answer is to contain; each of its words must be known."""
        [row] = self.tokenizer.encode([text])
        if not row:
            raise ConfigError(f"The {what} {text!r} is empty.")
        if UNKNOWN in row:
            raise DataError(
                f"The {what} {text!r} has a word or sign that the model has no symbol for, so it cannot write it "
                f"(as symbols: {' '.join(self.tokenizer.symbols(row))})."
            )
        return tuple(row)

    def prefix(self, one: Constraints) -> tuple[int, ...]:
        with blamed(one):
            return self.symbols("prefix", one.prefix) if one.prefix else ()

    def required(self, phrase: str) -> Phrase:
        """A phrase as it is written behind another word, and at the beginning of a text."""
        first = inner = self.symbols("phrase", phrase)
        if self.tokenizer.kind not in ONE_SPELLING:
            [row] = self.tokenizer.encode([f"{self.tokenizer.decode(self.before)} {phrase}"])
            inner = tuple(row[len(self.before) :]) if row[: len(self.before)] == self.before else first
        for text in (self.tokenizer.decode(first), self.tokenizer.decode([*self.before, *inner])):
            if not self.contains(text, self.normal(phrase)):
                raise DataError(
                    f"The phrase {phrase!r} is written {text!r} by this model's tokenizer: it cannot be found again. "
                    "Give it as the model would write it."
                )
        return Phrase(inner, first)

    def normal(self, text: str) -> str:
        """As answers are written: the rules of the tokenizer applied, single spaces."""
        return " ".join(next(iter(self.tokenizer.normaliser.apply([text]))).split())


def left(phrase: str) -> str:
    return r"(?<!\w)" if phrase[0].isalnum() and not is_spaceless(phrase[0]) else ""


def right(phrase: str) -> str:
    return r"(?!\w)" if phrase[-1].isalnum() and not is_spaceless(phrase[-1]) else ""


@dataclass(frozen=True)
class Bound:
    """The constraints of a batch, in symbols."""

    required: Required | None
    processors: tuple[Processor, ...]


def bind(
    target: Target, constraints: Sequence[Constraints], prefixes: Sequence[tuple[int, ...]], limits: Sequence[int]
) -> Bound:
    """From texts to symbols; what contradicts itself or cannot be is said before anything is decoded."""
    together = zip(constraints, prefixes, limits, strict=True)
    required = [phrases_of(target, one, prefix, limit) for one, prefix, limit in together]

    def satisfied(sentence: int, tokens: Sequence[int]) -> bool:
        text = target.tokenizer.decode(tokens)
        return all(target.contains(text, target.normal(phrase)) for phrase in constraints[sentence].must)

    wanted = Required(Phrases(required, target.continues), satisfied) if any(required) else None
    return Bound(wanted, barring(target, constraints))


def phrases_of(target: Target, one: Constraints, prefix: tuple[int, ...], limit: int) -> tuple[Phrase, ...]:
    """What one answer must contain, where that can be."""
    with blamed(one):
        refuse_contradictions(target, one)
        phrases = tuple(target.required(phrase) for phrase in one.must)
        further = {phrase for phrase in phrases if not Phrases([()], target.continues).stands(phrase, prefix)}
        needed = len(prefix) + sum(len(phrase.inner) for phrase in further) + 1
        if needed > limit:
            raise ConfigError(
                f"The prefix and the phrases of an answer need {needed} symbols, END counted, and at most {limit} are "
                "allowed for this source. Raise limits.answer, limits.ratio or limits.extra, or ask for less."
            )
    return phrases


def refuse_contradictions(target: Target, one: Constraints) -> None:
    for phrase in one.never:
        if not phrase.strip():
            raise ConfigError("A phrase that must not occur is empty: every answer contains it.")
        bad = target.normal(phrase)
        for what, text in (("prefix", one.prefix), *(("phrase that must occur", text) for text in one.must)):
            if text and target.contains(target.normal(text), bad):
                raise ConfigError(
                    f"The {what} {text!r} contains {phrase!r}, which must not occur: no answer does both."
                )


def barring(target: Target, constraints: Sequence[Constraints]) -> tuple[Processor, ...]:
    """What bars the phrases that must not occur."""
    if not any(one.never for one in constraints):
        return ()
    if target.tokenizer.kind in ONE_SPELLING:
        rows = [target.tokenizer.encode(list(one.never)) for one in constraints]
        known = [[tuple(row) for row in each if row and UNKNOWN not in row] for each in rows]  # else it cannot write it
        return (BarredPhrases(known),)
    bad = [[target.normal(phrase) for phrase in one.never] for one in constraints]

    def barred(sentence: int, tokens: Sequence[int]) -> Bool[Tensor, " V"] | None:
        """A word may still become another: what ends it is barred, and END. Without spaces: what completes it."""
        mask = None
        text = target.tokenizer.decode(tokens) if bad[sentence] else ""
        for phrase in bad[sentence]:
            if right(phrase):
                found = re.search(f"{left(phrase)}{re.escape(phrase)}$", text)
                more = ~target.continuing if found else None
            else:
                tail = text[-len(phrase) :]
                more = torch.tensor([phrase in tail + surface for surface in target.surfaces])
            if more is not None:
                mask = more if mask is None else mask | more
        return mask

    return (BarredSymbols(barred),)


def read_constraints(path: Path) -> Iterator[Constraints]:
    """One object a line; an empty line asks for nothing."""
    for number, line in enumerate(read_lines(str(path)), start=1):
        place = f"{path}:{number}"
        try:
            given = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise DataError(f'{place} is no JSON. Write {{"must": ["…"]}}, or leave the line empty.') from error
        if not isinstance(given, dict):
            raise DataError(f'{place} is no JSON object. Write {{"must": ["…"]}}, or leave the line empty.')
        for name in given:
            if name not in NAMES:
                raise DataError(f"{place}: {unknown('constraint', name, NAMES)}")
        prefix, must, never = given.get("prefix", ""), given.get("must", []), given.get("never", [])
        lists = all(isinstance(each, list) and all(isinstance(text, str) for text in each) for each in (must, never))
        if not isinstance(prefix, str) or not lists:
            raise DataError(f"{place}: prefix is a text; must and never are lists of texts.")
        yield Constraints(prefix, tuple(must), tuple(never), place)
