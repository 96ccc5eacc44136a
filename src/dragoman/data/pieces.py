"""A text that is too long for a model: cut at sentence ends, else at spaces, else anywhere, and its answers joined."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain

from dragoman.contracts import Prediction
from dragoman.drawing.alignment import Window, Windows
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


def join(parts: Sequence[tuple[Prediction, ...]], spaced: bool, whole: tuple[str, ...] = ()) -> tuple[Prediction, ...]:
    """Answers to a text from the answers to its pieces: the second best is made of their second best, and so on.

    `whole` is the tokens of the text if it was split, since those of the spaces at its seams are in no piece.
    """
    if len(parts) == 1 and not whole:
        return parts[0]
    pieces = [predictions[0].source_tokens[:-1] for predictions in parts]
    starts = starts_in(whole, pieces)
    if starts is None:  # a seam went through a token: the pieces stand side by side
        whole, starts = tuple(chain(*pieces)), [0, *accumulate(map(len, pieces))][:-1]
    return tuple(join_one(row, spaced, whole, starts) for row in zip(*parts, strict=False))


def starts_in(whole: tuple[str, ...], pieces: Sequence[tuple[str, ...]]) -> list[int] | None:
    """Where the tokens of each piece begin in those of the whole text, one behind the other."""
    starts: list[int] = []
    end = 0
    for piece in pieces:
        places = range(end, len(whole) - len(piece) + 1)
        fits = (at for at in places if whole[at] == piece[0] and whole[at : at + len(piece)] == piece)
        start = next(fits, None)
        if start is None:
            return None
        starts.append(start)
        end = start + len(piece)
    return starts


def join_one(parts: Sequence[Prediction], spaced: bool, whole: tuple[str, ...], starts: Sequence[int]) -> Prediction:
    """Log-probabilities add up; the score is the mean. Of the ENDs that the model read, one stays, the last."""
    return Prediction(
        text=join_texts([part.text for part in parts], spaced),
        score=sum(part.score for part in parts) / len(parts),
        log_probability=sum(part.log_probability for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        finished=all(part.finished for part in parts),
        source_tokens=(*whole, *parts[-1].source_tokens[-1:]),
        alignment=join_alignments(parts, len(whole), starts),
        token_log_probabilities=tuple(
            value
            for part, steps in zip(parts, kept_steps(parts), strict=True)
            for value in part.token_log_probabilities[:steps]
        ),
        windows=join_windows(parts, len(whole), starts),
    )


def kept_steps(parts: Sequence[Prediction]) -> list[int]:
    """How many symbols of each answer are kept: its tokens, and the last END if all of them ended."""
    steps = [len(part.tokens) for part in parts]
    return [*steps[:-1], steps[-1] + all(part.finished for part in parts)]


def join_texts(texts: Sequence[str], spaced: bool) -> str:
    """With a space at each seam, unless both its sides belong to a script that has none."""
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and (spaced or not (is_spaceless(joined[-1][-1]) and is_spaceless(text[0]))):
            joined.append(" ")
        joined.append(text)
    return "".join(joined)


def join_alignments(
    parts: Sequence[Prediction], width: int, starts: Sequence[int]
) -> tuple[tuple[float, ...], ...] | None:
    """Blocks along the diagonal; what looked at the END of its piece looks at END, in the last column."""
    rows: list[tuple[float, ...]] = []
    for part, start, steps in zip(parts, starts, kept_steps(parts), strict=True):
        if part.alignment is None:
            return None
        behind = width - start - len(part.source_tokens) + 1
        rows += [(*[0.0] * start, *row[:-1], *[0.0] * behind, row[-1]) for row in part.alignment[:steps]]
    return tuple(rows)


def join_windows(parts: Sequence[Prediction], width: int, starts: Sequence[int]) -> Windows | None:
    """Each window where its piece stands. One that reached END keeps its tokens, unless END is all that it has."""
    windows: list[Window] = []
    for part, start, steps in zip(parts, starts, kept_steps(parts), strict=True):
        if part.windows is None:
            return None
        end = len(part.source_tokens) - 1
        for first, centre, last in part.windows[:steps]:
            if first == last == end:
                windows.append((width, float(width), width))
            else:
                reached = last - (last == end and start + end < width)
                windows.append((start + first, start + centre, start + reached))
    return tuple(windows)
