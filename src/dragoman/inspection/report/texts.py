"""A language model measured on windows of a text: how hard each place and each symbol is, and how it goes on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.contracts import Batch
from dragoman.data.chunk import Numbers
from dragoman.data.order import Batching
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.pairs import fingerprint
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.texts import Texts, read_texts
from dragoman.data.store import Store
from dragoman.data.tokenizers import END
from dragoman.data.windows import build_windows
from dragoman.evaluation.beside import texts_beside
from dragoman.evaluation.texts import EVALUATED, Windows, apart, in_streams, rows_of, with_intervals
from dragoman.inspection.report.drawn import Drawn
from dragoman.inspection.report.heads import DRAWN_TOKENS, Headed, measure_reading_heads
from dragoman.metrics import Measured
from dragoman.models import DecoderOnly
from dragoman.pipeline import Pipeline
from dragoman.storage import temporary_folder
from dragoman.watching import Watch

Floats = NDArray[np.float64]
PASSAGES = 3  # windows that are drawn symbol by symbol
PROMPTS = 3
PROMPT_SYMBOLS = 60
ANSWER_SYMBOLS = 160
BATCH = 64  # windows at most
HARD = 20  # symbols that are listed


@dataclass(frozen=True)
class Place:
    """Positions of a window, from 1: the mean loss of their symbols with its 95 % interval."""

    first: int
    last: int
    loss: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Hard:
    """A symbol, and how much of the loss is its own."""

    symbol: str
    count: int
    loss: float  # mean, in nats
    share: float  # of the whole loss


@dataclass(frozen=True)
class Passage:
    """Symbols of a window with their log-probabilities."""

    symbols: tuple[str, ...]
    log_probabilities: tuple[float, ...]


@dataclass(frozen=True)
class Continued:
    """A prompt, how the model goes on, and how the text does."""

    prompt: str
    answer: str
    finished: bool  # whether the model ended it
    truth: str


@dataclass(frozen=True)
class TestedText:
    """A language model, measured."""

    drawn: Drawn
    context: int
    symbols: int
    metrics: tuple[Measured, ...]
    places: tuple[Place, ...]
    hard: tuple[Hard, ...]
    passages: tuple[Passage, ...]
    continued: tuple[Continued, ...]
    headed: Headed | None
    standing: Standing | None = None


@dataclass
class Sums:
    """What is added up over windows."""

    context: int
    vocabulary: int
    totals: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[float]]] = field(default_factory=list)  # of the first windows
    windows: list[Numbers] | None = None  # all symbols, for baselines

    def __post_init__(self) -> None:
        self.at: Floats = np.zeros((3, self.context))  # count, sum and sum of squares at each position
        self.of: Floats = np.zeros((2, self.vocabulary))  # count and sum of each symbol

    def add(self, logs: Tensor, batch: Batch) -> None:
        expected = batch.truth().outputs
        values, mask = logs.cpu().double().numpy(), expected.mask.cpu().numpy()
        symbols = expected.values.cpu().numpy()
        self.totals += values.sum(1).tolist()
        self.counts += mask.sum(1).tolist()
        if self.windows is not None:
            self.windows += rows_of(batch)
        steps = mask.shape[1]
        losses = np.where(mask, -values, 0.0)
        self.at[:, :steps] += np.stack([mask.sum(0), losses.sum(0), (losses**2).sum(0)])
        for row, numbers in enumerate((mask[mask].astype(np.float64), losses[mask])):
            self.of[row] += np.bincount(symbols[mask], numbers, self.vocabulary)
        for number in range(min(len(values), PASSAGES - len(self.rows))):
            real = mask[number]
            self.rows.append((symbols[number][real].tolist(), values[number][real].tolist()))


def examine_text(
    pipeline: Pipeline,
    data: Texts,
    record: dict[str, Any],
    on: tuple[str, ...],
    lines: int,
    told: Watch,
    beside: Beside | None = None,
) -> TestedText:
    """Measure at most so many windows of the files given, else of the validation data; where a state is carried from
    window to window, all of them."""
    model, problems = pipeline.settings.model, Problems()
    assert isinstance(model, DecoderOnly)  # noqa: S101 (others answer sources)
    files = tuple("standard input" if file == "-" else file for file in on) or data.files("valid")
    with spooled(on) as (corpora,), temporary_folder() as folder:
        names = files_of(corpora) if on else list(files)
        store = build_windows(
            folder / "windows",
            read_texts(names, model.documents, problems),
            pipeline.target,
            model.context,
            "",
            problems,
            streams=model.carry == "state",
        )
        sums = Sums(model.context, pipeline.target.size, windows=None if beside is None else [])
        for logs, batch in measured(pipeline, store, lines, told):
            sums.add(logs, batch)
    known = {} if on else record.get("valid") or {}
    changed = "sha256" in known and fingerprint(files) != known["sha256"]
    drawn = Drawn(files, len(sums.totals), len(store), problems.count, "given" if on else "valid", changed)
    tested = tested_of(pipeline, model, sums, drawn, store, told)
    if beside is None or sums.windows is None:
        return tested
    resamples = pipeline.settings.evaluation.resamples
    return replace(tested, standing=texts_beside(beside, pipeline, sums.windows, sums.totals, resamples))


def measured(pipeline: Pipeline, store: Store, lines: int, told: Watch) -> Iterator[tuple[Tensor, Batch]]:
    """Windows are dealt out at random, so that the first of them are a sample."""
    streams = store.layout == "streams"
    seen, wanted = 0, len(store) if streams else min(lines, len(store))
    batching = Batching(sentences=min(wanted, BATCH), tokens=EVALUATED.tokens)
    for logs, batch in in_streams(pipeline, store) if streams else apart(pipeline, store, batching):
        yield logs, batch
        seen += batch.size
        told("Measuring windows", min(seen, wanted), wanted)
        if seen >= wanted:
            return


def tested_of(
    pipeline: Pipeline, model: DecoderOnly, sums: Sums, drawn: Drawn, store: Store, told: Watch
) -> TestedText:
    symbols = sum(sums.counts)
    characters = round(store.counts.characters * symbols / max(1, store.counts.target_tokens))
    windows = Windows(sums.totals, sums.counts, characters)
    shortest = [pipeline.target.decode(row[:DRAWN_TOKENS]) for row, _ in sums.rows]
    return TestedText(
        drawn=drawn,
        context=model.context,
        symbols=symbols,
        metrics=with_intervals(windows, pipeline.settings.evaluation.resamples),
        places=places_of(sums.at),
        hard=hardest(pipeline, sums.of),
        passages=tuple(Passage(named(pipeline, row), tuple(logs)) for row, logs in sums.rows),
        continued=tuple(continuations(pipeline, [row for row, _ in sums.rows], told)),
        headed=measure_reading_heads(pipeline, shortest, told),
    )


def places_of(at: Floats) -> tuple[Place, ...]:
    """Positions by powers of two: 1, 2, 3–4, 5–8 …; an interval is 1.96 standard errors on either side."""
    found, first = [], 0
    last = int(np.flatnonzero(at[0]).max(initial=-1)) + 1
    while first < last:
        end = min(last, max(1, 2 * first))
        count, total, squares = at[:, first:end].sum(1)
        mean = total / count
        error = 1.96 * float(np.sqrt(max(0.0, squares / count - mean**2) / count))
        found.append(Place(first + 1, end, mean, max(0.0, mean - error), mean + error, int(count)))
        first = end
    return tuple(found)


def hardest(pipeline: Pipeline, of: Floats) -> tuple[Hard, ...]:
    """Those that most of the loss belongs to."""
    counts, losses = of
    order = [int(symbol) for symbol in np.argsort(-losses, kind="stable")[:HARD] if counts[symbol]]
    names, whole = named(pipeline, order), max(float(losses.sum()), 1e-30)
    return tuple(
        Hard(name, int(counts[symbol]), float(losses[symbol] / counts[symbol]), float(losses[symbol] / whole))
        for name, symbol in zip(names, order, strict=True)
    )


def named(pipeline: Pipeline, symbols: Sequence[int]) -> tuple[str, ...]:
    """As they are read; END by its name."""
    found = pipeline.target.symbols(symbols)
    return tuple("END" if symbol == END else name for symbol, name in zip(symbols, found, strict=True))


def continuations(pipeline: Pipeline, rows: Sequence[list[int]], told: Watch) -> Iterator[Continued]:
    """Of windows' beginnings, and of nothing, by the run's own search."""
    prompts, truths = [""], [""]
    for row in rows[:PROMPTS]:
        until = row.index(END) if END in row else len(row)
        cut = min(PROMPT_SYMBOLS, until // 2)
        if cut:
            prompts.append(pipeline.target.decode(row[:cut]))
            truths.append(pipeline.target.decode(row[cut:until]))
    short = pipeline.changed([f"limits.answer={min(ANSWER_SYMBOLS, pipeline.settings.limits.answer)}"])
    for done, (answer, truth) in enumerate(zip(short.stream(prompts), truths, strict=True), start=1):
        yield Continued(answer.source, answer.text.removeprefix(answer.source), answer.best.finished, truth)
        told("Going on", done, len(prompts))
