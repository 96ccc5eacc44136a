"""How well a language model knows a text: every window of it, one behind the other, each symbol once."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from dragoman.baselines.standing import Standing
from dragoman.baselines.training_data import Beside
from dragoman.contracts import Batch, Streams
from dragoman.data.chunk import Numbers
from dragoman.data.collate import collate_windows
from dragoman.data.order import Batching, Position, streams, walk
from dragoman.data.readers.corpora import files_of
from dragoman.data.readers.lines import Problems
from dragoman.data.readers.standard_input import spooled
from dragoman.data.readers.texts import read_texts, refuse_bad
from dragoman.data.store import Store
from dragoman.data.tokenizers import END, START
from dragoman.data.windows import build_windows
from dragoman.devices import in_double
from dragoman.errors import ConfigError
from dragoman.evaluation.beside import texts_beside
from dragoman.metrics import Measured, perplexity
from dragoman.metrics.measured import SEED, Counts, Floats, measure_counts
from dragoman.models import DecoderOnly
from dragoman.objectives.cross_entropy import target_log_probabilities
from dragoman.pipeline import Pipeline
from dragoman.pipeline.together import Together
from dragoman.regimes import go_on
from dragoman.storage import temporary_folder
from dragoman.watching import Watch, unwatched

STREAMS = 16  # that a text is measured in where states are carried, whatever the batch: the number depends on it
EVALUATED = Batching(tokens=8_192)
MOST_BAD = 0.01


@dataclass(frozen=True)
class Windows:
    """Every window of a text: its log-probability and its symbols, END of each document counted."""

    totals: Sequence[float]
    symbols: Sequence[int]
    characters: int  # of the text as it was read
    rows: Sequence[Numbers] = ()  # the symbols themselves, behind the one before them, where they are wanted

    def values(self) -> dict[str, float]:
        """−Σ log p / symbols in nats, its exponential, and −Σ log₂ p / characters."""
        total, count = sum(self.totals), sum(self.symbols)
        bits = -total / math.log(2) / max(1, self.characters)
        return {"loss": -total / count, "perplexity": perplexity(total, count), "bits_per_character": bits}


def measure_windows(
    pipeline: Pipeline,
    store: Store,
    batching: Batching,
    stopped: Callable[[], bool] = lambda: False,
    compared: bool = False,
) -> Windows | None:
    """The log-probability of every window, without dropout, and its symbols if they are `compared` with baselines;
    None if it was told to stop."""
    batches = in_streams(pipeline, store) if store.layout == "streams" else apart(pipeline, store, batching)
    totals: list[float] = []
    symbols: list[int] = []
    rows: list[Numbers] = []
    for logs, batch in batches:
        totals += in_double(logs).sum(1).tolist()
        symbols += batch.truth().outputs.mask.sum(1).tolist()
        rows += rows_of(batch) if compared else []
        if stopped():
            return None
    return Windows(totals, symbols, store.counts.characters, rows)


def rows_of(batch: Batch) -> list[Numbers]:
    """The symbols of each window behind the one before it, END in the place of START."""
    target = batch.truth()
    fed, values, mask = (
        one.cpu().numpy() for one in (target.inputs.values, target.outputs.values, target.outputs.mask)
    )
    before = np.where(fed[:, 0] == START, END, fed[:, 0])
    return [np.append(before[row], values[row][mask[row]]) for row in range(len(values))]


def apart(pipeline: Pipeline, store: Store, batching: Batching) -> Iterator[tuple[Tensor, Batch]]:
    """Windows before which nothing stands but one symbol."""
    seen = 0
    for _, chunk, indices in walk(store, batching, 0, Position()):
        batch = collate_windows(chunk, indices)
        yield pipeline.log_probabilities(batch), batch
        seen += batch.size
        if seen >= len(store):
            return


def in_streams(pipeline: Pipeline, store: Store) -> Iterator[tuple[Tensor, Batch]]:
    """Windows that go on in the state that the one before has left."""
    model = pipeline.model
    if isinstance(model, Together):
        raise ConfigError("An ensemble carries no state from window to window. Measure its runs one by one.")
    rows = Batching(sentences=STREAMS, tokens=STREAMS * store.counts.longest_target)
    for number in range(store.chunks):
        chunk, carry = store.chunk(number), dict[str, Tensor]()
        for step, indices in enumerate(streams(chunk.size, store.counts.longest_target, rows)):
            batch = replace(collate_windows(chunk, indices), streams=Streams(0, step == 0)).to(pipeline.device)
            with torch.inference_mode():
                output, carry = go_on(model, batch, carry)
                logs = target_log_probabilities(output, model.head, batch)
            yield logs, batch


@dataclass(frozen=True)
class EvaluatedText:
    """A language model measured on texts."""

    windows: int
    symbols: int
    characters: int
    documents: int
    problems: Problems
    unknown: float  # share of the symbols that the model has no symbol for
    seconds: float
    metrics: tuple[Measured, ...]
    standing: Standing | None = None


def evaluate_text(
    pipeline: Pipeline,
    files: Sequence[str],
    watch: Watch = unwatched,
    beside: Beside | None = None,
) -> EvaluatedText:
    """Loss, perplexity and bits a character over every window of texts, which are packed as in training."""
    model = pipeline.settings.model
    assert isinstance(model, DecoderOnly)  # noqa: S101 (others answer sources)
    problems, started_at = Problems(), time.monotonic()
    with spooled(files) as (corpora,), temporary_folder() as folder:
        names = files_of(corpora)
        pieces = read_texts(names, model.documents, problems)
        store = build_windows(
            folder / "windows",
            pieces,
            pipeline.target,
            model.context,
            "",
            problems,
            lambda _: refuse_bad(problems, MOST_BAD),
            streams=model.carry == "state",
        )
        found = measure_windows(pipeline, store, EVALUATED, told(watch, len(store)), beside is not None)
    assert found is not None  # noqa: S101 (nobody tells it to stop)
    counts = store.counts
    return EvaluatedText(
        windows=len(store),
        symbols=counts.target_tokens,
        characters=counts.characters,
        documents=counts.documents,
        problems=problems,
        unknown=counts.unknown_target / counts.target_tokens,
        seconds=time.monotonic() - started_at,
        metrics=with_intervals(found, pipeline.settings.evaluation.resamples),
        standing=None if beside is None else windows_beside(beside, pipeline, found),
    )


def windows_beside(beside: Beside, pipeline: Pipeline, found: Windows) -> Standing:
    return texts_beside(beside, pipeline, found.rows, found.totals, pipeline.settings.evaluation.resamples)


def told(watch: Watch, total: int) -> Callable[[], bool]:
    """Counts batches; there are at most as many as windows."""
    done = 0

    def stopped() -> bool:
        nonlocal done
        done += 1
        watch("batches measured", min(done, total), total)
        return False

    return stopped


def with_intervals(found: Windows, resamples: int) -> tuple[Measured, ...]:
    """Each value with the interval over resampled windows, of which each has its share of the characters."""
    share = found.characters / max(1, sum(found.symbols))
    items = np.array([found.totals, found.symbols], dtype=np.float64).T
    scores: Mapping[str, Callable[[Floats], Floats]] = {
        "loss": lambda sums: -sums[:, 0] / sums[:, 1],
        "perplexity": lambda sums: np.exp(-sums[:, 0] / sums[:, 1]),
        "bits_per_character": lambda sums: -sums[:, 0] / np.log(2) / (sums[:, 1] * share),
    }
    return tuple(
        measure_counts(name, Counts(items, score, signature), resamples, SEED) for name, score in scores.items()
    )


def signature(resamples: int, seed: int) -> str:
    return f"bs:{resamples}|seed:{seed}|unit:window|stride:context|version:dragoman.1"
