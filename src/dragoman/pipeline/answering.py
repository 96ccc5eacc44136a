"""How answers are found: sources are read, batches go through the search, and what it finds becomes text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dragoman.contracts import Answer, Hypothesis, Prediction, Request, State
from dragoman.data.pieces import join, split
from dragoman.data.tokenizers import END, PADDING, START
from dragoman.data.windows import symbols_of
from dragoman.drawing.alignment import windows_within
from dragoman.errors import ConfigError, DataError
from dragoman.pipeline.constraints import Constraints, bind, phrases_of
from dragoman.pipeline.rows import BATCH_TOKENS, Asked, Longer, Row, Source, batched, live_rows, refuse_split
from dragoman.pipeline.teaching import Replayed
from dragoman.search import Beam, Parts, search

if TYPE_CHECKING:
    from dragoman.pipeline.pipeline import Pipeline

NOTHING = Prediction("", 0.0, 0.0, ())  # what an empty text is answered


@dataclass(frozen=True)
class Begun:
    """Prefixes of one length, and how probable they are."""

    symbols: Int[Tensor, "B P"]
    totals: Float[Tensor, " B"]


def read_sources(pipeline: "Pipeline", texts: list[str], policy: Longer, before: int) -> list[Source]:
    """The tokens of each text; `before` texts stand before the first, for the error that names one."""
    if pipeline.alone:
        return [Source([[]], [text]) for text in texts]
    limit = pipeline.settings.limits.source

    def count(some: list[str]) -> list[int]:
        return [len(row) for row in pipeline.source.encode(some)]

    sources = []
    for number, (text, row) in enumerate(zip(texts, pipeline.source.encode(texts), strict=True), start=before + 1):
        if not text.strip() or len(row) <= limit:
            sources.append(Source([row], [text]) if row and text.strip() else Source([], []))
        elif policy == "cut":
            sources.append(Source([row[:limit]], [text], "cut"))
        elif policy == "split":
            texts_of = split(text, limit, count)
            pieces = [
                (row, piece) for row, piece in zip(pipeline.source.encode(texts_of), texts_of, strict=True) if row
            ]
            rows, parts = [row[:limit] for row, _ in pieces], [piece for _, piece in pieces]
            sources.append(Source(rows, parts, "split", pipeline.source.symbols(row)))
        else:
            raise DataError(
                f"Line {number:,} has {len(row):,} tokens; at most {limit:,} are read at once (limits.source). "
                "Shorten it, or have it split or cut (--longer split, --longer cut)."
            )
    return sources


@torch.inference_mode()
def answer(
    pipeline: "Pipeline",
    texts: list[str],
    sources: list[Source],
    asked: Asked,
    constraints: Sequence[Constraints],
    before: int,
) -> list[Answer]:
    refuse_split(sources, constraints, before)
    prefixes = prefixes_of(pipeline, texts, constraints, before)
    rows = [
        Row(tokens, text, before + number, constraints[number], prefixes[number], picture)
        for number, source in enumerate(sources)
        for tokens, text, picture in zip(source.rows, source.texts, source.pictures or repeat(None), strict=False)
    ]
    lengths = [len(row.tokens) for row in rows]
    for row in rows:
        if row.constraints:  # all are looked at before the first is decoded
            phrases_of(pipeline.written, row.constraints, row.prefix, longest_of(pipeline, row))
    found: dict[int, tuple[Prediction, ...]] = {}
    for begun in sorted({len(row.prefix) for row in rows}):  # rows of a batch have prefixes of one length
        alike = [number for number, row in enumerate(rows) if len(row.prefix) == begun]
        alike.sort(key=lengths.__getitem__)
        for numbers in batched(alike, lengths, BATCH_TOKENS // live_rows(asked)):
            found |= zip(numbers, decoded(pipeline, [rows[n] for n in numbers], asked), strict=True)
    parts = iter([found[number] for number in range(len(rows))])
    spaced = pipeline.target.kind == "words"
    return [
        Answer(
            text,
            join([next(parts) for _ in source.rows], spaced, source.whole)
            if source.rows
            else (NOTHING,) * asked.n_best,
            source.longer,
        )
        for text, source in zip(texts, sources, strict=True)
    ]


def prefixes_of(
    pipeline: "Pipeline", texts: list[str], constraints: Sequence[Constraints], before: int
) -> list[tuple[int, ...]]:
    """What each answer begins with: its prompt, or what the constraints say."""
    if not pipeline.alone:
        return [pipeline.written.prefix(wanted) for wanted in constraints]
    if any(wanted.prefix for wanted in constraints):
        raise ConfigError("What a language model is given is what its answer begins with: leave the prefix out.")
    prompts = symbols_of(pipeline.target, texts)
    room = pipeline.positions
    for number, prompt in enumerate(prompts, start=before + 1):
        if room is not None and len(prompt) >= room:
            raise DataError(
                f"Line {number:,} has {len(prompt):,} symbols, and this model has {room:,} positions "
                f"(model.decoder.positions.length), START counted: {room - 1:,} symbols at most can be gone on "
                "with. Give the end of the text alone, or train with more positions, or with sinusoidal or rotary "
                "ones, which have no end."
            )
    return [tuple(prompt) for prompt in prompts]


def longest_of(pipeline: "Pipeline", row: Row) -> int:
    """Symbols of an answer at most, END counted; what a language model goes on with is a part of it."""
    if not pipeline.alone:
        return pipeline.settings.answer_lengths(len(row.tokens))[1]
    wanted, room = len(row.prefix) + pipeline.settings.limits.answer, pipeline.positions
    return wanted if room is None else min(wanted, room)


def shortest_of(pipeline: "Pipeline", row: Row) -> int:
    if pipeline.alone:
        return len(row.prefix) + pipeline.settings.limits.least
    return pipeline.settings.answer_lengths(len(row.tokens))[0]


def decoded(pipeline: "Pipeline", rows: Sequence[Row], asked: Asked) -> list[tuple[Prediction, ...]]:
    found = find(pipeline, rows, asked)
    again: Sequence[Sequence[Replayed | None]] = [[None] * len(hypotheses) for hypotheses in found]
    if asked.alignments:
        again = pipeline.replay(rows, found)
    return [
        tuple(
            prediction_of(pipeline, [*row.prefix] if pipeline.alone else row.tokens, hypothesis, replayed)
            for hypothesis, replayed in zip(hypotheses, of_row, strict=True)
        )
        for row, hypotheses, of_row in zip(rows, found, again, strict=True)
    ]


def find(pipeline: "Pipeline", rows: Sequence[Row], asked: Asked) -> list[list[Hypothesis]]:
    """What the search finds for each row, best first."""
    longest, shortest = [longest_of(pipeline, row) for row in rows], [shortest_of(pipeline, row) for row in rows]
    if pipeline.engine is not None and pipeline.engine.takes(
        asked, rows, pipeline.settings.rules, max(longest, default=0)
    ):
        sources = [row.tokens for row in rows]
        return pipeline.engine.engine.find(sources, asked.search, asked.n_best, longest, shortest, asked.scores)
    prefixes = [row.prefix for row in rows]
    bound = bind(pipeline.written, [row.constraints for row in rows], prefixes, longest)
    batch, device = pipeline.batch_of(rows), pipeline.device
    begun, state = prime(pipeline, prefixes, pipeline.model.begin(batch))
    attends = isinstance(asked.search, Beam) and asked.search.coverage > 0
    step = partial(pipeline.model.step, attention=True) if attends else pipeline.model.step
    request = Request(
        start=torch.full((len(rows),), START, device=device),
        end=END,
        max_length=torch.tensor(longest, device=device),
        forbidden=(PADDING, START),
        min_length=torch.tensor(shortest, device=device) if max(shortest) > 1 else None,
        prefix=None if begun is None else begun.symbols,
        prefix_total=None if begun is None else begun.totals,
        lines=torch.tensor([row.line for row in rows], device=device),
        source_mask=batch.sources["source"].mask if attends else None,
    )
    tracer = None if asked.tracer is None else asked.tracer(rows)
    parts = Parts(pipeline.settings.rules, bound.processors, bound.required, tracer)
    return search(asked.search, step, state, request, asked.n_best, parts)


def prime(pipeline: "Pipeline", prefixes: Sequence[tuple[int, ...]], state: State) -> tuple[Begun | None, State]:
    """Answers that have begun: prefixes of one length go through the decoder in one run, but for their last symbol,
    which the search feeds."""
    if not prefixes[0]:
        return None, state
    symbols = torch.tensor(prefixes, device=pipeline.device)
    fed = torch.cat([torch.full_like(symbols[:, :1], START), symbols[:, :-1]], 1)
    logs, state = pipeline.model.logs(fed, state)
    return Begun(symbols, logs.gather(2, symbols[:, :, None])[:, :, 0].sum(1)), state


def prediction_of(
    pipeline: "Pipeline", row: list[int], hypothesis: Hypothesis, replayed: Replayed | None
) -> Prediction:
    weights, windows = (None, None) if replayed is None else (replayed.weights, replayed.windows)
    return Prediction(
        text=pipeline.target.decode(hypothesis.tokens),
        score=hypothesis.score,
        log_probability=hypothesis.total,
        tokens=pipeline.target.symbols(hypothesis.tokens),
        finished=hypothesis.finished,
        source_tokens=pipeline.source_symbols(row),
        alignment=None if weights is None else tuple(map(tuple, weights.tolist())),
        token_log_probabilities=() if replayed is None else tuple(replayed.log_probabilities.tolist()),
        windows=None if windows is None else windows_within(windows.tolist(), len(pipeline.source_symbols(row))),
        bound=hypothesis.bound,
        grid=None if pipeline.grid is None else pipeline.grid.cells_of_sides,
    )
