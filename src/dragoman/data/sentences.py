"""Lines of text cut into sentences, by rules."""

import re

# An end is . ! ? or …, what closes quotations and brackets behind it, and a space; or a full stop of scripts without.
ENDED = re.compile(r"[.!?…]+[\"'”’»)\]_]*\s+|[。！？｡]+[」』”’）]*\s*")
OPENED = "\"'“‘«([_—-*"  # what may stand before the first letter of a sentence
# Titles and the like, which a full stop follows within a sentence.
SHORTENED = frozenset(
    ("mr", "mrs", "ms", "messrs", "mme", "mlle", "dr", "st", "rev", "hon", "esq", "capt", "col", "gen", "lieut", "lt")
) | {"sergt", "prof", "viz", "vs"}
SHORT = re.compile(r"(\w+)\.\s+$")


def sentences_of(line: str) -> list[str]:
    """The sentences of a line: one ends at . ! ? or … where the next begins with a capital letter or a digit. No title
    (Mr.) and no initial (J.) ends one."""
    found, start = [], 0
    for end in ENDED.finditer(line):
        if begins(line[end.end() : end.end() + 4]) and not shortened(line[max(start, end.start() - 12) : end.end()]):
            found.append(line[start : end.end()].strip())
            start = end.end()
    return [sentence for sentence in (*found, line[start:].strip()) if sentence]


def begins(rest: str) -> bool:
    """Whether a sentence may begin so: scripts without capital letters have no small ones either."""
    first = rest.lstrip(OPENED)[:1]
    return bool(first) and not first.islower()


def shortened(before: str) -> bool:
    """Whether the full stop at the end of this belongs to a word."""
    last = SHORT.search(before)
    if last is None:
        return False
    word = last[1]
    return word.lower() in SHORTENED or (len(word) == 1 and word.isupper() and word != "I")
