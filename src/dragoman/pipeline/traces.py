"""What a search did, in words: for files, for those who watch it live, and for pictures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.contracts import Hypothesis
from dragoman.data.tokenizers import END, Tokenizer
from dragoman.pipeline.rows import Row
from dragoman.search.tracing import ROOT, Expanded, Expansion, Recorder, Stopped, Told


@dataclass(frozen=True)
class Node:
    """A hypothesis in a search: what it adds to the one before it, and what became of it."""

    number: int
    parent: int  # 0 is the beginning: nothing, or the prefix
    step: int  # symbols that it has, END counted
    symbol: str
    log_probability: float  # of the symbol
    total: float
    score: float
    fate: str  # kept, dropped or ended; of those that were kept to the end: answered or not


@dataclass(frozen=True)
class Trace:
    """The whole search of one text."""

    source: str
    nodes: tuple[Node, ...]
    reason: str  # why it stopped: length, none live, decided
    live: tuple[int, ...]  # nodes that might have gone on
    answers: tuple[int, ...]  # nodes of the answers, best first

    def path(self, number: int) -> tuple[Node, ...]:
        """From the first symbol to a node."""
        by_number = {node.number: node for node in self.nodes}
        found: list[Node] = []
        while number != ROOT:
            found.append(by_number[number])
            number = found[-1].parent
        return tuple(reversed(found))


class Telling:
    """Hands on the events of a search, batch after batch, each with its row and the symbols of every node so far."""

    def __init__(self, tell: Callable[[Row, Told, dict[int, tuple[int, ...]]], None]) -> None:
        self.tell = tell

    def __call__(self, rows: Sequence[Row]) -> Recorder:
        written: list[dict[int, tuple[int, ...]]] = [{ROOT: row.prefix} for row in rows]

        def tell(event: Told) -> None:
            known = written[event.sentence]
            if isinstance(event, Expanded):
                known |= {one.node: (*known[one.parent], one.symbol) for one in event.expansions}
            self.tell(rows[event.sentence], event, known)

        return Recorder(tell)


def as_record(target: Tokenizer, row: Row, event: Told) -> dict[str, Any]:
    """One line of a trace file."""
    facts: dict[str, Any] = {"line": row.line + 1, "source": row.text}
    if isinstance(event, Stopped):
        answers = [answer_record(target, one) for one in event.answers]
        return facts | {"stopped": event.reason, "live": list(event.live), "answers": answers}
    return facts | {"step": event.step, "expansions": [expansion_record(target, one) for one in event.expansions]}


def expansion_record(target: Tokenizer, one: Expansion) -> dict[str, Any]:
    return {
        "node": one.node,
        "parent": one.parent,
        "symbol": symbol_of(target, one.symbol),
        "log_probability": one.log_probability,
        "total": one.total,
        "score": one.score,
        "fate": one.fate,
    }


def answer_record(target: Tokenizer, one: Hypothesis) -> dict[str, Any]:
    return {
        "text": target.decode(one.tokens),
        "score": one.score,
        "log_probability": one.total,
        "finished": one.finished,
    }


def as_beams(target: Tokenizer, row: Row, event: Told, written: dict[int, tuple[int, ...]]) -> dict[str, Any]:
    """What is alive after a step, best first, and what ended there; at last the answers."""
    facts: dict[str, Any] = {"line": row.line + 1}
    if isinstance(event, Stopped):
        return facts | {"answers": [answer_record(target, one) for one in event.answers]}
    shown = [one for one in event.expansions if one.fate != "dropped"]
    beams = [
        {"text": target.decode(written[one.node]), "score": one.score, "total": one.total, "ended": one.fate == "ended"}
        for one in sorted(shown, key=lambda one: -one.total)
    ]
    return facts | {"step": event.step, "beams": beams}


def symbol_of(target: Tokenizer, symbol: int) -> str:
    return "END" if symbol == END else target.symbols([symbol])[0]


class Keeping:
    """Keeps the whole search of every text, for pictures."""

    def __init__(self, target: Tokenizer) -> None:
        self.target, self.traces = target, list[tuple[int, Trace]]()
        self.nodes: dict[int, list[Node]] = {}

    def __call__(self, row: Row, event: Told, written: dict[int, tuple[int, ...]]) -> None:
        nodes = self.nodes.setdefault(id(row), [])
        if isinstance(event, Expanded):
            nodes += [
                Node(
                    one.node,
                    one.parent,
                    event.step,
                    symbol_of(self.target, one.symbol),
                    one.log_probability,
                    one.total,
                    one.score,
                    one.fate,
                )
                for one in event.expansions
            ]
            return
        leaves = {node.number for node in nodes if node.fate == "ended"} | set(event.live)
        numbers: dict[tuple[int, ...], list[int]] = {}
        for number in sorted(leaves, reverse=True):
            numbers.setdefault(written[number], []).append(number)  # samples may say the same
        answers = tuple(numbers[(*one.tokens, END) if one.finished else one.tokens].pop() for one in event.answers)
        del self.nodes[id(row)]  # another row may get the same place in memory
        self.traces.append((row.line, Trace(row.text, tuple(nodes), event.reason, event.live, answers)))
