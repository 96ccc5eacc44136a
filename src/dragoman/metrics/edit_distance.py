"""The fewest insertions, deletions and substitutions between two sequences (Levenshtein 1966)."""

from collections.abc import Hashable, Sequence


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """A whole column of the table at once, a bit a cell (Myers 1999, Hyyrö 2003)."""
    if not first:
        return len(second)
    places: dict[Hashable, int] = {}
    for place, symbol in enumerate(first):
        places[symbol] = places.get(symbol, 0) | 1 << place
    every, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    rises, falls, distance = every, 0, len(first)  # where a cell is one more, or one less, than the cell above it
    for symbol in second:
        equal = places.get(symbol, 0)
        diagonal = equal | falls
        level = (((equal & rises) + rises) ^ rises) | equal
        rises_across = falls | (every & ~(level | rises))
        falls_across = rises & level
        distance += bool(rises_across & last) - bool(falls_across & last)
        rises_across = rises_across << 1 | 1
        rises = (falls_across << 1 | ~(diagonal | rises_across)) & every
        falls = rises_across & diagonal & every
    return distance
