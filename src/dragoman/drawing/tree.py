"""The search of one text as a tree: the facts behind every picture of it, and what is drawn in which order."""

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Fate = Literal["kept", "dropped", "ended"]

ROOT = 0  # the beginning: nothing, or a prefix
KEPT = 20  # of a step that a picture draws, beside the paths of the answers
DROPPED = 6
ENDED = 4
REASONS = {
    "length": "the longest answer that is allowed was reached",
    "none live": "no hypothesis was left to go on with",
    "decided": "no live hypothesis could still win, or enough had ended",
}


@dataclass(frozen=True)
class Branch:
    """A hypothesis: what it adds to the one before it, and what became of it."""

    number: int  # larger than its parent's
    parent: int
    step: int  # symbols that it has, prefix and END counted
    symbol: str
    log_probability: float  # of the symbol
    total: float
    score: float
    fate: Fate
    rank: int = 0  # among the answers, from 1; 0 is not answered
    live: bool = False  # might have gone on when the search stopped
    looked: str = ""  # the source token that it looked at most, where that is known


@dataclass(frozen=True)
class Answered:
    """One answer of a search."""

    number: int  # of its branch
    text: str
    total: float
    score: float
    finished: bool


@dataclass(frozen=True)
class Tree:
    """The whole search of one text."""

    source: str
    branches: tuple[Branch, ...]  # in the order of their numbers, step by step
    reason: str
    answers: tuple[Answered, ...]  # best first
    prefix: str = ""  # what every answer begins with

    @cached_property
    def by_number(self) -> dict[int, Branch]:
        return {branch.number: branch for branch in self.branches}

    @cached_property
    def steps(self) -> dict[int, list[Branch]]:
        found: dict[int, list[Branch]] = {}
        for branch in self.branches:
            found.setdefault(branch.step, []).append(branch)
        return found

    @cached_property
    def children(self) -> dict[int, list[Branch]]:
        """What leads to the best answer first, then what lived longest, then what was most probable."""
        rank = {branch.number: branch.rank or math.inf for branch in self.branches}
        depth = {branch.number: branch.step for branch in self.branches}
        found: dict[int, list[Branch]] = {}
        for branch in reversed(self.branches):
            found.setdefault(branch.parent, []).append(branch)
            if branch.parent != ROOT:
                rank[branch.parent] = min(rank[branch.parent], rank[branch.number])
                depth[branch.parent] = max(depth[branch.parent], depth[branch.number])
        for of_one in found.values():
            of_one.sort(key=lambda one: (rank[one.number], -depth[one.number], -one.total, one.number))
        return found

    def path(self, number: int, at_most: int | None = None) -> list[Branch]:
        """From the first symbol to a branch; or the last so many of them."""
        found: list[Branch] = []
        while number != ROOT and len(found) != at_most:
            found.append(self.by_number[number])
            number = found[-1].parent
        return found[::-1]

    @cached_property
    def best(self) -> frozenset[int]:
        """The path of the best answer."""
        return frozenset(branch.number for branch in self.path(self.answers[0].number)) if self.answers else frozenset()

    @cached_property
    def answered(self) -> frozenset[int]:
        """The paths of all answers."""
        return frozenset(branch.number for answer in self.answers for branch in self.path(answer.number))

    def followed(self, number: int) -> list[Branch]:
        """Continuations that were kept or ended."""
        return [branch for branch in self.children.get(number, ()) if branch.fate != "dropped"]

    def dropped(self, number: int) -> list[Branch]:
        """Continuations that were dropped, the nearest first."""
        return [branch for branch in self.children.get(number, ()) if branch.fate == "dropped"]

    @cached_property
    def drawn(self) -> frozenset[int]:
        """What a picture shows: the paths of the answers, and of every step the best that were kept, dropped, ended."""
        shown = {ROOT}
        most = {"kept": KEPT, "dropped": DROPPED, "ended": ENDED}
        for branches in self.steps.values():
            counts: Counter[str] = Counter()
            for one in sorted(branches, key=lambda one: (one.number not in self.answered, -one.total)):
                if one.number in self.answered or (one.parent in shown and counts[one.fate] < most[one.fate]):
                    shown.add(one.number)
                    counts[one.fate] += 1
        return frozenset(shown)


def sentence(tree: Tree) -> str:
    """The search in numbers, and why it stopped."""
    counts = Counter(branch.fate for branch in tree.branches)
    parts = ", ".join(f"{counts[fate]:,} {fate}" for fate in ("kept", "dropped", "ended") if counts[fate])
    why = REASONS.get(tree.reason, tree.reason)
    return f"{counted(len(tree.steps), 'step')}, {counted(counts.total(), 'continuation')}: {parts}. Stopped: {why}."


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
