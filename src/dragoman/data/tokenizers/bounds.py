"""How much time and memory a tokenizer may take; raises ValueError with what is too much."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

MOST_GROWTH = 1_000  # times that rules may lengthen a text
MOST_TEXT = 64_000_000  # characters of all symbols, lengthened by the rules
MOST_WORK = 100_000_000  # the same times the longest symbol, which a unigram model looks for everywhere: 4 seconds


def refuse_work(model: dict[str, Any], vocabulary: Sequence[str], growth: int) -> None:
    """No vocabulary keeps a machine busy for minutes, or fills its memory, when its symbols are spelled."""
    text, longest = growth * sum(map(len, vocabulary)), max(map(len, vocabulary))
    if text > MOST_TEXT or (model.get("type") == "Unigram" and text * longest > MOST_WORK):
        raise ValueError("its symbols are so many and so long that no text could be split in reasonable time")


def growth_of(content: dict[str, Any]) -> int:
    """How many times as long rules may make a text. A few that write ten letters for one would fill any memory, and so
    would padding to any length."""
    for part in ("truncation", "padding", "post_processor"):
        if content.get(part) is not None:
            raise ValueError(f"it has a {part}, which dragoman leaves out")
    rules = rules_in([content.get(part) for part in ("normalizer", "decoder")])
    growth = math.prod(max(1, len(str(rule.get("content")))) for rule in rules)
    if growth > MOST_GROWTH:
        raise ValueError(f"its rules make a text more than {MOST_GROWTH:,} times as long")
    return growth


def rules_in(part: Any) -> Iterator[dict[str, Any]]:
    """All rules that replace something, however they are nested (no deeper than JSON was read)."""
    if isinstance(part, dict):
        if part.get("type") == "Replace":
            yield part
        yield from (rule for inner in part.values() for rule in rules_in(inner))
    elif isinstance(part, list):
        yield from (rule for inner in part for rule in rules_in(inner))
