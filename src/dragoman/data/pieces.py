"""A text that is too long for a model: cut at sentence ends, else at spaces, else anywhere, and its answers joined."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from dragoman.contracts import Prediction
from dragoman.scripts import is_spaceless

ENDS = ".!?…"  # of a sentence, before a space
CLOSERS = "\"'”’»)]"  # what may stand between such an end and the space
WORD = re.compile(r"\s*\S+")
# The full stop of scripts without spaces; closing brackets and quotation marks belong to the sentence.
WITHIN = re.compile("(?:(?<=[。！？｡])|(?<=[。！？｡][」』”’）]))(?![。！？｡」』”’）])")
TORN = 8  # accents on one letter, at most, that are kept with it

CountTokens = Callable[[list[str]], list[int]]


def split(text: str, limit: int, count: CountTokens) -> list[str]:
    """Pieces of at most `limit` tokens, which are the text again but for the spaces between them."""
    atoms = [atom for word in WORD.findall(text.rstrip()) for atom in WITHIN.split(word) if atom]
    measured = zip(atoms, sizes(atoms, count), strict=True)
    atoms = [part for atom, size in measured for part in fitting(atom, size, limit, count)]
    pieces = ["".join(atoms[first:last]).strip() for first, last in spans(atoms, sizes(atoms, count), limit)]
    found = zip(pieces, count(pieces), strict=True)
    return [part for piece, size in found for part in fitting(piece, size, limit, count)]


def sizes(atoms: list[str], count: CountTokens) -> list[int]:
    """Tokens of each atom, with the space before it or without, whichever are more."""
    return [max(both) for both in zip(count(atoms), count([atom.lstrip() for atom in atoms]), strict=True)]


def spans(atoms: list[str], tokens: list[int], limit: int) -> Iterator[tuple[int, int]]:
    """As many atoms as fit, back to the last sentence that ends among them."""
    before = [0, *accumulate(tokens)]
    first = 0
    while first < len(atoms):
        last = first + 1
        while last < len(atoms) and before[last + 1] - before[first] <= limit:
            last += 1
        if last < len(atoms):
            ended = (place for place in range(last, first, -1) if ends_sentence(atoms[place - 1]))
            last = next(ended, last)
        yield first, last
        first = last


def ends_sentence(atom: str) -> bool:
    return atom.rstrip(CLOSERS).endswith(tuple(ENDS)) or WITHIN.search(atom + " ", len(atom)) is not None


def fitting(text: str, size: int, limit: int, count: CountTokens) -> list[str]:
    """The text itself, or its halves, until each fits; no accent is torn from its letter."""
    if size <= limit or len(text) < 2:
        return [text]
    middle = len(text) // 2
    marks = (
        place for place in range(middle, min(middle + TORN, len(text) - 1)) if not unicodedata.combining(text[place])
    )
    middle = next(marks, middle)
    halves = [text[:middle], text[middle:]]
    measured = zip(halves, count(halves), strict=True)
    return [part for half, half_size in measured for part in fitting(half, half_size, limit, count)]


def join(parts: Sequence[tuple[Prediction, ...]], spaced: bool) -> tuple[Prediction, ...]:
    """Answers to a text from the answers to its pieces: the second best is made of their second best, and so on."""
    if not parts:
        return (Prediction("", 0.0, 0.0, ()),)
    return parts[0] if len(parts) == 1 else tuple(join_one(row, spaced) for row in zip(*parts, strict=False))


def join_one(parts: Sequence[Prediction], spaced: bool) -> Prediction:
    """Log-probabilities add up; the score is the mean. Of the ENDs that the model read, one stays, the last."""
    tokens = [token for part in parts for token in part.source_tokens[:-1]]
    return Prediction(
        text=join_texts([part.text for part in parts], spaced),
        score=sum(part.score for part in parts) / len(parts),
        log_probability=sum(part.log_probability for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        finished=all(part.finished for part in parts),
        source_tokens=(*tokens, *parts[-1].source_tokens[-1:]),
        alignment=join_alignments(parts, len(tokens)),
        token_log_probabilities=join_log_probabilities(parts),
    )


def join_log_probabilities(parts: Sequence[Prediction]) -> tuple[float, ...]:
    """Of every token, and of the last END."""
    inner = [value for part in parts[:-1] for value in part.token_log_probabilities[: len(part.tokens)]]
    return (*inner, *parts[-1].token_log_probabilities)


def join_texts(texts: Sequence[str], spaced: bool) -> str:
    """With a space at each seam, unless both its sides belong to a script that has none."""
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and (spaced or not (is_spaceless(joined[-1][-1]) and is_spaceless(text[0]))):
            joined.append(" ")
        joined.append(text)
    return "".join(joined)


def join_alignments(parts: Sequence[Prediction], width: int) -> tuple[tuple[float, ...], ...] | None:
    """Blocks along the diagonal; what looked at the END of its piece looks at END, in the last column."""
    finished, before = all(part.finished for part in parts), 0
    rows: list[tuple[float, ...]] = []
    for part in parts:
        if part.alignment is None:
            return None
        behind = width - before - len(part.source_tokens) + 1
        kept = part.alignment if part is parts[-1] and finished else part.alignment[: len(part.tokens)]
        rows += [(*[0.0] * before, *row[:-1], *[0.0] * behind, row[-1]) for row in kept]
        before += len(part.source_tokens) - 1
    return tuple(rows)
