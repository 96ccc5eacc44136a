"""Answers that stand in documents: windows are read one by one, and their scores become one answer a question."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from numpy.typing import NDArray

from dragoman.contracts import Answer, Prediction, Span
from dragoman.data.labelled import collate_texts
from dragoman.data.questions import Window, Windowing, placed_documents, windows_of
from dragoman.data.readers.formats import parsed
from dragoman.data.readers.questions import Question, question_of
from dragoman.data.tokenizers import END, Place, Placed, Tokenizer
from dragoman.errors import DataError
from dragoman.heads import SpansHead
from dragoman.models import EncoderOnlyModel
from dragoman.pipeline.rows import batched
from dragoman.served import Extraction

BATCH_TOKENS = 8192
READ = 256  # questions that are answered together, at most
MOST_CHARACTERS = 1_000_000  # of their documents
SPARE = 50  # spans beyond those asked for, since several may have one text
NOTHING = Prediction("", 0.0, 0.0, ())  # what an empty line is answered

Scores = NDArray[np.float64]


@dataclass
class Found:
    """What all windows of a document say so far."""

    windows: list[Window]
    best: Scores  # a row a symbol of the document, a column a length from 1: the best score of such a span
    nothing: float = float("inf")  # the least score of no answer: it must be in no window

    def add(self, window: Window, scores: Scores) -> None:
        """The scores of a window's symbols, as start and as end; a span in several windows has its best score."""
        self.nothing = min(self.nothing, float(scores[0].sum()))
        if not window.symbols:
            return
        part = scores[window.before : window.before + window.symbols]
        longest = self.best.shape[1]
        ends = np.concatenate([part[:, 1], np.full(longest - 1, -np.inf)])
        spans = part[:, :1] + np.lib.stride_tricks.sliding_window_view(ends, longest)
        rows = self.best[window.first : window.first + window.symbols]
        np.maximum(rows, spans, out=rows)


@dataclass(frozen=True)
class SpanReader:
    """A model that finds answers in documents: score(i, j) = S·h_i + E·h_j of the best legal span i ≤ j against
    S·h_0 + E·h_0 of START, which is no answer (Devlin et al. 2019, 4.3)."""

    model: EncoderOnlyModel
    tokenizer: Tokenizer
    extraction: Extraction
    limit: int  # symbols of a window
    may_be_nothing: bool  # training had questions without an answer
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    def stream(self, lines: Iterator[str], policy: str, window: int, n_best: int) -> Iterator[Answer]:
        """Answers in the order of the lines: {"question": …, "document": …}, or question<TAB>document."""
        asked = (question_in(line, number) for number, line in enumerate(lines, start=1))
        return self.answers(asked, policy, n_best, window)

    def answers(
        self, questions: Iterable[Question | None], policy: str = "split", n_best: int = 1, window: int = READ
    ) -> Iterator[Answer]:
        """An answer a question; None is answered with nothing."""
        waiting, before = iter(questions), 0
        while read := taken(waiting, min(window, READ)):
            asked = [one for one in read if one is not None]
            found = iter(self.answered(asked, policy, n_best, before))
            yield from (Answer("", (NOTHING,) * n_best) if one is None else next(found) for one in read)
            before += len(read)

    def answered(self, asked: Sequence[Question], policy: str, n_best: int, before: int) -> list[Answer]:
        how = Windowing(self.limit, self.extraction.stride, self.extraction.question)
        placed = placed_documents(self.tokenizer, asked)
        rows = self.tokenizer.encode([one.question for one in asked])
        found, longer = list[Found](), list[bool]()
        for number, (one, row) in enumerate(zip(asked, rows, strict=True), start=before + 1):
            document = placed[one.document][0]
            windows = windows_of(row, document, how)
            longer.append(len(row) > how.question)
            if policy == "refuse" and (longer[-1] or len(windows) > 1):
                raise too_long(number, len(row), len(document), how)
            longer[-1] |= policy == "cut" and len(windows) > 1
            windows = windows[:1] if policy == "cut" else windows
            found.append(Found(windows, np.full((len(document), self.extraction.longest), -np.inf)))
        self.read(found)
        return [
            Answer(
                one.question,
                self.chosen(one, placed[one.document], what, n_best),
                "cut" if cut else "split" if len(what.windows) > 1 else "",
            )
            for one, what, cut in zip(asked, found, longer, strict=True)
        ]

    @torch.inference_mode()
    def read(self, found: Sequence[Found]) -> None:
        """All windows of all documents, those of about one length together."""
        windows = [(one, window) for one in found for window in one.windows]
        lengths = [len(window.row) + 1 for _, window in windows]
        head = self.model.head
        assert isinstance(head, SpansHead)  # noqa: S101
        for numbers in batched(sorted(range(len(windows)), key=lengths.__getitem__), lengths, BATCH_TOKENS):
            batch = collate_texts([windows[number][1].row for number in numbers]).to(self.device)
            scores = head.scores(self.model.read(batch)).cpu().double().numpy()
            for number, row in zip(numbers, scores, strict=True):
                windows[number][0].add(windows[number][1], row)

    def chosen(self, one: Question, placed: Placed, found: Found, n_best: int) -> tuple[Prediction, ...]:
        """The best spans, each with another text, and among them nothing, where that may be; fewer where there are not
        so many. Probabilities are over all legal spans, and nothing."""
        scores = np.where(legal(placed[1], found.best.shape[1]), found.best, -np.inf)
        known = np.append(scores, found.nothing if self.may_be_nothing else -np.inf)
        total = float(np.logaddexp.reduce(known))
        source = self.tokenizer.symbols([*found.windows[0].row[: found.windows[0].before - 2], *placed[0], END])
        ranked = list[tuple[float, Prediction]]()
        if self.may_be_nothing:
            log = found.nothing - total
            nothing = Prediction("", log, log, (), source_tokens=source)
            ranked.append((found.nothing - self.extraction.threshold, nothing))
        words = [match.start() for match in re.finditer(r"\S+", one.document)]
        for text, (first, last) in best_spans(one.document, placed[1], scores, n_best).items():
            score, (start, end) = float(scores[first, last - first]), (placed[1][first][0], placed[1][last][1])
            span = Span(start, end, bisect_right(words, start) - 1, bisect_right(words, end - 1) - 1)
            symbols, log = self.tokenizer.symbols(placed[0][first : last + 1]), score - total
            ranked.append((score, Prediction(text, log, log, symbols, source_tokens=source, span=span)))
        ranked.sort(key=lambda pair: -pair[0])  # stable: of equals, nothing comes first
        return tuple(prediction for _, prediction in ranked[:n_best]) or (NOTHING,)


def legal(places: Sequence[Place], longest: int) -> NDArray[np.bool_]:
    """Which spans begin and end with a symbol that stands for more than spaces, a row a symbol, a column a length."""
    real = np.array([start < end for start, end in places], np.bool_)
    ends = np.concatenate([real, np.zeros(longest, np.bool_)])
    ended: NDArray[np.bool_] = np.lib.stride_tricks.sliding_window_view(ends, longest)[: len(real)]
    return real[:, None] & ended


def best_spans(document: str, places: Sequence[Place], scores: Scores, wanted: int) -> dict[str, tuple[int, int]]:
    """Texts, the best first, each with the first and the last symbol where it scores most."""
    found: dict[str, tuple[int, int]] = {}
    for place in best_places(scores.ravel(), wanted + SPARE):
        first, more = divmod(int(place), scores.shape[1])
        text = document[places[first][0] : places[first + more][1]]
        found.setdefault(text, (first, first + more))
    return dict(islice(found.items(), wanted))


def taken(questions: Iterator[Question | None], most: int) -> list[Question | None]:
    """So many questions, or fewer where their documents are long: scores of all their spans are in memory."""
    read, room = list[Question | None](), MOST_CHARACTERS
    for one in questions:
        read.append(one)
        room -= 0 if one is None else len(one.document)
        if len(read) == most or room <= 0:
            break
    return read


def best_places(scores: Scores, wanted: int) -> NDArray[np.int64]:
    """Where the highest scores stand, the highest first, of equals the first."""
    places = np.flatnonzero(np.isfinite(scores))
    if len(places) > wanted:
        least = np.partition(scores[places], -wanted)[-wanted]
        places = places[scores[places] >= least]
    return places[np.argsort(-scores[places], kind="stable")][:wanted]


def question_in(line: str, number: int) -> Question | None:
    """A question with its document, from a line; nothing where it is blank."""
    if not line.strip():
        return None
    wanted = 'Give {"question": …, "document": …}, or question<TAB>document.'
    if not line.lstrip().startswith("{"):
        parts = line.split("\t")
        if len(parts) != 2:
            raise DataError(
                f"Line {number:,}: this model answers a question from a document, and the line has {len(parts)} "
                f"column{'s' * (len(parts) > 1)} between tabs. {wanted}"
            )
        record: object = {"question": parts[0], "document": parts[1]}
    else:
        record = parsed(line)
    if not isinstance(record, dict):
        raise DataError(f"Line {number:,}: no JSON object. {wanted}")
    reason, found = question_of(record, answered=False)
    if found is None:
        raise DataError(f"Line {number:,}: {reason}. {wanted}")
    return found


def too_long(number: int, question: int, document: int, how: Windowing) -> DataError:
    return DataError(
        f"Line {number:,} has a question of {question:,} and a document of {document:,} tokens; at most "
        f"{how.question:,} (extraction.question) and, with END, {how.longest:,} in all (limits.source) are read at "
        "once. Shorten them, or have the document read in windows (--longer split)."
    )
