"""A model that learns to read, measured on texts: hidden words, next sentences, gaps that it fills, how it looks."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.texts import Texts, read_texts
from dragoman.evaluation.pretraining import evaluate_reading, head_of
from dragoman.inspection.report.drawn import Drawn
from dragoman.inspection.report.heads import Headed, measure_reading_heads
from dragoman.inspection.report.vector_map import MAPPED, VectorMap, map_texts, sampled
from dragoman.metrics import Measured
from dragoman.pipeline import Pipeline
from dragoman.pipeline.filling import GAP
from dragoman.seeds import key
from dragoman.watching import Watch

FEWEST_WORDS = 4  # of a line that is drawn, or has a gap
LONGEST = 300  # characters of a line with a gap
GAPS = 12
GUESSES = 5


@dataclass(frozen=True)
class Gap:
    """A line with a word taken out, and what the model would put there."""

    before: str
    word: str
    behind: str
    guesses: tuple[tuple[str, float], ...]  # each with its probability, best first


@dataclass(frozen=True)
class TestedReading:
    """A model that learns to read, measured."""

    drawn: Drawn
    symbols: int
    documents: int
    words: int  # that were hidden
    metrics: tuple[Measured, ...]
    gaps: tuple[Gap, ...]
    headed: Headed | None
    vectors: VectorMap | None


def examine_reading(
    pipeline: Pipeline, data: Texts, record: dict[str, Any], on: tuple[str, ...], told: Watch
) -> TestedReading:
    """Measure as `evaluate` does, and look at some lines."""
    files = tuple("standard input" if file == "-" else file for file in on) or data.files("valid")
    with spooled(on) as (corpora,):
        names = files_of(corpora) if on else list(files)
        result = evaluate_reading(pipeline, names, told)
        lines, _ = sampled(lines_of(pipeline, names), MAPPED)
    known = {} if on else record.get("valid") or {}
    changed = "sha256" in known and fingerprint(files) != known["sha256"]
    return TestedReading(
        drawn=Drawn(
            files, result.examples, result.examples, result.problems.count, "given" if on else "valid", changed
        ),
        symbols=result.symbols,
        documents=result.documents,
        words=result.words,
        metrics=result.metrics,
        gaps=tuple(gaps_of(pipeline, lines)),
        headed=measure_reading_heads(pipeline, lines, told),
        vectors=map_texts(pipeline, lines) if len(lines) > 2 else None,
    )


def lines_of(pipeline: Pipeline, files: Sequence[str]) -> Iterator[str]:
    """Lines of some words, without tabs, which stand between two texts."""
    for piece in read_texts(files, head_of(pipeline).documents, Problems()):
        if len(piece.text.split()) >= FEWEST_WORDS:
            yield piece.text.replace("\t", " ")


def gaps_of(pipeline: Pipeline, lines: Sequence[str]) -> list[Gap]:
    """Of the first few lines that have a word of one symbol; which of them is taken out depends on the line alone."""
    if head_of(pipeline).learns == "next_sentence":
        return []
    cut = [one for line in lines if len(line) <= LONGEST and GAP not in line for one in parted(pipeline, line)][:GAPS]
    texts = [f"{before}{GAP}{behind}" for before, _, behind in cut]
    most = min(GUESSES, pipeline.source.size - 4)
    answers = pipeline.predict(texts, n_best=most) if texts else []
    return [
        Gap(before, word, behind, tuple((one.tokens[0], math.exp(one.log_probability)) for one in answer.predictions))
        for (before, word, behind), answer in zip(cut, answers, strict=True)
    ]


def parted(pipeline: Pipeline, line: str) -> Iterator[tuple[str, str, str]]:
    """A line before a word, the word, and behind it; nothing if it is too long, or no word is one symbol."""
    words = line.split()
    rows = pipeline.source.encode([*words, line])
    whole = [place for place, row in enumerate(rows[:-1]) if len(row) == 1]
    if not whole or len(rows[-1]) + 1 > pipeline.settings.limits.source:
        return
    place = whole[key("gap", line) % len(whole)]
    before, behind = " ".join(words[:place]), " ".join(words[place + 1 :])
    yield f"{before} " if before else "", words[place], f" {behind}" if behind else ""
