"""How an answer was found: a search as a tree to draw."""

from dataclasses import asdict
from typing import Any, get_args

from dragoman.contracts import Answer, Prediction
from dragoman.drawing.tree import Answered, Branch, Fate, Tree
from dragoman.pipeline.traces import Node, Trace

FATES: dict[str, Fate] = {fate: fate for fate in get_args(Fate)}


def search_tree(trace: Trace, answer: Answer, prefix: str = "") -> Tree:
    """A trace and what was answered, as plain facts; the best answer's symbols know where they looked."""
    numbers = answer_numbers(trace, answer)
    ranks = {number: rank for rank, number in reversed(list(enumerate(numbers, start=1)))}
    best = {node.number for node in trace.path(numbers[0])}
    live = set(trace.live)

    def branch(node: Node) -> Branch:
        looked = looked_at(answer.best, node.step - 1) if node.number in best else ""
        return Branch(
            node.number,
            node.parent,
            node.step,
            node.symbol,
            node.log_probability,
            node.total,
            node.score,
            FATES[node.fate],
            ranks.get(node.number, 0),
            node.number in live,
            looked,
        )

    answers = tuple(
        Answered(number, one.text, one.log_probability, one.score, one.finished)
        for number, one in zip(numbers, answer.predictions, strict=True)
    )
    return Tree(trace.source, tuple(map(branch, trace.nodes)), trace.reason, answers, prefix)


def answer_numbers(trace: Trace, answer: Answer) -> tuple[int, ...]:
    """The nodes of the predictions: least risk chooses some answers of a search, in an order of its own."""
    left = list(trace.answers)
    begun = trace.nodes[0].step - 1  # symbols of a prefix
    found = []
    for prediction in answer.predictions:
        same = (number for number in left if ends_in(trace, number, prediction, begun))
        number = next(same, left[0])
        left.remove(number)
        found.append(number)
    return tuple(found)


def ends_in(trace: Trace, number: int, prediction: Prediction, begun: int) -> bool:
    path = trace.path(number)
    symbols = tuple(node.symbol for node in path if node.fate != "ended")
    return (symbols, path[-1].fate == "ended") == (prediction.tokens[begun:], prediction.finished)


def looked_at(prediction: Prediction, place: int) -> str:
    """The source token that a symbol looked at most; nothing where it looked nowhere."""
    if not prediction.alignment or place >= len(prediction.alignment):
        return ""
    row = prediction.alignment[place]
    return prediction.aligned().source[max(range(len(row)), key=row.__getitem__)] if any(row) else ""


def tree_record(trace: Trace, answer: Answer, prefix: str = "") -> dict[str, Any]:
    """The search of one text for programs."""
    answers = [
        {
            "node": number,
            "text": one.text,
            "score": one.score,
            "log_probability": one.log_probability,
            "finished": one.finished,
        }
        for number, one in zip(answer_numbers(trace, answer), answer.predictions, strict=True)
    ]
    nodes = [asdict(node) for node in trace.nodes]
    facts = {"source": trace.source, "prefix": prefix, "longer": answer.longer}
    return facts | {"nodes": nodes, "reason": trace.reason, "live": trace.live, "answers": answers}
